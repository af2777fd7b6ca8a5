#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Photographs of 1 to 67 megapixels, as JPEG files and as colour pixels, on servers with little memory, and small frames beside.

Starts a server in a memory cgroup of each size (root; version 1 or 2) and asks it for one photograph of each size. Those that it
answers fit. Callers then send the sizes that fit, each caller one call at a time, while one client sends 640x480 frames, ten a
second. Prints a line for each cgroup, kind and number of callers; the exit code is 1 if a photograph that fits was refused, the server
was killed, or a small frame failed or took over 500 ms.

  python bench/photo_memory.py --image PHOTO.jpg [--build build] [--mebibytes 256 512 1024 2048 4096] [--callers 1 2 8 32]
      [--kinds jpeg rgb] [--seconds 10] [--json FILE]
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import cv2
import grpc

SIZES = ((1224, 816), (1920, 1280), (2448, 1632), (3264, 2448), (5312, 2988), (7040, 4694), (8192, 8192))
SMALL = (640, 480)
SMALL_LIMIT_S = 0.5
CALL_LIMIT_S = 120
JPEG, GREY8, RGB8 = 1, 2, 3


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def requests_of(path):
    """By kind and size, the request of a photograph; and that of a small grey frame."""
    photo = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    large = {"jpeg": {}, "rgb": {}}
    for size in SIZES:
        scaled = cv2.resize(photo, size, interpolation=cv2.INTER_CUBIC)
        large["jpeg"][size] = block(15, number(1, JPEG) + block(15, cv2.imencode(".jpg", scaled)[1].tobytes()))
        large["rgb"][size] = pixels_request(RGB8, cv2.cvtColor(scaled, cv2.COLOR_GRAY2RGB))
    return large, pixels_request(GREY8, cv2.resize(photo, SMALL, interpolation=cv2.INTER_AREA))


def pixels_request(encoding, image):
    height, width = image.shape[:2]
    return block(15, number(1, encoding) + number(2, width) + number(3, height) + block(15, image.tobytes()))


class Cgroup:
    """Of this many bytes of memory. Removed at the end."""

    def __init__(self, limit):
        root = pathlib.Path("/sys/fs/cgroup")
        self.is_v1 = (root / "memory").is_dir()
        self.path = (root / "memory" if self.is_v1 else root) / f"orbserve-bench-{os.getpid()}"
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if self.is_v1 else "memory.max")).write_text(str(limit))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self):
        return int((self.path / ("memory.max_usage_in_bytes" if self.is_v1 else "memory.peak")).read_text())

    def remove(self):
        self.path.rmdir()


def channel_to(address):
    return grpc.insecure_channel(address, options=[
        ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
        ("grpc.use_local_subchannel_pool", 1)])  # fmt: skip


class Server:
    def __init__(self, build, limit):
        self.cgroup = Cgroup(limit)
        self.address = f"unix:/tmp/orbserve-bench-{os.getpid()}.sock"
        command = [build / "bin" / "orbserve-server", "--backend", "cpu", "--listen", self.address, "--http-listen", ""]
        self.process = subprocess.Popen([*command, "--log-level", "error"], preexec_fn=self.cgroup.enter)
        with self.channel() as channel:
            grpc.channel_ready_future(channel).result(timeout=30)

    def channel(self):
        return channel_to(self.address)

    def stop(self):
        """The most memory of its cgroup in bytes, and whether it ended as it should."""
        was_alive = self.process.poll() is None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait()
        peak = self.cgroup.peak()
        self.cgroup.remove()
        return peak, was_alive and code == 0


def call(channel, request, client, timeout):
    """Nothing, or what is wrong."""
    extract = channel.unary_unary("/orbserve.v1.Features/Extract")
    try:
        extract(request, timeout=timeout, metadata=[("x-client-id", client)])
        return None
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"


def send_small(address, seconds):
    """Sends the request on standard input, ten times a second; prints how long each took, and what failed."""
    small = sys.stdin.buffer.read()
    small_s, failed = [], collections.Counter()
    with channel_to(address) as channel:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            error = call(channel, small, "small", 5)
            small_s.append(time.monotonic() - begin)
            if error is not None:
                failed[error] += 1
            time.sleep(max(0.0, begin + 0.1 - time.monotonic()))
    print(json.dumps({"seconds": small_s, "failed": failed}))
    return 0


def run(server, large, small, callers, seconds):
    end = time.monotonic() + seconds
    lock = threading.Lock()
    done, refused = collections.Counter(), collections.Counter()

    def send_photographs(caller):
        with server.channel() as channel:
            turn = caller
            while time.monotonic() < end:
                size = list(large)[turn % len(large)]
                turn += 1
                error = call(channel, large[size], f"caller {caller}", CALL_LIMIT_S)
                with lock:
                    (done if error is None else refused)[size if error is None else f"{size[0]}x{size[1]}: {error}"] += 1

    threads = [threading.Thread(target=send_photographs, args=(i,)) for i in range(callers)]
    # A process of its own: what this one does with the photographs would delay it.
    beside = subprocess.Popen([sys.executable, __file__, "--small", server.address, "--seconds", str(seconds)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    for thread in threads:
        thread.start()
    answer = json.loads(beside.communicate(small)[0])
    small_s, small_failed = answer["seconds"], answer["failed"]
    for thread in threads:
        thread.join()
    pixels = sum(size[0] * size[1] * count for size, count in done.items())
    passed_s = time.monotonic() - end + seconds
    small_s.sort()
    return {"answered": sum(done.values()), "refused": sum(refused.values()), "refusals": dict(refused),
            "frames_per_s": sum(done.values()) / passed_s, "megapixels_per_s": pixels / 1e6 / passed_s,
            "small": len(small_s), "small_failed": dict(small_failed),
            "small_median_ms": 1e3 * small_s[len(small_s) // 2],
            "small_p99_ms": 1e3 * small_s[int(0.99 * len(small_s))], "small_max_ms": 1e3 * small_s[-1]}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=pathlib.Path)
    parser.add_argument("--small", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--mebibytes", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 2, 8, 32])
    parser.add_argument("--kinds", nargs="+", choices=["jpeg", "rgb"], default=["jpeg", "rgb"])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.small:
        return send_small(options.small, options.seconds)
    if not options.image:
        parser.error("--image is missing")
    large, small = requests_of(options.image)
    results, failed = [], False
    for mebibytes, kind in itertools.product(options.mebibytes, options.kinds):
        fits, reasons = {}, {}
        for size, request in large[kind].items():
            # A server of its own, so that nothing that is kept of another size is in the way.
            server = Server(options.build, mebibytes << 20)
            with server.channel() as channel:
                error = call(channel, request, "first", CALL_LIMIT_S)
            peak, is_well = server.stop()
            failed |= not is_well
            if error is None:
                fits[size] = request
            else:
                reasons[f"{size[0]}x{size[1]}"] = error
        most = max((w * h for w, h in fits), default=0) / 1e6
        print(f"{mebibytes} MiB, {kind}: up to {most:.1f} megapixels fit", *(f"  {k}: {v}" for k, v in reasons.items()), sep="\n")
        for callers in options.callers if fits else ():
            server = Server(options.build, mebibytes << 20)
            result = run(server, fits, small, callers, options.seconds)
            peak, is_well = server.stop()
            result |= {"mebibytes": mebibytes, "kind": kind, "callers": callers, "peak_mebibytes": peak >> 20,
                       "ended_well": is_well}  # fmt: skip
            results.append(result)
            is_late = result["small_max_ms"] > 1e3 * SMALL_LIMIT_S
            failed |= bool(result["refused"] or result["small_failed"] or is_late or not is_well)
            print(f"  {callers:3} callers: {result['answered']:5} answered, {result['refused']:4} refused, "
                  f"{result['frames_per_s']:.1f} frames/s, {result['megapixels_per_s']:.0f} Mpx/s, "
                  f"peak {peak >> 20:5} MiB; small: {result['small']} of {result['small_median_ms']:.0f} ms, "
                  f"p99 {result['small_p99_ms']:.0f}, at most {result['small_max_ms']:.0f} ms, "
                  f"{sum(result['small_failed'].values())} failed", flush=True)  # fmt: skip
            for text in result["refusals"]:
                print(f"      {text}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
