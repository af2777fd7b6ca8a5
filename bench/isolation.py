#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A robot with small frames and a deadline beside many callers with large frames, on one server.

Starts a server of a build. The robot sends 640x480 frames of a pan over the image at 30 frames/s (`orbserve stream --track`)
and wants each result in 30 ms; the callers send 1920x1080 frames with 5,000 features each (`orbserve bench`). Runs the robot
alone, the callers alone, and both. Prints the robot's frames in time, the parts of their time on the server and what no part
accounts for, and the callers' rate. The exit code is 1 if the parts of a frame do not add up to its total within 5%.

  python bench/isolation.py --image PHOTO.pgm [--build build] [--callers 32] [--seconds 5] [--pipeline vio] [--deadline-ms 30]
      [--backend cpu|cuda] [--json FILE]

PHOTO.pgm: grey, 1920x1080 or larger.
"""

import argparse
import json
import math
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

FPS = 30
SMALL, LARGE = (640, 480), (1920, 1080)
PARTS = (
    "admit", "decode_queue", "decode", "queue", "upload", "compute", "download", "track_queue", "track", "match_queue", "match",
    "send",
)  # fmt: skip
SLACK = 0.05  # of a frame's total that may be in no part


def read_pgm(path):
    data = path.read_bytes()
    fields, at = [], 0
    while len(fields) < 4:
        end = next(i for i in range(at, len(data)) if data[i : i + 1].isspace())
        if end > at:
            fields.append(data[at:end])
        at = end + 1
    if fields[0] != b"P5" or fields[3] != b"255":
        raise SystemExit(f"{path} is no binary PGM of 8 bits without comments")
    return int(fields[1]), int(fields[2]), data[at:]


def write_window(path, image, left, top, size):
    width, _, pixels = image
    rows = (pixels[(top + y) * width + left :][: size[0]] for y in range(size[1]))
    path.write_bytes(b"P5\n%d %d\n255\n" % size + b"".join(rows))


def write_frames(folder, image, count):
    """A pan once round over the image, so that neighbouring frames are some pixels apart."""
    width, height, _ = image
    for i in range(count):
        turn = 2 * math.pi * i / 60
        left = (width - SMALL[0]) // 2 + round(40 * math.cos(turn))
        top = (height - SMALL[1]) // 2 + round(25 * math.sin(turn))
        write_window(folder / f"{i:05}.pgm", image, left, top, SMALL)


class Server:
    def __init__(self, build, folder, backend):
        self.address = f"unix:{folder / 'server.sock'}"
        command = [build / "bin" / "orbserve-server", "--backend", backend, "--listen", self.address, "--log-level", "warning"]
        self.process = subprocess.Popen(command)
        check = [build / "bin" / "orbserve", "health", "--server", self.address]
        while subprocess.run(check, capture_output=True).returncode != 0:
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def start_robot(options, address, frames):
    command = [options.build / "bin" / "orbserve", "stream", "--server", address, "--track", "--json", "--quiet"]
    command += ["--pipeline", options.pipeline, "--fps", str(FPS)]
    command += ["--deadline-ms", str(options.deadline_ms), frames]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def start_callers(options, address, image, seconds):
    command = [options.build / "bin" / "orbserve", "bench", "--server", address, "--json", "--quiet", "--client-id", "callers"]
    command += ["--concurrency", str(options.callers), "--max-features", "5000", "--duration", str(seconds), image]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def robot_figures(listing):
    rows = [json.loads(line) for line in listing.splitlines()]
    done = [row["timings_ms"] for row in rows if "error" not in row]
    parts = {part: statistics.mean(t[part] for t in done) if done else 0.0 for part in PARTS}
    total = statistics.mean(t["total"] for t in done) if done else 0.0
    apart = max((abs(1 - sum(t[part] for part in PARTS) / t["total"]) for t in done), default=0.0)
    return {"frames": len(rows), "in_time": len(done), "total_ms": total, "parts_ms": parts,
            "in_no_part_ms": total - sum(parts.values()), "most_in_no_part": apart}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--callers", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--pipeline", default="vio")
    parser.add_argument("--deadline-ms", type=int, default=30)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    image = read_pgm(options.image)
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "frames").mkdir()
        write_frames(folder / "frames", image, round(FPS * options.seconds))
        write_window(folder / "large.pgm", image, (image[0] - LARGE[0]) // 2, (image[1] - LARGE[1]) // 2, LARGE)
        server = Server(options.build, folder, options.backend)
        try:
            for case in ("robot", "callers", "both"):
                callers = robot = None
                if case != "robot":
                    callers = start_callers(options, server.address, folder / "large.pgm", options.seconds + 1)
                    time.sleep(1.5)  # its warm-up, and half a second
                if case != "callers":
                    robot = start_robot(options, server.address, folder / "frames")
                result = results[case] = {}
                if robot is not None:
                    result["robot"] = robot_figures(robot.communicate()[0])
                if callers is not None:
                    result["callers"] = json.loads(callers.communicate()[0].splitlines()[0])
                show(case, result)
        finally:
            server.stop()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    apart = [result["robot"]["most_in_no_part"] for result in results.values() if "robot" in result]
    return 1 if max(apart) > SLACK else 0


def show(case, result):
    print(f"\n{case}")
    if robot := result.get("robot"):
        parts = ", ".join(f"{part} {ms:.2f}" for part, ms in robot["parts_ms"].items() if ms >= 0.005)
        print(f"  robot: {robot['in_time']} of {robot['frames']} in time; mean of these {robot['total_ms']:.2f} ms:")
        print(f"         {parts}, in no part {robot['in_no_part_ms']:.2f} (a frame: up to {robot['most_in_no_part']:.1%})")
    if callers := result.get("callers"):
        print(f"  callers: {json.dumps(callers)[:300]}")


if __name__ == "__main__":
    sys.exit(main())
