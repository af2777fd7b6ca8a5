#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Stream of a Python client for link.py: the program link_client in Python. Needs the package, or its src on PYTHONPATH."""

import argparse
import asyncio
import json
import sys
import threading
import time

import numpy as np

import orbserve

SQUARE_PX = 5


def frames(arguments):
    """Frames of random squares, each when it is due. With 0 frames/s one, after which the stream stays open."""
    squares = np.random.default_rng(1).integers(0, 256, (arguments.height, arguments.width), np.uint8)
    image = squares[::SQUARE_PX, ::SQUARE_PX].repeat(SQUARE_PX, 0).repeat(SQUARE_PX, 1)
    image = image[: arguments.height, : arguments.width]
    if arguments.fps == 0:
        yield orbserve.Frame(image)
        threading.Event().wait()
    begin = time.monotonic()
    for i in range(int(arguments.seconds * arguments.fps)):
        due = begin + i / arguments.fps
        while (now := time.monotonic()) < due:
            time.sleep(due - now)
        yield orbserve.Frame(image, timestamp_ns=round(1e9 * i / arguments.fps), capture_time=due)


async def frames_async(arguments):
    """The same, without blocking the loop."""
    every = frames(arguments)
    while (frame := await asyncio.to_thread(next, every, None)) is not None:
        yield frame


def tell(event):
    texts = {
        orbserve.StreamEventKind.LOST: "the connection is lost",
        orbserve.StreamEventKind.RECONNECTED: "connected again",
    }
    if event.kind in texts:
        print(texts[event.kind], file=sys.stderr, flush=True)


def show(result):
    row = {"sequence": result.sequence, "timestamp_ns": result.timestamp_ns, "age_ms": result.age * 1e3}
    if result.round_trip is not None:
        row["round_trip_ms"] = result.round_trip * 1e3
    if result.error is not None:
        row["error"] = {"reason": result.error.reason}
    print(json.dumps(row), flush=True)


async def run_async(arguments, options):
    async with orbserve.AsyncClient(arguments.server) as client, client.stream(**options) as stream:
        async for result in stream.run(frames_async(arguments)):
            show(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, metavar="HOST:PORT")
    parser.add_argument("--policy", default="newest", choices=["newest", "oldest", "block"])
    parser.add_argument("--deadline-ms", type=int, default=0)
    parser.add_argument("--jpeg-age", type=float, default=0, metavar="SECONDS", help="0: raw frames")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--fps", type=float, default=30)
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--height", type=int, default=480)
    parser.add_argument("--asyncio", action="store_true")
    arguments = parser.parse_args()
    options = {
        "drop_policy": arguments.policy,
        "deadline_ms": arguments.deadline_ms,
        "jpeg_age": arguments.jpeg_age or None,
        "reconnect": 600,
        "on_event": tell,
    }
    if arguments.asyncio:
        asyncio.run(run_async(arguments, options))
        return
    with orbserve.Client(arguments.server) as client, client.stream(**options) as stream:
        for result in stream.run(frames(arguments)):
            show(result)


if __name__ == "__main__":
    main()
