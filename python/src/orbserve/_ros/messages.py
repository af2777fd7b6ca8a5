# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of ROS 2 that are read and written here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from .._features import Features
from .._results import FrameResult
from .cdr import Reader, Writer

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"
POINT_CLOUD = "sensor_msgs/msg/PointCloud2"
IMAGE_MARKER = "visualization_msgs/msg/ImageMarker"
TRACKS = "orbserve_msgs/msg/Tracks"
FEATURES = "orbserve_msgs/msg/Features"

# Hashes of the types, as rosidl computes them, which publishers of ROS 2 Iron and later announce.
TYPE_HASHES = {
    IMAGE: "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
    COMPRESSED_IMAGE: "RIHS01_15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a",
    POINT_CLOUD: "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
    IMAGE_MARKER: "RIHS01_603152491ef2331c200a5305230d31f6e8704875944b388da0f547c415d11836",
    TRACKS: "RIHS01_3848ba5aa8610aba4aa001bd9c9596cfa68e881a8c54cdba139f99413dba2396",
    FEATURES: "RIHS01_926e9bc3939f62e4c2c89dc600886711945bf730cbf44562ca0db16562416cb6",
}

_FLOAT32 = 7  # sensor_msgs/PointField.FLOAT32
_POINTS = 4  # visualization_msgs/ImageMarker.POINTS
_MARKER_PX = 3.0  # size of a point


@dataclass(frozen=True)
class Header:
    """std_msgs/Header."""

    sec: int = 0
    nanosec: int = 0
    frame_id: str = ""

    @property
    def stamp_ns(self) -> int:
        """The stamp, nanoseconds."""
        return self.sec * 1_000_000_000 + self.nanosec


@dataclass(frozen=True, eq=False)
class Image:
    """sensor_msgs/Image."""

    header: Header
    height: int
    width: int
    encoding: str
    is_bigendian: int
    step: int
    data: npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class CompressedImage:
    """sensor_msgs/CompressedImage."""

    header: Header
    format: str
    data: npt.NDArray[np.uint8]


AnyImage = Image | CompressedImage


def definition(kind: str) -> str:
    """Text of the `.msg` file of a type of this package."""
    package, _, name = kind.split("/")
    return (resources.files("orbserve") / package / "msg" / f"{name}.msg").read_text()


def _read_header(reader: Reader) -> Header:
    return Header(reader.number("i"), reader.number("I"), reader.text())


def read_image(kind: str, data: bytes | memoryview) -> AnyImage:
    """Reads a message of the type IMAGE or COMPRESSED_IMAGE. Its pixels share the memory of `data`. CdrError."""
    reader = Reader(data)
    header = _read_header(reader)
    if kind == COMPRESSED_IMAGE:
        return CompressedImage(header, reader.text(), reader.data())
    height, width, encoding = reader.number("I"), reader.number("I"), reader.text()
    return Image(header, height, width, encoding, reader.number("B"), reader.number("I"), reader.data())


def image_of(message: Any) -> AnyImage:
    """An image from a message of rosbags, of ROS 1 or ROS 2."""
    stamp = message.header.stamp
    header = Header(stamp.sec, stamp.nanosec, message.header.frame_id)
    data = np.asarray(message.data, np.uint8)
    if hasattr(message, "format"):
        return CompressedImage(header, message.format, data)
    return Image(header, message.height, message.width, message.encoding, message.is_bigendian, message.step, data)


def _start(header: Header) -> Writer:
    writer = Writer()
    writer.number("i", header.sec)
    writer.number("I", header.nanosec)
    writer.text(header.frame_id)
    return writer


def write_image(image: AnyImage) -> bytes:
    """The message of an image."""
    writer = _start(image.header)
    if isinstance(image, CompressedImage):
        writer.text(image.format)
    else:
        writer.number("I", image.height)
        writer.number("I", image.width)
        writer.text(image.encoding)
        writer.number("B", image.is_bigendian)
        writer.number("I", image.step)
    writer.column(image.data, "B")
    return writer.message()


def write_tracks(header: Header, group: int, size: tuple[int, int], result: FrameResult) -> bytes:
    """The message TRACKS of a result. `size`: width and height of the image, pixels; (0, 0) = not known."""
    tracks, ended = result.tracks, result.ended_tracks
    writer = _start(header)
    writer.number("Q", group)
    writer.number("I", size[0])
    writer.number("I", size[1])
    writer.column(tracks.id, "Q")
    writer.column(tracks.xy[:, 0], "f")
    writer.column(tracks.xy[:, 1], "f")
    writer.column(tracks.age_frames, "I")
    writer.column(tracks.residual, "f")
    writer.column(list(ended), "Q")
    writer.column([0 if why is None else int(why) for why in ended.values()], "B")
    return writer.message()


def write_features(header: Header, group: int, features: Features) -> bytes:
    """The message FEATURES."""
    writer = _start(header)
    writer.number("Q", group)
    writer.number("I", features.image_size[0])
    writer.number("I", features.image_size[1])
    for column in (features.xy[:, 0], features.xy[:, 1], features.size, features.angle, features.response):
        writer.column(column, "f")
    writer.column(features.octave, "i")
    writer.text(features.descriptor_type.name)
    writer.number("I", features.descriptors.shape[1])
    writer.column(features.descriptors.reshape(-1), "B")
    return writer.message()


def _rays(xy: npt.NDArray[np.float32], size: tuple[int, int], focal_px: float) -> dict[str, npt.NDArray[np.float32]]:
    """Places of pixels in the optical frame of the camera, on the plane at 1 m."""
    centre = (np.array(size, np.float32) - 1) / 2
    x, y = ((xy - centre) / np.float32(focal_px or max(size[0], 1))).T
    return {"x": x, "y": y, "z": np.ones(len(xy), np.float32), "u": xy[:, 0], "v": xy[:, 1]}


def _write_cloud(header: Header, columns: dict[str, npt.NDArray[Any]]) -> bytes:
    """The message POINT_CLOUD with fields of float32."""
    points = np.stack([column.astype("<f4", copy=False) for column in columns.values()], axis=1)
    count, fields = points.shape
    writer = _start(header)
    writer.number("I", 1)  # height
    writer.number("I", count)
    writer.number("I", fields)
    for i, name in enumerate(columns):
        writer.text(name)
        writer.number("I", 4 * i)
        writer.number("B", _FLOAT32)
        writer.number("I", 1)
    writer.number("?", False)  # is_bigendian
    writer.number("I", 4 * fields)
    writer.number("I", 4 * fields * count)
    writer.column(np.ascontiguousarray(points).view(np.uint8).reshape(-1), "B")
    writer.number("?", True)  # is_dense
    return writer.message()


def write_keypoints(header: Header, features: Features, focal_px: float) -> bytes:
    """The message POINT_CLOUD of features: x, y and z on the plane at 1 m before the camera, in its optical frame (x to
    the right, y down); u, v: pixels; response, size, angle, octave as in FEATURES.

    focal_px: focal length of the camera, pixels; 0 = the width of the image.
    """
    columns = _rays(features.xy, features.image_size, focal_px)
    columns |= {"response": features.response, "size": features.size, "angle": features.angle}
    return _write_cloud(header, columns | {"octave": features.octave})


def write_track_points(header: Header, size: tuple[int, int], result: FrameResult, focal_px: float) -> bytes:
    """The message POINT_CLOUD of tracks: x to v as of features; id (the lowest 24 bits), age and residual."""
    tracks = result.tracks
    columns = _rays(tracks.xy, size, focal_px)
    return _write_cloud(
        header, columns | {"id": tracks.id & 0xFFFFFF, "age": tracks.age_frames, "residual": tracks.residual}
    )


def _colours(ids: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """(N, 4): a bright colour for each id, red, green, blue and alpha. Neighbours differ by the golden ratio."""
    hue = (ids * 0.6180339887498949) % 1.0
    rgb = np.clip(np.abs((hue[:, None] + np.array([0, 2 / 3, 1 / 3])) % 1.0 * 6 - 3) - 1, 0, 1)
    return np.column_stack([rgb, np.ones(len(ids))]).astype(np.float32)


def write_markers(header: Header, xy: npt.NDArray[np.float32], ids: npt.NDArray[Any]) -> bytes:
    """The message IMAGE_MARKER: points on the image, whose colours follow from the ids."""
    writer = _start(header)
    writer.text("orbserve")
    for number in (0, _POINTS, 0):  # id, type, action
        writer.number("i", number)
    for _ in range(3):  # position
        writer.number("d", 0.0)
    writer.number("f", _MARKER_PX)
    for value in (0.0, 1.0, 0.0, 1.0):  # outline_color
        writer.number("f", value)
    writer.number("B", 0)  # filled
    for _ in range(4):  # fill_color
        writer.number("f", 0.0)
    writer.number("i", 0)  # lifetime
    writer.number("I", 0)
    writer.column(np.column_stack([xy, np.zeros(len(xy))]), "d")
    writer.column(_colours(ids), "f")
    return writer.message()
