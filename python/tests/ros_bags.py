# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Bags for the tests, written by rosbags alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Pixels

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"


def need(*modules: str) -> None:
    """Skips the test, and says so, where a package is missing."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the package {module} is not here: this is NOT tested")


def typestore(name: str = "ROS2_HUMBLE") -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores[name])


def header(store: Any, stamp_ns: int, frame_id: str, **more: Any) -> Any:
    time = store.types["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    return store.types["std_msgs/msg/Header"](stamp=time, frame_id=frame_id, **more)


def raw(
    store: Any, stamp_ns: int, frame_id: str, pixels: Pixels, encoding: str = "mono8", padding: int = 0, **more: Any
) -> Any:
    """A message of pixels, (H, W) or (H, W, C), with padding bytes after each row."""
    height, width = pixels.shape[:2]
    rows = np.full((height, pixels[0].size + padding), 255, np.uint8)
    rows[:, : pixels[0].size] = pixels.reshape(height, -1)
    return store.types[IMAGE](
        header=header(store, stamp_ns, frame_id, **more),
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=rows.shape[1],
        data=rows.reshape(-1),
    )


def compressed(store: Any, stamp_ns: int, frame_id: str, data: bytes, format: str = "jpeg") -> Any:
    """A message of a file."""
    return store.types[COMPRESSED_IMAGE](
        header=header(store, stamp_ns, frame_id), format=format, data=np.frombuffer(data, np.uint8)
    )


def write_bag(path: Path, messages: Iterable[tuple[str, Any]], storage: str = "mcap", store: Any = None) -> Path:
    """A bag of topics and messages, at the times of their headers. `storage`: mcap, sqlite3 or ros1."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2

    store = store or typestore("ROS1_NOETIC" if storage == "ros1" else "ROS2_HUMBLE")
    writer: Any
    if storage == "ros1":
        writer = Writer1(path)
    else:
        writer = Writer2(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    connections: dict[str, Any] = {}
    with writer:
        for topic, message in messages:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            stamp = message.header.stamp
            serialize = store.serialize_ros1 if storage == "ros1" else store.serialize_cdr
            writer.write(connections[topic], stamp.sec * 10**9 + stamp.nanosec, serialize(message, kind))
    return path
