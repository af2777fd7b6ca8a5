# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Extracts the features of a folder with Dask. A worker that dies costs nothing but time.

    dask_folder.py photos/ --out features --workers 4

Each worker process has one client of its own, and hands out small groups of images. A file has its name only when it is
whole, and the same image gives the same bytes, so that a group which Dask runs again does no harm. Needs
dask[distributed]. Without --server a local server is used, or started; workers on other machines need one that they
reach, and a folder that they share.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

import orbserve

SUFFIXES = {".jpg", ".jpeg", ".png", ".pgm", ".ppm"}
GROUP = 8  # images of a task: enough to fill the server's batches, few enough to lose


@functools.cache
def client_of(address: str) -> orbserve.Client:
    """The client of this process."""
    return orbserve.Client(address)


def extract_group(address: str, folder: str, names: Sequence[str], out: str, max_features: int) -> int:
    """Runs on a worker. Returns the number of images."""
    paths = [Path(folder) / name for name in names]
    pipeline = orbserve.Orb(max_features=max_features)
    for name, features in zip(names, client_of(address).extract_many(paths, pipeline, in_flight=GROUP), strict=True):
        place = Path(out) / f"{name}.npz"
        place.parent.mkdir(parents=True, exist_ok=True)
        features.save(place)
    return len(names)


def extract_folder(dask: Client, address: str, folder: Path, out: Path, max_features: int) -> Iterator[int]:
    """Extracts all images below `folder`. Yields the number of images of each group that is done."""
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    tasks = [
        dask.submit(extract_group, address, str(folder), names[i : i + GROUP], str(out), max_features, pure=False)
        for i in range(0, len(names), GROUP)
    ]
    for task in as_completed(tasks):
        yield task.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path, help="folder of images, with those below it")
    parser.add_argument("--out", type=Path, required=True, help="folder of the NPZ files")
    parser.add_argument("--workers", type=int, default=2, help="worker processes (%(default)s)")
    parser.add_argument("--max-features", type=int, default=1000, help="wanted number of features (%(default)s)")
    parser.add_argument("--server", help="address of a server; default: a local one")
    arguments = parser.parse_args()
    server = None if arguments.server else orbserve.LocalServer()
    address = arguments.server or (server.address if server else "")
    try:
        with LocalCluster(n_workers=arguments.workers, threads_per_worker=1, dashboard_address=None) as cluster:
            with Client(cluster) as dask:
                done = extract_folder(
                    dask, address, arguments.images.resolve(), arguments.out.resolve(), arguments.max_features
                )
                print(f"{sum(done)} images in {arguments.out}")
    finally:
        if server is not None:
            server.stop()


if __name__ == "__main__":
    main()
