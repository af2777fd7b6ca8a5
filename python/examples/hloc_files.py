# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Extracts features of a folder here, and has the program `orbserve` match them into the files that hloc reads.

    hloc_files.py photos/ --out reconstruction --sequential 5
    hloc_files.py photos/ --out reconstruction                   # every pair

Leaves NPZ files of the features, pairs.txt, and features.h5 and matches.h5, whose layout only the program knows
(docs/formats.md). Needs the program on the PATH, or its path in ORBSERVE_PROGRAM. Without --server a local server is
used, or started.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
from pathlib import Path

import orbserve

SUFFIXES = {".jpg", ".jpeg", ".png", ".pgm", ".ppm"}


def extract(folder: Path, names: list[str], out: Path, max_features: int, address: str) -> None:
    """Writes NAME.npz for each image: the files of `orbserve extract`."""
    with orbserve.Client(address) as client:
        answers = client.extract_many((folder / name for name in names), orbserve.Orb(max_features=max_features))
        for name, features in zip(names, answers, strict=True):
            place = out / f"{name}.npz"
            place.parent.mkdir(parents=True, exist_ok=True)
            features.save(place)


def run(arguments: argparse.Namespace, address: str) -> None:
    folder: Path = arguments.images
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    pairs = [
        (first, second)
        for (i, first), (k, second) in itertools.combinations(enumerate(names), 2)
        if arguments.sequential is None or k - i <= arguments.sequential
    ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    pairs_file = arguments.out / "pairs.txt"
    pairs_file.write_text("".join(f"{first} {second}\n" for first, second in pairs))

    npz = arguments.out / "npz"
    extract(folder, names, npz, arguments.max_features, address)
    program = os.environ.get("ORBSERVE_PROGRAM", "orbserve")
    matching = ["--pairs", pairs_file, "--ratio", "0.85", "--cross-check"]
    command = [program, "match", "--server", address, *matching, "--format", "hdf5", "--out", arguments.out, npz]
    done = subprocess.run([*map(str, command), "--quiet"])
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    print(f"{len(names)} images, {len(pairs)} pairs in {arguments.out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path, help="folder of images, with those below it")
    parser.add_argument("--out", type=Path, required=True, help="folder of the files")
    parser.add_argument("--sequential", type=int, metavar="N", help="match each image with the N behind it only")
    parser.add_argument("--max-features", type=int, default=2000, help="wanted number of features (%(default)s)")
    parser.add_argument("--server", help="address of a server; default: a local one")
    arguments = parser.parse_args()
    if arguments.server:
        run(arguments, arguments.server)
    else:
        with orbserve.LocalServer() as server:
            run(arguments, server.address)


if __name__ == "__main__":
    main()
