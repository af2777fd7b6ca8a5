# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Extracts the features, or follows the tracks, of the images of a ROS bag: ROS 1, ROS 2 with SQLite, or MCAP.

    bag.py drive.mcap /camera/image_raw --out features --max-features 2000
    bag.py recording/ /camera/image_raw/compressed --out features --preset orb-slam
    bag.py drive.mcap /camera/image_raw --tracks tracks.csv

One NPZ file for each message, named by its time in nanoseconds; tracks as lines of one CSV file. Needs rosbags. Without
--server a local server is used, or started.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader

import orbserve

# Bytes of a pixel and name of the pixel format here, by the name of ROS.
ENCODINGS = {
    "mono8": (1, "gray"),
    "8UC1": (1, "gray"),
    "bgr8": (3, "bgr"),
    "8UC3": (3, "bgr"),
    "rgb8": (3, "rgb"),
    "bgra8": (4, "bgra"),
    "8UC4": (4, "bgra"),
    "rgba8": (4, "rgba"),
    "mono16": (2, "gray16"),
    "16UC1": (2, "gray16"),
    "bayer_rggb8": (1, "bayer_rggb8"),
    "bayer_bggr8": (1, "bayer_bggr8"),
    "bayer_gbrg8": (1, "bayer_gbrg8"),
    "bayer_grbg8": (1, "bayer_grbg8"),
    "yuv422": (2, "uyvy"),
    "uyvy": (2, "uyvy"),
    "yuv422_yuy2": (2, "yuyv"),
    "yuyv": (2, "yuyv"),
    "nv12": (1, "nv12"),
    "nv21": (1, "nv12"),  # the same grey
    "i420": (1, "i420"),
}


def frame_of(message: Any, time_ns: int, window: tuple[int, int] | None) -> orbserve.Frame:
    """The frame of a sensor_msgs/Image or a sensor_msgs/CompressedImage with a JPEG or PNG. `window`: of 16 bits."""
    if hasattr(message, "format"):
        return orbserve.Frame(message.data.tobytes(), timestamp_ns=time_ns)
    if message.encoding not in ENCODINGS:
        raise ValueError(f"encoding {message.encoding!r} is not read; known are {', '.join(ENCODINGS)}")
    pixel_bytes, name = ENCODINGS[message.encoding]
    rows = np.asarray(message.data, np.uint8).reshape(-1, message.step)
    pixels = rows[:, : message.width * pixel_bytes].reshape(len(rows), message.width, pixel_bytes)
    if name == "gray16":
        pixels = np.ascontiguousarray(pixels).view(">u2" if message.is_bigendian else "<u2")
        return orbserve.Frame(pixels, format=name, window=window, timestamp_ns=time_ns)
    return orbserve.Frame(pixels, format=name, timestamp_ns=time_ns)


def frames_of(bag: Path, topic: str, window: tuple[int, int] | None) -> Iterator[orbserve.Frame]:
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
            yield frame_of(message, stamp.sec * 1_000_000_000 + stamp.nanosec, window)


def pipeline_of(arguments: argparse.Namespace) -> orbserve.Pipeline:
    """The pipeline of the command line; otherwise the preset that the library would take."""
    if arguments.pipeline is not None:
        pipeline = orbserve.Pipeline.load(arguments.pipeline)
    else:
        default = orbserve.StreamOptions(track=arguments.tracks is not None).pipeline
        pipeline = orbserve.PRESETS[arguments.preset or str(default)]()
    if arguments.max_features is None:
        return pipeline
    return dataclasses.replace(pipeline, max_features=arguments.max_features)


def write_tracks(
    client: orbserve.Client,
    pipeline: orbserve.Pipeline,
    frames: Iterator[orbserve.Frame],
    arguments: argparse.Namespace,
) -> int:
    """Writes the tracks of all frames, and their features if they are wanted. Returns the number of frames."""
    count = 0
    with open(arguments.tracks, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["timestamp_ns", "track", "x", "y", "age_frames", "residual"])
        with client.stream(pipeline, track=True, omit_features=arguments.out is None) as stream:
            for result in stream.run(frames):
                count += 1
                if result.error is not None:
                    print(f"{result.timestamp_ns}: {result.error}")
                    continue
                tracks = result.tracks
                columns = (tracks.id, *tracks.xy.T, tracks.age_frames, tracks.residual)
                writer.writerows((result.timestamp_ns, *row) for row in zip(*columns, strict=True))
                if result.features is not None:
                    result.features.save(arguments.out / f"{result.timestamp_ns}.npz")
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bag", type=Path, help="bag: a file, or a folder with metadata.yaml")
    parser.add_argument("topic", help="topic with images")
    parser.add_argument("--out", type=Path, help="folder of the NPZ files")
    parser.add_argument("--tracks", type=Path, help="CSV file of the tracks")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--preset", choices=sorted(orbserve.PRESETS), help="default: orb, or one that tracks")
    chosen.add_argument("--pipeline", type=Path, help="file of a pipeline, as that of `orbserve --pipeline`")
    parser.add_argument("--max-features", type=int, help="wanted number of features; default: the preset's")
    parser.add_argument("--window", type=int, nargs=2, help="values of 16-bit images that become black and white")
    parser.add_argument("--server", help="address of a server; default: a local one")
    arguments = parser.parse_args()
    if arguments.out is None and arguments.tracks is None:
        parser.error("--out or --tracks is missing")

    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    pipeline = pipeline_of(arguments)
    frames = frames_of(arguments.bag, arguments.topic, arguments.window)
    with orbserve.Client(arguments.server) if arguments.server else orbserve.local() as client:
        if arguments.tracks is not None:
            count = write_tracks(client, pipeline, frames, arguments)
        else:
            count = 0
            for features in client.extract_many(frames, pipeline):
                features.save(arguments.out / f"{features.timestamp_ns}.npz")
                count += 1
    print(f"{count} images of {arguments.topic}")


if __name__ == "__main__":
    main()
