# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of image messages."""

from __future__ import annotations

import numpy as np

from .._errors import shown
from .._images import Frame
from .messages import AnyImage, CompressedImage, Image

# Bytes of a pixel, and the pixel format here, by the encoding of sensor_msgs/image_encodings.
_ENCODINGS = {
    "mono8": (1, "gray"),
    "8UC1": (1, "gray"),
    "bgr8": (3, "bgr"),
    "8UC3": (3, "bgr"),
    "rgb8": (3, "rgb"),
    "bgra8": (4, "bgra"),
    "8UC4": (4, "bgra"),
    "rgba8": (4, "rgba"),  # sent without alpha
    "yuv422_yuy2": (2, "yuyv"),
    "yuyv": (2, "yuyv"),
    "yuv422": (2, "uyvy"),  # of which only Y is sent
    "uyvy": (2, "uyvy"),
    # The Y plane comes first.
    "nv12": (1, "gray"),
    "nv21": (1, "gray"),
    "nv24": (1, "gray"),
    "i420": (1, "gray"),
    "bayer_rggb8": (1, "bayer_rggb8"),
    "bayer_bggr8": (1, "bayer_bggr8"),
    "bayer_gbrg8": (1, "bayer_gbrg8"),
    "bayer_grbg8": (1, "bayer_grbg8"),
    "mono16": (2, "gray16"),
    "16UC1": (2, "gray16"),
}


def frame_of(
    image: AnyImage, capture_time: float | None = None, png: bool = False, window: tuple[int, int] | None = None
) -> Frame:
    """The frame of a message. Its pixels share the memory of the message, except RGBA, UYVY and 16 bits. ValueError for
    an image that no server takes, with the values that are allowed. png: take PNG files, which are decoded here.
    window: that of images of 16 bits (`Frame.window`).
    """
    stamp = image.header.stamp_ns
    if isinstance(image, CompressedImage):
        return Frame(_file_of(image, png), timestamp_ns=stamp, capture_time=capture_time)
    if image.encoding not in _ENCODINGS:
        hint = " (debayer it before, for example by image_proc)" if image.encoding.startswith("bayer_") else ""
        raise ValueError(
            f"encoding {shown(image.encoding)!r} is not supported{hint}; supported are {', '.join(_ENCODINGS)}"
        )
    channels, format = _ENCODINGS[image.encoding]
    rows = _rows_of(image, image.width * channels)
    if format == "gray16":
        deep = np.ascontiguousarray(rows).view(">u2" if image.is_bigendian else "<u2").astype("<u2", copy=False)
        return Frame(deep, window=window, timestamp_ns=stamp, capture_time=capture_time)
    pixels = rows.reshape(image.height, image.width, channels)
    if format == "rgba":
        pixels, format = pixels[:, :, :3], "rgb"
    elif format == "uyvy":
        pixels, format = pixels[:, :, 1], "gray"
    elif channels == 1:
        pixels = pixels[:, :, 0]
    return Frame(pixels, format=format, timestamp_ns=stamp, capture_time=capture_time)


def _rows_of(image: Image, row_bytes: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """(height, row_bytes): the rows without their padding."""
    if image.height == 0 or image.width == 0:
        raise ValueError(f"the image is empty: {image.width}x{image.height}")
    if image.step < row_bytes:
        raise ValueError(
            f"step must be {row_bytes} or more for {image.width} pixels of {image.encoding}; got {image.step}"
        )
    # The last row may lack its padding.
    least = image.step * (image.height - 1) + row_bytes
    if image.data.size < least:
        raise ValueError(
            f"an image of {image.height} rows with step {image.step} has {least} bytes or more; got {image.data.size}"
        )
    data = np.ascontiguousarray(image.data)
    return np.lib.stride_tricks.as_strided(data, (image.height, row_bytes), (image.step, 1), writeable=False)


def _file_of(image: CompressedImage, png: bool) -> memoryview:
    """The file of the message. Its content decides: drivers write all sorts of texts as the format."""
    start = image.data[:8].tobytes()
    if not start.startswith(b"\xff\xd8\xff") and not (png and start == b"\x89PNG\r\n\x1a\n"):
        wanted = "a JPEG or PNG file" if png else "a JPEG file"
        got = f"format {shown(image.format)!r} with data that begin with {start!r}"
        raise ValueError(f"a compressed image must be {wanted}; got {got}")
    return np.ascontiguousarray(image.data).data.cast("B")
