# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Extracts the features, or follows the tracks, of the images of a ROS bag: ROS 1, ROS 2 with SQLite, or MCAP.

    bag.py drive.mcap /camera/image_raw --out features --max-features 2000
    bag.py recording/ /camera/image_raw/compressed --out features --preset orb-slam
    bag.py drive.mcap /camera/image_raw --tracks tracks.csv

One NPZ file for each message, named by its time in nanoseconds; tracks as lines of one CSV file. Needs rosbags. Without
--server a local server is used, or started. `python -m orbserve.bag` writes a bag instead.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import orbserve
from orbserve.bag import Bag


def frames_of(bag: Path, topic: str, window: tuple[int, int] | None) -> Iterator[orbserve.Frame]:
    """The images of a topic with the times of their headers. window: of images of 16 bits."""
    try:
        with Bag(bag, [topic]) as opened:
            for image in opened.images():
                yield image.frame(window)
    except ValueError as error:
        raise SystemExit(str(error)) from None


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
    parser.add_argument("--window", type=int, nargs=2, help="values of 16-bit images that become black and white")
    parser.add_argument("--out", type=Path, help="folder of the NPZ files")
    parser.add_argument("--tracks", type=Path, help="CSV file of the tracks")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--preset", choices=sorted(orbserve.PRESETS), help="default: orb, or one that tracks")
    chosen.add_argument("--pipeline", type=Path, help="file of a pipeline, as that of `orbserve --pipeline`")
    parser.add_argument("--max-features", type=int, help="wanted number of features; default: the preset's")
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
