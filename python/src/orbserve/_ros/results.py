# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Messages that are made of a result."""

from __future__ import annotations

from .._results import FrameResult
from . import messages
from .messages import AnyImage, Header
from .settings import Settings

TYPES = {
    "tracks": messages.TRACKS,
    "track_points": messages.POINT_CLOUD,
    "features": messages.FEATURES,
    "keypoints": messages.POINT_CLOUD,
    "markers": messages.IMAGE_MARKER,
}


def omit_features(settings: Settings) -> bool:
    """True if no result needs the features."""
    return settings.track and not {"features", "keypoints"} & set(settings.results)


def size_of(image: AnyImage) -> tuple[int, int]:
    """Width and height, pixels; (0, 0) for a file that has none."""
    return (image.width, image.height) if isinstance(image, messages.Image) else _jpeg_size(image.data.data.cast("B"))


def _jpeg_size(data: memoryview) -> tuple[int, int]:
    """Width and height of a JPEG file (ITU-T T.81, annex B)."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # start of frame
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        # Fill bytes come before a marker; markers without a segment do not come before the frame.
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0


def write(
    name: str, header: Header, group: int, size: tuple[int, int], result: FrameResult, settings: Settings
) -> bytes:
    """The message of a result that went well. `size`: of the image, pixels; (0, 0) = not known."""
    features = result.features
    if features is not None and features.image_size != (0, 0):
        size = features.image_size
    if name == "tracks":
        return messages.write_tracks(header, group, size, result)
    if name == "track_points":
        return messages.write_track_points(header, size, result, settings.focal_px)
    if name == "markers" and settings.track:
        return messages.write_markers(header, result.tracks.xy, result.tracks.id)
    assert features is not None  # not omitted, as they are wanted
    if name == "markers":
        return messages.write_markers(header, features.xy, features.octave)
    if name == "features":
        return messages.write_features(header, group, features)
    return messages.write_keypoints(header, features, settings.focal_px)
