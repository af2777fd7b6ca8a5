# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Client of orbserve, the gRPC service for visual features.

Coordinates are pixels of the full-size image, (0, 0) the centre of the top-left pixel, x to the right, y down. Angles
are degrees in [0, 360), clockwise on the screen; -1 where there is none.
"""

from importlib.metadata import version as _version
from pkgutil import extend_path as _extend_path

from . import _generated
from ._aio import AsyncClient
from ._aio_stream import AsyncFrameStream
from ._calls import Reference, References, StoredReference
from ._client import Client
from ._errors import (
    CancelledError,
    DeadlineExceededError,
    DroppedError,
    InvalidInputError,
    OrbserveError,
    OverloadedError,
    ReferenceNotFoundError,
    ServerError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedError,
)
from ._features import Features, Matches, match_to_cv2
from ._generated import *  # noqa: F403  # all of its names are public
from ._images import Frame, Image, Keypoints
from ._local import LocalServer, local
from ._reconnect import Reconnect
from ._results import FrameMatches, FrameResult, StreamEvent, StreamEventKind, Tracks
from ._session import StreamLink
from ._stream import FrameStream
from ._stream_options import StreamOptions

__version__ = _version("orbserve")

# Code that protoc generates from the contract is called orbserve.v1.orbserve_pb2: it is found beside this package.
__path__ = _extend_path(__path__, __name__)  # noqa: F405  # every package has it

__all__ = [
    "AsyncClient",
    "AsyncFrameStream",
    "CancelledError",
    "Client",
    "DeadlineExceededError",
    "DroppedError",
    "Features",
    "Frame",
    "FrameMatches",
    "FrameResult",
    "FrameStream",
    "Image",
    "InvalidInputError",
    "Keypoints",
    "LocalServer",
    "Matches",
    "OrbserveError",
    "OverloadedError",
    "Reconnect",
    "Reference",
    "ReferenceNotFoundError",
    "References",
    "ServerError",
    "StoredReference",
    "StreamEvent",
    "StreamEventKind",
    "StreamLink",
    "StreamOptions",
    "Tracks",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsupportedError",
    "local",
    "match_to_cv2",
]
__all__ += _generated.__all__
