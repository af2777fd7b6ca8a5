# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Extracts the features of every image of a ROS bag: ROS 1, ROS 2 with SQLite, or MCAP.

    bag.py drive.mcap /camera/image_raw --out features --max-features 2000
    bag.py recording/ /camera/image_raw/compressed --out features

One NPZ file for each message, named by its time in nanoseconds. Needs rosbags. Without --server a local server is used,
or started.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader

import orbserve

# Channels and name of the pixel format here, by the name of ROS.
ENCODINGS = {
    "mono8": (1, "gray"),
    "8UC1": (1, "gray"),
    "bgr8": (3, "bgr"),
    "8UC3": (3, "bgr"),
    "rgb8": (3, "rgb"),
    "bgra8": (4, "bgra"),
    "yuv422_yuy2": (2, "yuyv"),
}


def frame_of(message: Any, time_ns: int) -> orbserve.Frame:
    """The frame of a sensor_msgs/Image or a sensor_msgs/CompressedImage with a JPEG or PNG."""
    if hasattr(message, "format"):
        return orbserve.Frame(message.data.tobytes(), timestamp_ns=time_ns)
    if message.encoding not in ENCODINGS:
        raise ValueError(f"encoding {message.encoding!r} is not read; known are {', '.join(ENCODINGS)}")
    channels, name = ENCODINGS[message.encoding]
    rows = np.asarray(message.data, np.uint8).reshape(message.height, message.step)
    pixels = rows[:, : message.width * channels].reshape(message.height, message.width, channels)
    return orbserve.Frame(pixels, format=name, timestamp_ns=time_ns)


def frames_of(bag: Path, topic: str) -> Iterator[orbserve.Frame]:
    """The images of a topic with the times of their headers."""
    with AnyReader([bag]) as reader:
        connections = [connection for connection in reader.connections if connection.topic == topic]
        if not connections:
            # Names of a file are shown without control characters.
            topics = sorted({ascii(c.topic)[1:-1] for c in reader.connections if "Image" in c.msgtype})
            raise SystemExit(f"{bag} has no topic {topic}; images are in {', '.join(topics) or 'no topic'}")
        for connection, _, data in reader.messages(connections=connections):
            message: Any = reader.deserialize(data, connection.msgtype)
            stamp = message.header.stamp
            yield frame_of(message, stamp.sec * 1_000_000_000 + stamp.nanosec)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bag", type=Path, help="bag: a file, or a folder with metadata.yaml")
    parser.add_argument("topic", help="topic with images")
    parser.add_argument("--out", type=Path, required=True, help="folder of the NPZ files")
    parser.add_argument("--max-features", type=int, default=1000, help="wanted number of features (%(default)s)")
    parser.add_argument("--server", help="address of a server; default: a local one")
    arguments = parser.parse_args()

    arguments.out.mkdir(parents=True, exist_ok=True)
    pipeline = orbserve.Orb(max_features=arguments.max_features)
    count = 0
    with orbserve.Client(arguments.server) if arguments.server else orbserve.local() as client:
        for features in client.extract_many(frames_of(arguments.bag, arguments.topic), pipeline):
            features.save(arguments.out / f"{features.timestamp_ns}.npz")
            count += 1
    print(f"{count} images of {arguments.topic}")


if __name__ == "__main__":
    main()
