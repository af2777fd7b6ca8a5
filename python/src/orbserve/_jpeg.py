# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a stream as JPEG files, whose quality follows the link (docs/streams.md#jpeg-files)."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._generated import PixelFormat
from ._images import Frame, pixel_format

_NOT_ENCODED = (
    PixelFormat.GRAY16,
    PixelFormat.BAYER_RGGB8,
    PixelFormat.BAYER_BGGR8,
    PixelFormat.BAYER_GBRG8,
    PixelFormat.BAYER_GRBG8,
)

Pixels = npt.NDArray[np.uint8]

FIRST_QUALITY, BEST_QUALITY, WORST_QUALITY = 90, 95, 20
# A step down makes a file a fifth smaller or so. Steps up are small, and begin well below the wanted age.
STEP_DOWN, STEP_UP, ROOM = 10, 2, 0.7


class JpegEncoder:
    """Encodes the arrays among a stream's frames, with a quality that keeps the age of results near a wanted one."""

    def __init__(self, wanted_age: float) -> None:
        """`wanted_age`: seconds. ValueError for no such time, ImportError where neither OpenCV nor Pillow is there."""
        if isinstance(wanted_age, str) or not float(wanted_age) > 0:  # NaN fails, too
            raise ValueError(f"jpeg_age must be a number of seconds above 0; got {wanted_age!r}")
        self._wanted_age = wanted_age
        self._encode = _find_encoder()
        self._changed = float("-inf")  # time of the latest change of the quality
        self.quality = FIRST_QUALITY
        """Of the next frame, 20..95."""

    def frame(self, frame: Frame) -> Frame:
        """The frame with a JPEG file in the place of an array. A file stays as it is, and so do the formats that JPEG
        does not keep: GRAY16 and BAYER. ValueError, TypeError as for any image.
        """
        if not isinstance(frame.image, np.ndarray):
            return frame
        kind = pixel_format(frame.image, frame.format)
        if kind in _NOT_ENCODED:
            return frame
        data = self._encode(_encodable(frame.image, kind), self.quality)
        return dataclasses.replace(frame, image=data, format=None)

    def answered(self, captured: float, age: float, on_link: float, on_server: float, now: float) -> None:
        """A frame that was captured at `captured` was answered at `now`; times and ages in seconds.

        Only frames that were made with the latest quality tell whether it is right. No quality makes a server faster.
        """
        if captured < self._changed:
            return
        quality = self.quality
        if age > self._wanted_age and on_link > on_server:
            quality = max(quality - STEP_DOWN, WORST_QUALITY)
        elif age < self._wanted_age * ROOM:
            quality = min(quality + STEP_UP, BEST_QUALITY)
        if quality != self.quality:
            self.quality, self._changed = quality, now


def _encodable(pixels: npt.NDArray[Any], kind: PixelFormat) -> Pixels:
    """The plane that the server looks at, as grey (H, W), or colours as BGR (H, W, 3)."""
    if kind in (PixelFormat.NV12, PixelFormat.I420):  # only the Y plane counts
        return pixels.reshape(len(pixels), -1)[: len(pixels) * 2 // 3]
    if kind == PixelFormat.YUYV:
        return pixels[:, :, 0]
    if kind == PixelFormat.UYVY:
        return pixels[:, :, 1]
    if kind in (PixelFormat.RGB8, PixelFormat.RGBA8):
        return pixels[:, :, 2::-1]
    if kind in (PixelFormat.BGR8, PixelFormat.BGRA8):
        return pixels[:, :, :3]
    return pixels.reshape(pixels.shape[:2])


def _find_encoder() -> Callable[[Pixels, int], bytes]:
    try:
        import cv2
    except ImportError:
        return _pillow_encoder()

    def encode(pixels: Pixels, quality: int) -> bytes:
        grey: Any = np.ascontiguousarray(pixels)
        if grey.ndim == 3:
            grey = cv2.cvtColor(grey, cv2.COLOR_BGR2GRAY)
        good, data = cv2.imencode(".jpg", grey, [cv2.IMWRITE_JPEG_QUALITY, quality])
        if not good:
            raise ValueError(f"OpenCV cannot make a JPEG file of an array of the shape {pixels.shape}")
        return data.tobytes()

    return encode


def _pillow_encoder() -> Callable[[Pixels, int], bytes]:
    try:
        from PIL import Image as PillowImage
    except ImportError:
        raise ImportError("jpeg_age needs OpenCV or Pillow: pip install opencv-python-headless, or pillow") from None

    def encode(pixels: Pixels, quality: int) -> bytes:
        rows: Any = pixels if pixels.ndim == 2 else pixels[:, :, ::-1]  # Pillow has RGB
        file = io.BytesIO()
        image = PillowImage.fromarray(np.ascontiguousarray(rows)).convert("L")
        image.save(file, "JPEG", quality=quality)
        return file.getvalue()

    return encode
