#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Rate and processor time of the Python clients beside the C++ client, on the same load.

Starts the server of a build, and its echo server, which computes nothing and so shows what the client alone can do. Each client
runs in a process of its own, turn by turn, in rounds:

  many     single calls, 32 under way: `orbserve extract` (C++), extract_many() of both Python clients
  single   single calls, one under way: `orbserve bench` (C++), extract() of both Python clients
  stream   one stream, 8 frames in flight: stream_bench (C++), stream.run() of both Python clients

Processor time is that of the client's process. Needs the package: run it with the Python that has it.

  python bench/python_client.py --build build --image FRAME.pgm [--features N] [--seconds S] [--rounds N] [--json FILE]
"""

import argparse
import asyncio
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import orbserve


def processor_seconds(who=resource.RUSAGE_SELF):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class Meter:
    """Frames, time and processor time from the end of the warm-up to the end of the time."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.begin = time.perf_counter()
        self.warm = self.begin + min(1.0, seconds / 4)
        self.measuring = False
        self.frames = 0
        self.result = None

    def frames_until_done(self, frame):
        while self.result is None:
            yield frame

    def count(self):
        """A frame was answered. True when the time is over."""
        now = time.perf_counter()
        if not self.measuring:
            if now >= self.warm:
                self.measuring, self.start, self.cpu = True, now, processor_seconds()
        else:
            self.frames += 1
            if now - self.start >= self.seconds and self.result is None:
                self.result = {
                    "frames_per_second": self.frames / (now - self.start),
                    "client_ms": (processor_seconds() - self.cpu) * 1e3 / self.frames,
                }
        return self.result is not None


def python_sync(kind, address, frame, pipeline, meter):
    with orbserve.Client(address) as client:
        if kind == "single":
            while True:
                client.extract(frame, pipeline)
                if meter.count():
                    return
        elif kind == "many":
            for _ in client.extract_many(meter.frames_until_done(frame), pipeline, in_flight=32):
                if meter.count():
                    return
        else:
            with client.stream(pipeline) as stream:
                for _ in stream.run(meter.frames_until_done(frame)):
                    if meter.count():
                        return


async def python_asyncio(kind, address, frame, pipeline, meter):
    async with orbserve.AsyncClient(address) as client:
        if kind == "single":
            while True:
                await client.extract(frame, pipeline)
                if meter.count():
                    return
        elif kind == "many":
            async for _ in client.extract_many(meter.frames_until_done(frame), pipeline, in_flight=32):
                if meter.count():
                    return
        else:
            async with client.stream(pipeline) as stream:
                async for _ in stream.run(meter.frames_until_done(frame)):
                    if meter.count():
                        return


def read_pgm(path):
    data = pathlib.Path(path).read_bytes()
    magic, width, height, largest = data[:40].split()[:4]
    if magic != b"P5" or largest != b"255":
        sys.exit(f"{path} is no binary PGM of 8 bits")
    count = int(width) * int(height)
    return np.frombuffer(data[-count:], np.uint8).reshape(int(height), int(width))


def run_python(arguments):
    """In a process of its own: one client, one kind of load."""
    meter = Meter(arguments.seconds)
    frame = read_pgm(arguments.image)
    pipeline = orbserve.Orb(max_features=arguments.features)
    if arguments.client == "sync":
        python_sync(arguments.kind, arguments.address, frame, pipeline, meter)
    else:
        asyncio.run(python_asyncio(arguments.kind, arguments.address, frame, pipeline, meter))
    print(json.dumps(meter.result))
    # Whatever is still under way does not matter.
    sys.stdout.flush()
    os._exit(0)


def run_cpp(kind, address, arguments, folder):
    """The C++ client under the same load. Its processor time has its start in it, some 10 ms."""
    programs = pathlib.Path(arguments.build) / "bin"
    report = folder / "cpp.json"
    if kind == "stream":
        command = [programs / "stream_bench", "--server", address, "--http", "", "--image", arguments.image]
        command += ["--streams", "1", "--in-flight", "8", "--max-features", str(arguments.features)]
        command += ["--seconds", str(arguments.seconds), "--warm-up", "0", "--rounds", "1", "--json", report]
    elif kind == "single":
        command = [programs / "orbserve", "bench", "--server", address, "--json", "--concurrency", "1"]
        command += ["--duration", str(arguments.seconds), "--max-features", str(arguments.features), arguments.image]
    else:
        count = 400
        images = folder / "images"
        if not images.is_dir():
            images.mkdir()
            for i in range(count):
                (images / f"{i}.pgm").symlink_to(pathlib.Path(arguments.image).resolve())
        command = [programs / "orbserve", "extract", "--server", address, "--max-features", str(arguments.features)]
        command += ["--quiet", images]
    cpu, begin = processor_seconds(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    elapsed = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr}")
    used = processor_seconds(resource.RUSAGE_CHILDREN) - cpu
    if kind == "stream":
        frames = json.loads(report.read_text())["results"][0]["frames"]
        rate = json.loads(report.read_text())["results"][0]["frames_per_second"]
    elif kind == "single":
        result = json.loads(done.stdout)
        return {"frames_per_second": result["answered_per_s"], "client_ms": result["client_cpu_ms_per_frame"]}
    else:
        frames, rate = count, count / elapsed
    return {"frames_per_second": rate, "client_ms": used * 1e3 / frames}


def start(command, address):
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    for _ in range(500):
        with orbserve.Client(address) as client:
            try:
                client.health(timeout=1)
                return process
            except orbserve.UnavailableError:
                time.sleep(0.02)
            except orbserve.OrbserveError:
                return process  # the echo server has no health service
    sys.exit(f"{command[0]} does not serve")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="folder of the build (%(default)s)")
    parser.add_argument("--image", required=True, help="frame to send: a binary PGM of 8 bits")
    parser.add_argument("--features", type=int, default=1000, help="features wanted of a frame (%(default)s)")
    parser.add_argument("--seconds", type=float, default=4, help="measured time of a round (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each client (%(default)s)")
    parser.add_argument("--json", help="file to write the results to")
    parser.add_argument("--client", choices=("sync", "asyncio"), help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=("many", "single", "stream"), help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        run_python(arguments)

    programs = pathlib.Path(arguments.build) / "bin"
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server, echo = "127.0.0.1:50871", "127.0.0.1:50872"
        log = ["--log-level", "error"]
        processes = [
            start([programs / "orbserve-server", "--listen", server, "--http-listen", "", *log], server),
            start([programs / "echo_server", "--listen", echo, "--features", arguments.features], echo),
        ]
        try:
            loads = [("echo", "stream", echo), *(("server", kind, server) for kind in ("stream", "many", "single"))]
            measured = {}
            for _ in range(arguments.rounds):
                for target, kind, address in loads:
                    for client in ("C++", "sync", "asyncio"):
                        if client == "C++":
                            result = run_cpp(kind, address, arguments, folder)
                        else:
                            command = [sys.executable, __file__, "--client", client, "--kind", kind, "--address", address]
                            command += ["--image", arguments.image, "--features", arguments.features]
                            command += ["--seconds", arguments.seconds]
                            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
                            result = json.loads(done.stdout)
                        measured.setdefault((target, kind, client), []).append(result)
        finally:
            for process in processes:
                process.terminate()
                process.wait()
    print(f"{'target':8}{'load':8}{'client':9}{'frames/s':>10}{'client ms/frame':>17}   (median of {arguments.rounds} rounds)")
    for (target, kind, client), rounds in measured.items():
        row = {key: statistics.median(r[key] for r in rounds) for key in ("frames_per_second", "client_ms")}
        results.append({"target": target, "load": kind, "client": client, **row})
        print(f"{target:8}{kind:8}{client:9}{row['frames_per_second']:10.0f}{row['client_ms']:17.3f}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
