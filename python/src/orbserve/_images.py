# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Images and frames: arrays, JPEG bytes and files as messages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._check import SentFrame
from ._codec import Bytes, field, float_column, integer_column
from ._contract import wire
from ._errors import shown
from ._features import Features
from ._generated import FrameParameters, PixelFormat

Image = npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | bytes | bytearray | memoryview | str | os.PathLike[str]
"""An image.

- An array of uint8: (H, W) grey, (H, W, 3) BGR, (H, W, 4) BGRA, as OpenCV has them, unless `format` says otherwise. Any
  strides; rows that are no packed pixels are copied.
- An array of uint16: (H, W) grey, which `window` maps to 8 bits on the server.
- Bytes: a whole JPEG, PNG, PGM or PPM file.
- A path: such a file.

A JPEG is sent as it is, and decoded by the server. PGM and PPM are read here. PNG needs OpenCV or Pillow. EXIF rotation
is
ignored: coordinates are those of the stored pixels.
"""

_CHANNELS = {
    PixelFormat.GRAY8: 1,
    PixelFormat.RGB8: 3,
    PixelFormat.BGR8: 3,
    PixelFormat.BGRA8: 4,
    PixelFormat.NV12: 1,
    PixelFormat.I420: 1,
    PixelFormat.YUYV: 2,
    PixelFormat.GRAY16: 1,
    PixelFormat.RGBA8: 4,
    PixelFormat.UYVY: 2,
    PixelFormat.BAYER_RGGB8: 1,
    PixelFormat.BAYER_BGGR8: 1,
    PixelFormat.BAYER_GBRG8: 1,
    PixelFormat.BAYER_GRBG8: 1,
}
_FORMAT_OF_CHANNELS = {1: PixelFormat.GRAY8, 3: PixelFormat.BGR8, 4: PixelFormat.BGRA8}
_SHORT_NAMES = {
    "gray": "GRAY8",
    "grey": "GRAY8",
    "grey8": "GRAY8",
    "grey16": "GRAY16",
    "rgb": "RGB8",
    "bgr": "BGR8",
    "bgra": "BGRA8",
    "rgba": "RGBA8",
}


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Keypoints to be described instead of detected ones. At most 100,000.

    A number stands for a column of equal numbers. A keypoint too near to the border is left out of the answer;
    `Features.source_index` says which are in it.
    """

    xy: npt.ArrayLike
    """(N, 2): x and y, pixels of the full-size image, any finite numbers."""

    angle: npt.ArrayLike = 0.0
    """(N,): degrees clockwise, -720..720; -1 is used as -1 degree, as cv::ORB does; TEBLID and BEBLID take all
    below 0 as upright.
    """

    octave: npt.ArrayLike = 0
    """(N,): pyramid level, 0..levels-1."""

    size: npt.ArrayLike | None = None
    """(N,): pixels of the full-size image; carried through; the patch of TEBLID and BEBLID. None: that of a detected
    keypoint of the level.
    """

    response: npt.ArrayLike | None = None
    """(N,): any finite numbers; carried through. None: 0."""

    def _to_wire(self) -> list[Bytes]:
        xy = np.asarray(self.xy, np.float32)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise ValueError(f"xy of the keypoints must have the shape (N, 2); got {xy.shape}")
        count = len(xy)
        octave = np.asarray(self.octave)
        if octave.dtype.kind not in "iu":
            raise TypeError(f"octave of the keypoints must be integers; got {octave.dtype}")
        parts = float_column(1, xy[:, 0]) + float_column(2, xy[:, 1])
        parts += float_column(3, _column(self.angle, count, "angle"))
        parts += integer_column(4, _column(octave, count, "octave"))
        if self.size is not None:
            parts += float_column(5, _column(self.size, count, "size"))
        if self.response is not None:
            parts += float_column(6, _column(self.response, count, "response"))
        return parts


def _column(values: npt.ArrayLike, count: int, name: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.shape not in ((), (count,)):
        raise ValueError(
            f"{name} of the keypoints must have the shape ({count},) of xy, or be a number; got {array.shape}"
        )
    return np.broadcast_to(array, (count,))


@dataclass(frozen=True, eq=False)
class Frame:
    """An image with what belongs to it. It can be given wherever an image can."""

    image: Image
    """The pixels, or a file."""

    format: PixelFormat | str | None = None
    """Pixel format of an array: a `PixelFormat` or its name, such as "rgb", "rgba", "yuyv" or "uyvy" (H, W, 2),
    "bayer_rggb8" (H, W), "nv12" or "i420" (H * 3 / 2, W). None: grey, BGR or BGRA, by the shape. Not for files.
    """

    window: tuple[int, int] | None = None
    """Of an array of uint16: the values that become black (0) and white (255), linear between them, 0 <= low < high <=
    65535. None: 0 and 65535.
    """

    mask: npt.NDArray[Any] | None = None
    """(H, W), uint8 or bool: features lie only where it is not 0. None: everywhere."""

    keypoints: Keypoints | Features | None = None
    """These are described, also under the mask, and nothing is detected. None: detect."""

    parameters: FrameParameters | None = None
    """Options of this frame alone. None: the pipeline's."""

    sequence: int | None = None
    """Number of the frame, 0..2^64-1; returned unchanged. None: 0; on a stream, the number of frames sent before."""

    timestamp_ns: int = 0
    """Time of the frame in nanoseconds of any clock; returned unchanged, and used for nothing."""

    deadline_ms: int = 0
    """Streams only: most milliseconds from `capture_time` to the arrival of the result; 0 = the stream's."""

    keyframe: bool = False
    """Streams only: this frame becomes the stream's keyframe."""

    capture_time: float | None = None
    """Streams only: `time.monotonic()` when the frame was captured, from which its age runs. None: when it is sent."""


def frame_parts(image: Image | Frame, sequence: int = 0) -> tuple[list[Bytes], SentFrame]:
    """The message `Frame` in parts, the pixels last and not copied, and its facts. `sequence`: if it has none."""
    frame = image if isinstance(image, Frame) else Frame(image)
    message = wire.Frame(
        sequence=sequence if frame.sequence is None else frame.sequence,
        timestamp_ns=frame.timestamp_ns,
        deadline_ms=frame.deadline_ms,
        keyframe=frame.keyframe,
    )
    if frame.parameters is not None:
        frame.parameters._to_wire(message.parameters)
    pixels = _set_pixels(message, frame.image, frame.format)
    if frame.window is not None:
        _set_window(message, frame.window)
    if frame.mask is not None:
        _set_mask(message.mask, frame.mask)
    parts: list[Bytes] = [message.SerializeToString()]
    count = None
    if frame.keypoints is not None:
        given = frame.keypoints
        if isinstance(given, Features):
            given = Keypoints(given.xy, given.angle, given.octave, given.size, given.response)
        parts += field(8, *given._to_wire())
        count = len(np.asarray(given.xy))
    sent = SentFrame(message.sequence, message.timestamp_ns, message.width_px, message.height_px, count)
    return parts + field(15, pixels), sent


def _set_pixels(message: Any, image: Image, format: PixelFormat | str | None) -> Bytes:
    """Sets format and size of the message. Returns the pixels."""
    if isinstance(image, np.ndarray):
        return _set_array(message, image, format)
    if format is not None:
        raise ValueError("format is for arrays of pixels; a file says itself what it is")
    if isinstance(image, (str, os.PathLike)):
        with open(image, "rb") as file:
            data: Bytes = file.read()
        name = f"{shown(os.fspath(image))}: "
    elif isinstance(image, (bytes, bytearray, memoryview)):
        data = bytes(image)
        name = ""
    else:
        raise TypeError(f"an image is an array of uint8, the bytes of a file, or a path; got {type(image).__name__}")
    start = bytes(data[:8])
    if start[:3] == b"\xff\xd8\xff":
        message.format = PixelFormat.JPEG
        return data
    if start[:2] in (b"P5", b"P6"):
        return _set_array(message, _read_pnm(bytes(data), name), _pnm_format(start))
    if start == b"\x89PNG\r\n\x1a\n":
        return _set_array(message, _read_png(bytes(data), name), None)
    raise ValueError(f"{name}not a JPEG, PNG, binary PGM or binary PPM file; it begins with {start!r}")


def pixel_format(array: npt.NDArray[Any], format: PixelFormat | str | None) -> PixelFormat:
    """The format of an array's pixels. `format`: as given. TypeError, ValueError for an array that is no image."""
    depth = array.dtype.newbyteorder("=")
    if depth not in (np.uint8, np.uint16):
        raise TypeError(f"an image must be an array of uint8 or uint16; got {array.dtype}")
    if isinstance(format, str):
        format = PixelFormat.of(_SHORT_NAMES.get(format.lower(), format))
    channels = array.shape[2] if array.ndim == 3 else 1
    if format is None:
        format = _FORMAT_OF_CHANNELS.get(channels) if depth == np.uint8 else PixelFormat.GRAY16
    if array.ndim not in (2, 3) or format is None:
        raise ValueError(
            f"an image must have the shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4), or a `format`; got {array.shape}"
        )
    wanted = np.dtype(np.uint16 if format == PixelFormat.GRAY16 else np.uint8)
    if depth != wanted:
        raise TypeError(f"an image of format {format.name} must be an array of {wanted}; got {array.dtype}")
    if channels != _CHANNELS.get(format, channels):
        raise ValueError(
            f"an image of format {format.name} has {_CHANNELS[format]} channels; got the shape {array.shape}"
        )
    if format in (PixelFormat.NV12, PixelFormat.I420) and array.shape[0] % 3 != 0:
        raise ValueError(f"an image of format {format.name} has the shape (H * 3 / 2, W); got {array.shape}")
    return format


def _set_array(message: Any, array: npt.NDArray[Any], format: PixelFormat | str | None) -> Bytes:
    format = pixel_format(array, format)
    height = array.shape[0]
    if format in (PixelFormat.NV12, PixelFormat.I420):
        # The chroma planes stand below the Y plane, as OpenCV has them; only Y is sent.
        height = height * 2 // 3
    message.format = format
    message.width_px = array.shape[1]
    message.height_px = height
    rows = np.ascontiguousarray(array[:height], array.dtype.newbyteorder("<"))
    return rows.data.cast("B") if rows.size > 0 else b""


def _set_window(message: Any, window: tuple[int, int]) -> None:
    if message.format != PixelFormat.GRAY16:
        raise ValueError("window is for arrays of uint16")
    low, high = window
    if not 0 <= low < high <= 65535 and (low, high) != (0, 0):
        raise ValueError(f"window must be (low, high) with 0 <= low < high <= 65535; got {window}")
    message.window.low = low
    message.window.high = high


def _set_mask(message: Any, mask: npt.NDArray[Any]) -> None:
    if mask.ndim != 2 or mask.dtype not in (np.uint8, np.bool_):
        raise ValueError(
            f"a mask must be an array of uint8 or bool of the shape (H, W); got {mask.dtype} of {mask.shape}"
        )
    pixels = mask.astype(np.uint8) * np.uint8(255) if mask.dtype == np.bool_ else mask
    message.width_px = mask.shape[1]
    message.height_px = mask.shape[0]
    message.pixels = pixels.tobytes()


def _pnm_format(start: bytes) -> PixelFormat:
    return PixelFormat.GRAY8 if start[:2] == b"P5" else PixelFormat.RGB8


_PNM_HEADER = re.compile(rb"P[56](?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)\s")


def _read_pnm(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Pixels of a binary PGM or PPM file, RGB for the latter."""
    header = _PNM_HEADER.match(data)
    if header is None:
        raise ValueError(f"{name}the PNM header must give width, height and largest value")
    width, height, largest = (int(number) for number in header.groups())
    if not 1 <= largest <= 255:
        raise ValueError(f"{name}the largest value of a PNM file must be in [1, 255]; got {largest}")
    shape = (height, width) if data[:2] == b"P5" else (height, width, 3)
    size = int(np.prod(shape))
    if len(data) - header.end() < size:
        raise ValueError(
            f"{name}the PNM file ends early: it has {len(data) - header.end()} bytes of {size} bytes of pixels"
        )
    pixels = np.frombuffer(data, np.uint8, size, header.end()).reshape(shape)
    if largest == 255:
        return pixels
    if size > 0 and pixels.max() > largest:
        raise ValueError(f"{name}a pixel of the PNM file is above its largest value {largest}")
    return ((pixels.astype(np.uint16) * 255 + largest // 2) // largest).astype(np.uint8)


def _read_png(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Pixels of a PNG file, BGR where it has colours. 16 bits keep their upper 8, and transparency is removed."""
    try:
        import cv2
    except ImportError:
        return _read_png_by_pillow(data, name)
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise ValueError(f"{name}the PNG file is damaged")
    array: npt.NDArray[Any] = np.asarray(pixels)
    return (array >> 8).astype(np.uint8) if array.dtype == np.uint16 else array


def _read_png_by_pillow(data: bytes, name: str) -> npt.NDArray[np.uint8]:
    import io

    try:
        from PIL import Image as PillowImage
    except ImportError:
        raise ImportError(
            f"{name}PNG files need OpenCV or Pillow: pip install opencv-python-headless, or pillow"
        ) from None
    try:
        with PillowImage.open(io.BytesIO(data)) as image:
            if image.mode in ("I", "I;16"):
                return (np.asarray(image, np.uint16) >> 8).astype(np.uint8)
            grey = image.mode in ("1", "L", "LA")
            pixels = np.asarray(image.convert("L" if grey else "RGB"))
            return pixels if grey else np.ascontiguousarray(pixels[:, :, ::-1])
    except (OSError, SyntaxError) as error:
        raise ValueError(f"{name}the PNG file is damaged: {error}") from None
