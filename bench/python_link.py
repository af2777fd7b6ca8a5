#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of the Python clients over a poor link: age of their results, and time until a silent cut is noticed.

  python bench/python_link.py ages [--mbits 20] [--delay-ms 0] [--seconds 20] [--policy newest] [--deadline-ms 0] [--jpeg-age S]
  python bench/python_link.py cuts [--idle] [--count 50] [--at-a-time 10]

Both run a server of the build (--build) behind a relay of this process, once for each client. Frames are grey VGA images, 30 a
second. --delay-ms is that of each direction. The package has to be installed, or be on PYTHONPATH.
"""

import argparse
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "python"))

from tests.conftest import make_image  # noqa: E402
from tests.either_stream import EitherStream  # noqa: E402
from tests.relay import Relay  # noqa: E402

PERIOD_S = 1 / 30
CLIENTS = {"blocking": False, "asyncio": True}


def film(stream, image, stop):
    """Sends 30 frames a second until `stop` is set."""
    due = time.monotonic()
    while not stop.is_set():
        stream.send(image)
        due += PERIOD_S
        time.sleep(max(due - time.monotonic(), 0))


def spread(values, unit=1000):
    values = sorted(value * unit for value in values)
    places = (0, len(values) // 2, len(values) * 9 // 10, len(values) - 1)
    return "/".join(f"{values[i]:.0f}" for i in places)


def ages(arguments, address):
    image = make_image(640, 480)
    delay = arguments.delay_ms / 1000
    for name, asynchronous in CLIENTS.items():
        rate = arguments.mbits * 1e6 if arguments.mbits else None
        options = {
            "drop_policy": arguments.policy,
            "deadline_ms": arguments.deadline_ms,
            "jpeg_age": arguments.jpeg_age,
        }
        with Relay(address, bits_per_second=rate, delay_up=delay, delay_down=delay) as relay:
            with EitherStream(asynchronous, relay.address, **options) as stream:
                stop = threading.Event()
                threading.Timer(arguments.seconds, stop.set).start()
                film(stream, image, stop)
                link = stream.stream.link
                results = stream.finish()
        good = [r for r in results if r.error is None]
        settled = [r for r in good if r.sequence > len(results) // 10]
        print(
            f"{name}: {len(results)} frames, {len(good)} OK ({len(settled) / arguments.seconds / 0.9:.1f}/s), "
            f"{sum(r.dropped for r in results)} dropped ({link.dropped} here), {sum(r.late for r in results)} late "
            f"({link.expired} before, {link.late} after); window {link.window}; "
            f"age min/median/p90/max {spread(r.age for r in settled)} ms, of all OK {max(r.age for r in good) * 1000:.0f} ms, "
            f"round trip {spread(r.round_trip for r in settled)} ms"
        )


def cut_once(asynchronous, address, idle, image):
    """Seconds from a silent cut to the event."""
    with Relay(address) as relay:
        with EitherStream(asynchronous, relay.address, drop_policy="newest") as stream:
            stop = threading.Event()
            sender = threading.Thread(target=film, args=(stream, image, stop))
            if not idle:
                sender.start()
            time.sleep(random.uniform(1.5, 4))
            cut_at = relay.cut()
            if not stream.lost.wait(60):
                raise TimeoutError("the cut was not noticed")
            noticed = time.monotonic() - cut_at
            stop.set()
            if not idle:
                sender.join()
    return noticed


def cuts(arguments, address):
    image = make_image(640, 480)
    for name, asynchronous in CLIENTS.items():
        with ThreadPoolExecutor(arguments.at_a_time) as pool:
            tries = [
                pool.submit(cut_once, asynchronous, address, arguments.idle, image) for _ in range(arguments.count)
            ]
            times = [one.result() for one in tries]
        print(
            f"{name}, {'idle' if arguments.idle else '30 frames/s'}: {len(times)} cuts, noticed after "
            f"min/median/p90/max {spread(times)} ms, mean {statistics.mean(times) * 1000:.0f} ms"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ages", "cuts"])
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build")
    parser.add_argument("--mbits", type=float, help="of the way to the server; default: no limit")
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--policy", default="newest")
    parser.add_argument("--deadline-ms", type=int, default=0)
    parser.add_argument("--jpeg-age", type=float)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--at-a-time", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/s"
        command = [arguments.build / "bin" / "orbserve-server", "--listen", address, "--http-listen", ""]
        server = subprocess.Popen([*command, "--backend", "cpu", "--log-level", "warning"])
        try:
            {"ages": ages, "cuts": cuts}[arguments.what](arguments, address)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
