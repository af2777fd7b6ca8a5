#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of sequences: features and matches of `orbserve`, and of COLMAP's own SIFT, mapped by pycolmap.

Each image is matched with the --overlap images behind it, and the matches are verified; the mapper is the same, with the
intrinsics given. `orbserve extract` writes NPZ files, which `orbserve match` turns into a COLMAP database. SIFT gives all
features, the others --features. Front ends take turns, and their seconds are medians; maps are made in the first turn. Leaves
docs/data/maps.json. The exit code is 1 if a map has less than nine in ten images.

  bench/map.py --sequence NAME FOLDER FX,FY,CX,CY [--sequence ...] [--front-ends NAME ...] [--turns 3] [--build build]
"""

import argparse
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import pycolmap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "report"))
from report import Report  # noqa: E402

# COLMAP's thresholds, normalisation of descriptors, and ratio.
SIFT = ["--pipeline", "sift", "--contrast-threshold", "0.02", "--descriptor", "l1-root-sift"]
SIFT_RATIO = ["--ratio", "0.8"]
# Options of `orbserve extract` and of `orbserve match`.
OURS = {
    "`sift`": (SIFT, SIFT_RATIO),
    "`orb`": (["--pipeline", "orb"], []),
    "`orb`, TEBLID_256": (["--pipeline", "orb", "--descriptor", "teblid-256"], []),
    "`orb-slam3`": (["--pipeline", "orb-slam3"], []),
}
SIFT_NAME = next(iter(OURS))
COLMAP = "COLMAP's SIFT"
MIXED = "`sift`, COLMAP's matcher"
FRONT_ENDS = [*OURS, MIXED, COLMAP]


def seconds(work, *arguments) -> float:
    begin = time.monotonic()
    work(*arguments)
    return time.monotonic() - begin


class Sequence:
    """Images of one camera."""

    def __init__(self, options, name: str, images: str, camera: str):
        self.options, self.name, self.images, self.camera = options, name, pathlib.Path(images), camera
        self.count = sum(path.suffix.lower() in (".png", ".jpg", ".jpeg") for path in self.images.iterdir())

    def orbserve(self, command: str, *arguments) -> None:
        program = self.options.build / "bin" / "orbserve"
        common = ["--quiet", "--backend", "cpu", "--threads", str(self.options.threads)]
        subprocess.run([program, command, *common, *arguments], check=True, stdout=subprocess.DEVNULL)

    def ours(self, front_end: str, folder: pathlib.Path) -> list[float]:
        """Leaves database.db; returns seconds of the extraction and of the matching."""
        extraction, matching = OURS[SIFT_NAME if front_end == MIXED else front_end]
        if extraction is not SIFT:
            extraction = [*extraction, "--max-features", str(self.options.features)]
        colmap = ["--format", "colmap", "--camera-model", "PINHOLE", "--camera-params", self.camera, "--out", folder]
        if front_end == MIXED:
            return [seconds(self.orbserve, "extract", *extraction, *colmap, self.images), seconds(self.match, folder)]
        npz = folder / "npz"
        pairs = ["--sequential", str(self.options.overlap), "--cross-check", "--verify"]
        return [
            seconds(self.orbserve, "extract", *extraction, "--out", npz, self.images),
            seconds(self.orbserve, "match", *matching, *pairs, *colmap, npz),
        ]

    def extract(self, folder: pathlib.Path) -> None:
        extraction = pycolmap.FeatureExtractionOptions()
        extraction.use_gpu, extraction.num_threads = False, self.options.threads
        reader = pycolmap.ImageReaderOptions()
        reader.camera_model, reader.camera_params = "PINHOLE", self.camera
        pycolmap.extract_features(
            folder / "database.db", self.images, camera_mode=pycolmap.CameraMode.SINGLE, reader_options=reader,
            extraction_options=extraction, device=pycolmap.Device.cpu)  # fmt: skip

    def match(self, folder: pathlib.Path) -> None:
        matching = pycolmap.FeatureMatchingOptions()
        matching.use_gpu, matching.num_threads = False, self.options.threads
        pairs = pycolmap.SequentialPairingOptions()
        pairs.overlap, pairs.quadratic_overlap, pairs.loop_detection = self.options.overlap, False, False
        pycolmap.match_sequential(
            folder / "database.db", matching_options=matching, pairing_options=pairs, device=pycolmap.Device.cpu)  # fmt: skip

    def map(self, folder: pathlib.Path) -> dict:
        """Figures of the map of database.db."""
        mapper = pycolmap.IncrementalPipelineOptions()
        mapper.num_threads = self.options.threads
        mapper.ba_refine_focal_length = mapper.ba_refine_principal_point = mapper.ba_refine_extra_params = False
        # A camera that drives forward sees its first two images from nearly the same direction.
        mapper.mapper.init_min_tri_angle, mapper.mapper.init_max_forward_motion = 4, 1
        database = folder / "database.db"
        with sqlite3.connect(database) as connection:
            (features,) = connection.execute("SELECT AVG(rows) FROM keypoints").fetchone()
        begin = time.monotonic()
        maps = pycolmap.incremental_mapping(database, self.images, folder, options=mapper)
        figures = {"features": features, "map_s": time.monotonic() - begin, "images": 0, "points": 0, "error_px": 0, "track": 0}
        best = max(maps.values(), key=lambda each: each.num_reg_images(), default=None)
        if best is not None:
            figures |= {"images": best.num_reg_images(), "points": best.num_points3D(),
                        "error_px": best.compute_mean_reprojection_error(),
                        "track": best.compute_mean_track_length()}  # fmt: skip
        return figures

    def turn(self, front_end: str, figures: dict) -> None:
        """Adds the seconds of the front end, and the map if there is none yet."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if front_end == COLMAP:
                parts = [seconds(self.extract, folder), seconds(self.match, folder)]
            else:
                parts = self.ours(front_end, folder)
            figures.setdefault("front_end_s", []).append(parts)
            if "map_s" not in figures:
                figures |= self.map(folder)


def write_report(figures: dict, counts: dict[str, int], threads: int) -> None:
    """`figures`: {sequence: {front end: values}}."""
    report = Report("maps", "bench/map.py --sequence NAME FOLDER FX,FY,CX,CY")
    processor = next(line for line in open("/proc/cpuinfo") if line.startswith("model name")).split(":", 1)[1].strip()
    report.machine({"where": f"{processor}, {threads} threads", "pycolmap": pycolmap.__version__})
    report.values("maps", figures)
    columns = [""]
    for name, count in counts.items():
        columns += [f"{name}, {count} images: mapped, points, error px", "features, matches, map: s"]
    rows = []
    for front_end in next(iter(figures.values())):
        row = [front_end]
        for of_sequence in figures.values():
            found = of_sequence[front_end]
            times = [statistics.median(part) for part in zip(*found["front_end_s"], strict=True)] + [found["map_s"]]
            row += [f"{found['images']}, {found['points']:,}, {found['error_px']:.2f}", ", ".join(f"{t:.1f}" for t in times)]
        rows.append(row)
    report.table("maps", columns, rows)
    report.write()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sequence", nargs=3, action="append", required=True, metavar=("NAME", "FOLDER", "CAMERA"))
    parser.add_argument("--front-ends", nargs="+", choices=FRONT_ENDS, default=FRONT_ENDS)
    parser.add_argument("--overlap", type=int, default=10)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    options = parser.parse_args()
    pycolmap.logging.minloglevel = pycolmap.logging.Level.ERROR.value
    sequences = [Sequence(options, *values) for values in options.sequence]

    figures: dict = {s.name: {front_end: {} for front_end in options.front_ends} for s in sequences}
    for _ in range(options.turns):
        for sequence in sequences:
            for front_end in options.front_ends:
                found = figures[sequence.name][front_end]
                sequence.turn(front_end, found)
                print(sequence.name, front_end, found, flush=True)

    write_report(figures, {s.name: s.count for s in sequences}, options.threads)
    return 0 if all(10 * figures[s.name][f]["images"] >= 9 * s.count for s in sequences for f in options.front_ends) else 1


if __name__ == "__main__":
    sys.exit(main())
