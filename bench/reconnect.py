#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Time from the moment at which a restarted server listens to the first result of each of its streams.

Starts a server that computes nothing (stub_server) and many streams of five small frames a second, kills the server and starts
it again after each outage. The streams begin before the server, unless --server-first is given.

  python bench/reconnect.py [--clients program,blocking,asyncio] [--build build] [--streams N] [--outages 0.1,1,5,20,60]
      [--repeats N] [--signal KILL|TERM] [--server-first]

program: N processes `orbserve stream` of the build (C++); blocking, asyncio: N streams of the Python package, each with a
connection of its own. The exit code is 1 if a stream has not come back, or if one in a hundred took longer than a second.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

WIDTH_PX, HEIGHT_PX = 64, 48
FRAMES_PER_SECOND = 5
RECONNECT_S = 600
PATIENCE_S = 60  # for streams that are slow to come back
LIMIT_S = 1.0


class Arrivals:
    """The time of each stream's first result without an error since `begin()`."""

    def __init__(self, count):
        self.count = count
        self.changed = threading.Condition()
        self.first = {}

    def begin(self):
        with self.changed:
            self.first.clear()

    def take(self, stream):
        with self.changed:
            if self.first.setdefault(stream, time.monotonic()) and len(self.first) == self.count:
                self.changed.notify()

    def wait(self):
        """The times, as soon as every stream has one."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.first) == self.count, PATIENCE_S)
            return sorted(self.first.values())


class Programs:
    """Processes `orbserve stream`, each with a camera that leaves out the frames that find no room."""

    HEAD = b"YUV4MPEG2 W%d H%d Cmono\n" % (WIDTH_PX, HEIGHT_PX)
    FRAME = b"FRAME\n" + bytes(WIDTH_PX * HEIGHT_PX)  # shorter than 4096 bytes: written whole or not at all

    def __init__(self, address, arrivals, build):
        command = [build / "bin" / "orbserve", "stream", "--json", "--quiet", "--server", address, "-"]
        command += ["--reconnect", str(RECONNECT_S)]
        self.processes = []
        for i in range(arrivals.count):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(command, pipesize=4096, **pipes)
            os.set_blocking(process.stdin.fileno(), False)
            os.write(process.stdin.fileno(), self.HEAD)
            self.processes.append(process)
            threading.Thread(target=self.read, args=(i, process, arrivals), daemon=True).start()
        threading.Thread(target=self.film, daemon=True).start()

    def film(self):
        while True:
            time.sleep(1 / FRAMES_PER_SECOND)
            for process in self.processes:
                with contextlib.suppress(BlockingIOError, BrokenPipeError):
                    os.write(process.stdin.fileno(), self.FRAME)

    @staticmethod
    def read(stream, process, arrivals):
        for line in process.stdout:
            if "error" not in json.loads(line):
                arrivals.take(stream)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Blocking:
    """Streams of the blocking Python client."""

    def __init__(self, address, arrivals, build):
        self.ended = threading.Event()
        self.threads = [
            threading.Thread(target=self.run, args=(i, address, arrivals), daemon=True) for i in range(arrivals.count)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, stream, address, arrivals):
        import numpy as np

        import orbserve

        frame = np.zeros((HEIGHT_PX, WIDTH_PX), np.uint8)
        try:
            with orbserve.Client(address) as client, client.stream(reconnect=RECONNECT_S) as opened:
                while not self.ended.wait(1 / FRAMES_PER_SECOND):
                    opened.send(frame)
                    if opened.receive().error is None:
                        arrivals.take(stream)
        except orbserve.OrbserveError as error:
            print(f"stream {stream}: {error}", file=sys.stderr)

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


class Asyncio:
    """Streams of the asyncio Python client, in one loop."""

    def __init__(self, address, arrivals, build):
        self.ended = False
        self.thread = threading.Thread(target=asyncio.run, args=(self.run_all(address, arrivals),), daemon=True)
        self.thread.start()

    async def run_all(self, address, arrivals):
        await asyncio.gather(*(self.run(i, address, arrivals) for i in range(arrivals.count)))

    async def run(self, stream, address, arrivals):
        import numpy as np

        import orbserve

        frame = np.zeros((HEIGHT_PX, WIDTH_PX), np.uint8)
        try:
            async with orbserve.AsyncClient(address) as client, client.stream(reconnect=RECONNECT_S) as opened:
                while not self.ended:
                    await asyncio.sleep(1 / FRAMES_PER_SECOND)
                    await opened.send(frame)
                    if (await opened.receive()).error is None:
                        arrivals.take(stream)
        except orbserve.OrbserveError as error:
            print(f"stream {stream}: {error}", file=sys.stderr)

    def end(self):
        self.ended = True
        self.thread.join()


CLIENTS = {"program": Programs, "blocking": Blocking, "asyncio": Asyncio}


def start_server(build, port):
    """The process, and the time at which it listens."""
    command = [build / "bin" / "stub_server", "--listen", f"127.0.0.1:{port}", "--http-listen", "", "--log-level", "error"]
    process = subprocess.Popen(command)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, time.monotonic()
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise RuntimeError(f"{command[0]} has ended") from None
            time.sleep(0.001)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def measure(kind, options):
    """Prints one line for each outage. True if all are within the limit."""
    port = free_port()
    arrivals = Arrivals(options.streams)
    server = start_server(options.build, port)[0] if options.server_first else None
    clients = CLIENTS[kind](f"127.0.0.1:{port}", arrivals, options.build)
    good = True
    try:
        if options.server_first:
            arrivals.wait()
        rounds = [] if options.server_first else [("start", 5.0)]
        rounds += [(f"{outage:g}", outage) for outage in options.outages for _ in range(options.repeats)]
        for name, outage in rounds:
            if server is not None:
                server.send_signal(signal.Signals[f"SIG{options.signal}"])
                server.wait()
            time.sleep(outage)
            arrivals.begin()
            server, listens = start_server(options.build, port)
            times = [arrival - listens for arrival in arrivals.wait()]
            times += [math.inf] * (options.streams - len(times))
            p50, p99 = times[len(times) // 2], times[min(len(times) * 99 // 100, len(times) - 1)]
            good = good and p99 <= LIMIT_S
            line = f"{kind:9} {options.signal:4} {name:>6} s {options.streams:4} streams"
            print(f"{line}  p50 {p50:7.3f}  p99 {p99:7.3f}  max {times[-1]:7.3f} s", flush=True)
    finally:
        clients.end()
        if server is not None:
            server.kill()
            server.wait()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default="program,blocking,asyncio")
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--outages", default="0.1,1,5,20,60", help="seconds")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--signal", choices=["KILL", "TERM"], default="KILL")
    parser.add_argument("--server-first", action="store_true")
    options = parser.parse_args()
    options.outages = [float(outage) for outage in options.outages.split(",")]
    good = [measure(kind, options) for kind in options.clients.split(",")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
