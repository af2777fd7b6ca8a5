# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""What the experiments that run programs on a GPU share: images for the programs, and what each program measured."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import cv2

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "quality"), str(HERE.parent / "report")]
from image_sets import read_grey, write_pgm  # noqa: E402
from report import DOCS, Report  # noqa: E402

PHOTOGRAPHS = ["castle_sceaux", "cathedral_berlin", "fig_on_concrete", "stream_forest"]
SIZES = ["720x540", "1080x720", "1440x1080", "1920x1080"]


def us(value: float) -> str:
    return f"{value:.1f}"


def gain(before: float, after: float) -> str:
    return f"{before / after:.2f}×"


class Measurements:
    """What the programs measured, run where it is not there yet."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.results = arguments.results
        self.results.mkdir(parents=True, exist_ok=True)
        self.images = self.results / "images"

    def image(self, path: str, name: str = "", size: tuple[int, int] | None = None) -> str:
        """A PGM copy of an image of the sets, scaled and cut to `size` if it is given."""
        source = self.arguments.data / path
        target = self.images / f"{name or source.stem}.pgm"
        if not target.exists():
            grey = read_grey(source)
            if size:
                width, height = size
                scale = max(width / grey.shape[1], height / grey.shape[0])
                grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
                left, top = (grey.shape[1] - width) // 2, (grey.shape[0] - height) // 2
                grey = grey[top : top + height, left : left + width]
            write_pgm(target, grey)
        return str(target)

    def photographs(self, sizes: list[str], names: list[str] = PHOTOGRAPHS) -> list[str]:
        """Copies of the photographs in these sizes."""
        return [self.image(f"photos-paper-sizes/{name}_{size}.jpg") for name in names for size in sizes]

    def frames(self, folder: str, name: str, size: tuple[int, int], count: int = 20) -> list[str]:
        """Copies of `count` frames of a sequence, spread over it, scaled and cut to `size`."""
        frames = sorted((self.arguments.data / folder).glob("*.png"))
        chosen = [frames[i * len(frames) // count] for i in range(count)]
        return [self.image(str(frame.relative_to(self.arguments.data)), f"{name}_{frame.stem}", size) for frame in chosen]

    def sequence(self) -> tuple[str, str]:
        """Two frames of EuRoC, one after the other."""
        frames = sorted((self.arguments.data / "seq-euroc-v101-static/cam0").glob("*.png"))
        names = [str(frame.relative_to(self.arguments.data)) for frame in frames[:2]]
        return self.image(names[0], "euroc0"), self.image(names[1], "euroc1")

    def run(self, name: str, program: str, arguments: list[str]) -> list[dict]:
        target = self.results / f"{name}.json"
        if not target.exists():
            unfinished = self.results / f"{name}.tmp"
            command = [str(self.arguments.build / "bin" / program), *arguments, "--json", str(unfinished)]
            with open(self.results / f"{name}.txt", "w") as log:
                subprocess.run(command, check=True, stdout=log)
            unfinished.rename(target)
        return json.loads(target.read_text())

    def device(self, name: str) -> str:
        """The device that a program named first."""
        for line in (self.results / f"{name}.txt").read_text().splitlines():
            if line.startswith("cuda:0: "):
                return line.removeprefix("cuda:0: ").split(",")[0]
        raise SystemExit(f"{name}.txt names no device")


def measure(description: str, experiments: list[Callable[[Measurements], Report]]) -> None:
    """Reads the command line, and makes the report of each experiment."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of public image sets")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build", help="folder of the build")
    parser.add_argument("--results", type=pathlib.Path, help="where to keep what the programs measured")
    parser.add_argument("--docs", type=pathlib.Path, default=DOCS, help="folder of the pages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments.results = arguments.results or pathlib.Path(folder)
        measurements = Measurements(arguments)
        for experiment in experiments:
            experiment(measurements).write(arguments.docs)
