#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Wall time as a user sees it: `orbserve extract` of a folder to NPZ beside a plain cv2 script.

The frames of one sequence are written as PGM, or with --jpeg as JPEG, into a temporary folder, each
several times under different names. Both programs are then run from a cold process, turn by turn, over the same folder
with the same ORB parameters, and each writes one NPZ file per frame. Before anything is timed, every
feature of every file of both is compared; a difference ends the run.

Needs numpy and cv2 (Debian: python3-opencv), so run it with the interpreter that has them:

  /usr/bin/python3 bench/cli_vs_cv2.py --orbserve build/bin/orbserve --frames FOLDER [--json FILE]
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np

EXTENSIONS = {".png", ".jpg", ".jpeg", ".pgm", ".ppm"}

# Somebody would write this without us, and without thinking of speed.
CV2_SCRIPT = """
import pathlib, sys
import cv2
import numpy as np

source, target, features = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
orb = cv2.ORB_create(nfeatures=features)
for path in sorted(source.iterdir()):
    image = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    keypoints, descriptors = orb.detectAndCompute(image, None)
    if descriptors is None:
        descriptors = np.zeros((0, 32), np.uint8)
    np.savez(
        target / (path.name + ".npz"),
        xy=np.array([k.pt for k in keypoints], np.float32).reshape(-1, 2),
        size=np.array([k.size for k in keypoints], np.float32),
        angle=np.array([k.angle for k in keypoints], np.float32),
        response=np.array([k.response for k in keypoints], np.float32),
        octave=np.array([k.octave for k in keypoints], np.int32),
        descriptors=descriptors,
        image_size=np.array(image.shape[::-1], np.int32),
    )
"""


def write_frames(source: pathlib.Path, target: pathlib.Path, copies: int, quality: int) -> int:
    """Writes every image of `source`, `copies` times, as PGM, or for a quality above 0 as colour JPEG
    of 4:2:0. Returns the number of files."""
    images = sorted(p for p in source.iterdir() if p.suffix.lower() in EXTENSIONS)
    if not images:
        sys.exit(f"cli_vs_cv2: no images in {source}")
    for path in images:
        grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        if grey is None:
            sys.exit(f"cli_vs_cv2: cannot read {path}")
        height, width = grey.shape
        data = b"P5\n%d %d\n255\n" % (width, height) + grey.tobytes()
        ending = "pgm"
        if quality > 0:
            data = cv2.imencode(".jpg", cv2.imread(str(path)), [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()
            ending = "jpg"
        for copy in range(copies):
            (target / f"{copy}_{path.stem}.{ending}").write_bytes(data)
    return len(images) * copies


def run(command: list) -> float:
    """Wall time in seconds from starting the process until it is gone."""
    start = time.perf_counter()
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if result.returncode != 0:
        sys.exit(f"cli_vs_cv2: {command[0]} exited with {result.returncode}: {result.stderr[-2000:]}")
    return seconds


def rows(path: pathlib.Path) -> tuple:
    """Image size and features of one file, as sorted rows of bytes: a set, since orders differ."""
    with np.load(path) as f:
        count = len(f["octave"])
        columns = [
            np.ascontiguousarray(f[name]).reshape(count, -1).view(np.uint8)
            for name in ("xy", "size", "angle", "response", "octave", "descriptors")
        ]
        table = np.ascontiguousarray(np.concatenate(columns, axis=1))
        size = f["image_size"].tolist()
    if count == 0:
        return size, np.zeros(0)
    return size, np.sort(table.view(np.dtype((np.void, table.shape[1]))).ravel())


def compare(ours: pathlib.Path, theirs: pathlib.Path) -> int:
    """The number of features in all files; ends the run at the first file that differs."""
    found = {p.name: p for p in ours.rglob("*.npz")}
    features = 0
    for path in sorted(theirs.iterdir()):
        if path.name not in found:
            sys.exit(f"cli_vs_cv2: orbserve wrote no {path.name}")
        size_a, a = rows(found.pop(path.name))
        size_b, b = rows(path)
        if size_a != size_b or len(a) != len(b) or (a != b).any():
            sys.exit(f"cli_vs_cv2: {path.name} differs ({len(a)} and {len(b)} features)")
        features += len(a)
    if found:
        sys.exit(f"cli_vs_cv2: orbserve wrote files of its own: {sorted(found)[:3]}")
    return features


def cpu_model() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def summary(samples: list) -> dict:
    ordered = sorted(samples)
    rank = lambda share: ordered[max(0, int(np.ceil(share * len(ordered))) - 1)]
    return {
        "median_s": statistics.median(ordered),
        "min_s": ordered[0],
        "p10_s": rank(0.1),
        "p90_s": rank(0.9),
        "samples": len(ordered),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--orbserve", default="build/bin/orbserve", help="the program")
    parser.add_argument("--frames", required=True, type=pathlib.Path, help="folder of images")
    parser.add_argument("--copies", type=int, default=4, help="times that every image is written")
    parser.add_argument("--jpeg", type=int, default=0, metavar="QUALITY", help="write JPEG files")
    parser.add_argument("--features", type=int, default=500, help="wanted features a frame")
    parser.add_argument("--repeats", type=int, default=11, help="runs of each program")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    options = parser.parse_args()
    load_average = os.getloadavg()[0]
    orbserve = shutil.which(options.orbserve)
    if orbserve is None:
        sys.exit(f"cli_vs_cv2: no program {options.orbserve}")

    with tempfile.TemporaryDirectory(prefix="orbserve-bench-") as folder:
        root = pathlib.Path(folder)
        frames = root / "frames"
        frames.mkdir()
        count = write_frames(options.frames, frames, options.copies, options.jpeg)
        script = root / "extract_cv2.py"
        script.write_text(CV2_SCRIPT)
        programs = {
            "cv2 script": lambda output: [sys.executable, str(script), str(frames), output, str(options.features)],
            "orbserve extract": lambda output: [orbserve, "extract", "--quiet", "--max-features", str(options.features)]
            + ["--out", output, str(frames)],
        }

        def turn_of(name: str, turn: int) -> tuple:
            """Seconds, and the folder of the results: a new one each time, since ext4 is slow in making files
            where some were just removed."""
            output = root / f"{name} {turn}"
            output.mkdir()
            return run(programs[name](str(output))), output

        # Untimed: file cache, and output to compare.
        theirs, ours = (turn_of(name, -1)[1] for name in programs)
        features = compare(ours, theirs)

        samples = {name: [] for name in programs}
        for turn in range(options.repeats):
            names = list(programs) if turn % 2 == 0 else list(programs)[::-1]
            for name in names:
                samples[name].append(turn_of(name, turn)[0])

    result = {
        "bench": "cli_vs_cv2",
        "info": {
            "cpu": cpu_model(),
            "logical_cpus": str(os.cpu_count()),
            "load_average": f"{load_average:.2f}",
            "opencv": cv2.__version__,
            "python": platform.python_version(),
            "frames": str(count),
            "features": str(features),
            "equal": "every feature of every frame",
        },
        "results": [],
    }
    base = statistics.median(samples["cv2 script"])
    for name, values in samples.items():
        entry = {"case": f"{count} frames, {options.features} features", "variant": name}
        entry.update(summary(values))
        entry["speedup"] = base / entry["median_s"]
        result["results"].append(entry)

    print("cli_vs_cv2")
    for key, value in result["info"].items():
        print(f"  {key}: {value}")
    print(f"{'variant':<18}{'median':>10}{'min':>10}{'p10':>10}{'p90':>10}{'speed-up':>10}")
    for entry in result["results"]:
        times = "".join(f"{entry[k]:>8.3f} s" for k in ("median_s", "min_s", "p10_s", "p90_s"))
        print(f"{entry['variant']:<18}{times}{entry['speedup']:>9.2f}x")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
