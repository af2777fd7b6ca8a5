# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""What streams of frames of both clients have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._generated import StreamOpened
from ._results import StreamEvent
from ._session import Session


class StreamBase:
    """State of a stream that both clients show."""

    def __init__(
        self,
        method: Any,
        metadata: tuple[tuple[str, str], ...],
        session: Session,
        on_event: Callable[[StreamEvent], None] | None,
    ) -> None:
        """`method`: gRPC's StreamFrames."""
        self._method = method
        self._metadata = metadata
        self._session = session
        self._on_event = on_event

    @property
    def opened(self) -> StreamOpened:
        """The server's latest answer to an opening: the pipeline in force, the frames that it takes at once, its
        limits.
        """
        assert self._session.opened is not None, "`async with` opens the stream of an AsyncClient"
        return self._session.opened

    @property
    def going_away(self) -> bool:
        """The server has said that it is about to stop, and the stream has not gone over to another one yet."""
        return self._session.going_away
