# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Follows points through the frames of a camera or a folder, and draws their tracks.

    tracks.py 0 --frames 300 --plot tracks.png           # the first camera, through OpenCV
    tracks.py photos/ --plot tracks.png --server robot:50051

Without --server a local server is used, or started. Needs matplotlib, for a camera OpenCV, too.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt

import orbserve

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # the backend comes first

SUFFIXES = {".jpg", ".jpeg", ".png", ".pgm", ".ppm"}


def frames_of(source: str) -> Iterator[orbserve.Image]:
    """Frames of a folder in the order of their names, or of a camera until it ends."""
    if Path(source).is_dir():
        yield from sorted(path for path in Path(source).iterdir() if path.suffix.lower() in SUFFIXES)
        return
    import cv2

    camera = cv2.VideoCapture(int(source) if source.isdecimal() else source)
    try:
        while True:
            good, frame = camera.read()
            if not good:
                return
            yield frame.astype(np.uint8, copy=False)
    finally:
        camera.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", help="folder of images, number of a camera, or a video file")
    parser.add_argument("--frames", type=int, help="end after so many frames")
    parser.add_argument("--plot", default="tracks.png", help="picture to write (%(default)s)")
    parser.add_argument("--server", help="address of a server; default: a local one")
    arguments = parser.parse_args()

    paths: dict[int, list[npt.NDArray[np.float32]]] = {}
    ended = 0
    frames = itertools.islice(frames_of(arguments.source), arguments.frames)
    # A camera that cannot wait would take drop_policy="newest", and a robot on Wi-Fi reconnect=30.
    with orbserve.Client(arguments.server) if arguments.server else orbserve.local() as client:
        with client.stream(track=True, omit_features=True) as stream:
            for result in stream.run(frames):
                if result.error is not None:
                    print(f"frame {result.sequence}: {result.error}")
                    continue
                for number, place in zip(result.tracks.id.tolist(), result.tracks.xy, strict=True):
                    paths.setdefault(number, []).append(place)
                ended += len(result.ended_tracks)
                print(
                    f"frame {result.sequence}: {len(result.tracks)} tracks, {len(result.ended_tracks)} ended, "
                    f"{result.timings.total_ns / 1e6:.1f} ms"
                )

    figure, axes = plt.subplots(figsize=(10, 6))
    for places in paths.values():
        x, y = np.array(places).T
        axes.plot(x, y, linewidth=0.7)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.set(xlabel="x / pixels", ylabel="y / pixels", title=f"{len(paths)} tracks, {ended} of them ended")
    figure.savefig(arguments.plot, dpi=120)
    print(f"{len(paths)} tracks in {arguments.plot}")


if __name__ == "__main__":
    main()
