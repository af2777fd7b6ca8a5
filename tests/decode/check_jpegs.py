#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Compares our JPEG decoders with libjpeg-turbo on many healthy files of several encoders.

usage: check_jpegs.py --program BUILD/tests/jpeg_check --photographs FOLDER [--files N] [--device] [--ffmpeg PROGRAM]

N files (100,000) are made: four fifths by jpeg_check itself with libjpeg-turbo, the rest by Pillow, by mozjpeg (the
package jpeglib, which writes progressive files with it) and by ffmpeg's mjpeg, as far as each is installed. Settings and
contents are random and the same in every run. --device compares the CUDA decoder, too. The exit code is 1 if a file
differs.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

SEED = 20261128
ROUND = 2000  # files that are on disk at a time


class Pictures:
    """Parts of photographs, and noise."""

    def __init__(self, folder: str) -> None:
        from PIL import Image

        self.photographs = [
            np.asarray(Image.open(path).convert("RGB")) for path in sorted(Path(folder).iterdir()) if path.suffix == ".jpg"
        ]

    def draw(self, width: int, height: int) -> np.ndarray:
        if random.random() < 0.2:
            return np.random.default_rng(random.getrandbits(32)).integers(0, 256, (height, width, 3), np.uint8)
        photograph = random.choice(self.photographs)
        rows = np.arange(height) + random.randrange(photograph.shape[0])
        columns = np.arange(width) + random.randrange(photograph.shape[1])
        return np.ascontiguousarray(photograph.take(rows, 0, mode="wrap").take(columns, 1, mode="wrap"))


def size() -> tuple[int, int]:
    most = random.choice((16, 64, 64, 300, 300, 1000))
    return random.randint(1, most), random.randint(1, most)


def restart_interval() -> int:
    return random.choice((0, 0, 1, 2, 7, random.randint(1, 1000)))


def pillow(pictures: Pictures, folder: Path, count: int) -> None:
    from PIL import Image, ImageFile

    ImageFile.MAXBLOCK = 1 << 24  # room for noise of quality 100
    for number in range(count):
        image = Image.fromarray(pictures.draw(*size()))
        if random.random() < 0.2:
            image = image.convert("L")
        image.save(
            folder / f"pillow{number:06}.jpg",
            quality=random.randint(1, 100),
            subsampling=random.choice(("4:4:4", "4:2:2", "4:2:0")),
            optimize=random.random() < 0.5,
            progressive=random.random() < 0.1,
            restart_marker_blocks=restart_interval(),
        )


def mozjpeg(pictures: Pictures, folder: Path, count: int) -> None:
    import jpeglib

    jpeglib.version.set("mozjpeg403")
    for number in range(count):
        image = jpeglib.from_spatial(pictures.draw(*size()))
        image.samp_factor = random.choice(("4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1"))
        image.write_spatial(str(folder / f"mozjpeg{number:06}.jpg"), qt=random.randint(1, 100))


def ffmpeg(program: str) -> Callable[[Pictures, Path, int], None]:
    def encode(pictures: Pictures, folder: Path, count: int) -> None:
        video = 0
        while count > 0:
            width, height = size()
            frames = min(count, 10)
            settings = ["-c:v", "mjpeg", "-q:v", str(random.randint(1, 31)), "-huffman", random.choice(("default", "optimal"))]
            settings += ["-pix_fmt", random.choice(("yuvj420p", "yuvj422p", "yuvj444p"))]
            settings += ["-slices", "1"]  # of several, at some heights, restart markers are missing
            command = [program, "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-i", "-"]
            raw = b"".join(pictures.draw(width, height).tobytes() for _ in range(frames))
            names = str(folder / f"ffmpeg{video:04}_%04d.jpg")
            subprocess.run([*command, *settings, "-f", "image2", names], input=raw, check=True)
            count -= frames
            video += 1

    return encode


def check(program: str, arguments: list[str], failed: list[str], what: str) -> None:
    result = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True)
    print(f"{what}\n{result.stdout}", flush=True)
    if result.returncode != 0:
        failed.append(what)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--photographs", required=True)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--ffmpeg", default="ffmpeg")
    options = parser.parse_args()
    device = ["--device"] if options.device else []
    failed: list[str] = []
    pictures = Pictures(options.photographs)
    encoders = {"Pillow": pillow, "mozjpeg": mozjpeg, "ffmpeg": ffmpeg(options.ffmpeg)}
    for name, encode in encoders.items():
        random.seed(f"{SEED} {name}")
        left = options.files // 5 // len(encoders)
        while left > 0:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    encode(pictures, Path(folder), min(left, ROUND))
                except (ImportError, FileNotFoundError) as error:
                    print(f"{name}: left out, {error}", flush=True)
                    break
                check(options.program, ["--files", "0", *device, folder], failed, name)
            left -= ROUND
    made = ["--files", str(options.files // 5 * 4), "--photographs", options.photographs, *device]
    check(options.program, made, failed, "libjpeg-turbo")
    print("different: " + ", ".join(failed) if failed else "no difference")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
