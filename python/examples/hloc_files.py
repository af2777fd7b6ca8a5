# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Extracts features and matches of a folder into the two HDF5 files that hloc's reconstruction reads.

    hloc_files.py photos/ --out reconstruction --sequential 5
    hloc_files.py photos/ --out reconstruction                   # every pair

Writes features.h5 and matches.h5 as `orbserve match --format hdf5` does, and pairs.txt. Needs h5py. Without --server a
local server is used, or started.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from pathlib import Path

import h5py
import numpy as np

import orbserve

SUFFIXES = {".jpg", ".jpeg", ".png", ".pgm", ".ppm"}


def write_features(file: h5py.File, name: str, features: orbserve.Features) -> None:
    """One group for each image. hloc has descriptors with one column per keypoint."""
    group = file.create_group(name)
    group["keypoints"] = features.xy
    group["scores"] = features.response
    group["descriptors"] = features.descriptors.T
    group["image_size"] = np.array(features.image_size, np.int32)
    group["sizes"] = features.size
    group["angles"] = features.angle
    group["octaves"] = features.octave


def write_matches(
    file: h5py.File, first: str, second: str, matches: orbserve.Matches, query: orbserve.Features
) -> None:
    """For each keypoint of the first image the row in the second one, or -1, and the share of equal bits."""
    rows = np.full(len(query), -1, np.int32)
    scores = np.zeros(len(query), np.float32)
    bits = 8 * query.descriptors.shape[1]
    rows[matches.query_index] = matches.train_index
    scores[matches.query_index] = 1 - matches.distance.astype(np.float32) / np.float32(bits)
    group = file.create_group("/".join(name.replace("/", "-") for name in (first, second)))
    group["matches0"] = rows
    group["matching_scores0"] = scores


async def run(arguments: argparse.Namespace, address: str) -> None:
    folder: Path = arguments.images
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    pairs = [
        (first, second)
        for (i, first), (k, second) in itertools.combinations(enumerate(names), 2)
        if arguments.sequential is None or k - i <= arguments.sequential
    ]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "pairs.txt").write_text("".join(f"{first} {second}\n" for first, second in pairs))

    options = orbserve.MatchOptions(ratio=0.85, cross_check=True)
    features: dict[str, orbserve.Features] = {}
    places = asyncio.Semaphore(16)  # matches under way

    async with orbserve.AsyncClient(address) as client:
        with h5py.File(arguments.out / "features.h5", "w") as file:
            answers = client.extract_many(
                (folder / name for name in names), orbserve.Orb(max_features=arguments.max_features)
            )
            remaining = iter(names)
            async for answer in answers:
                name = next(remaining)
                features[name] = answer
                write_features(file, name, answer)

        async def match(first: str, second: str) -> orbserve.Matches:
            async with places:
                return await client.match(features[first], features[second], options)

        with h5py.File(arguments.out / "matches.h5", "w") as file:
            tasks = [asyncio.create_task(match(*pair)) for pair in pairs]
            for (first, second), task in zip(pairs, tasks, strict=True):
                write_matches(file, first, second, await task, features[first])
    print(f"{len(names)} images, {len(pairs)} pairs in {arguments.out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path, help="folder of images, with those below it")
    parser.add_argument("--out", type=Path, required=True, help="folder of the three files")
    parser.add_argument("--sequential", type=int, metavar="N", help="match each image with the N behind it only")
    parser.add_argument("--max-features", type=int, default=2000, help="wanted number of features (%(default)s)")
    parser.add_argument("--server", help="address of a server; default: a local one")
    arguments = parser.parse_args()
    if arguments.server:
        asyncio.run(run(arguments, arguments.server))
    else:
        with orbserve.LocalServer() as server:
            asyncio.run(run(arguments, server.address))


if __name__ == "__main__":
    main()
