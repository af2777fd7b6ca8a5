#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Streams over bad links: ages of answers, one result a frame, and the time until a silent cut is noticed.

  python bench/link.py [--build build] [--shows ages,cuts] [--links NAME,...] [--seconds S] [--deadline-ms MS]
      [--policy newest|oldest|block] [--jpeg-age S] [--cuts N] [--clients program,c++,python,asyncio]
      [--client NAME=COMMAND]...

Starts the real server, a relay (link_relay.py) and each client, which sends frames of 640x480 at 30 a second: raw ones, or
with --jpeg-age JPEG files.

ages: a line for each client and link: frames, results, answers in time, dropped, late, lost; age of the answers, as the
  client says and as seen from here, which must not exceed the deadline by more than 50 ms.
cuts: time from a silent cut to the event that tells of it, idle and at 30 frames a second; at most 3 s.

The clients are the program, the C++ library (link_client of the build) and the Python package (link_client.py), which this
Python has to find. --client adds another one. COMMAND is a line for the shell with {server}, {policy}, {deadline_ms},
{jpeg_age} (0: raw frames), {seconds}, {fps}, {width} and {height}. The client
connects again after losses, prints each result as a line of JSON as `orbserve stream --json` does (`sequence`,
`timestamp_ns` = index / fps, `age_ms`, `round_trip_ms`, `error`.`reason`), prints "connection is lost" and "connected again"
on standard error, and sends one frame and then none where {fps} is 0. The exit code is 1 if a line misses its aim.
"""

import argparse
import json
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

import link_relay

FPS = 30
SLACK_MS = 50
ARGUMENTS = (
    "--server {server} --policy {policy} --deadline-ms {deadline_ms} --jpeg-age {jpeg_age} --seconds {seconds} --fps {fps} "
    "--width {width} --height {height}"
)
NOTICE_S = 3.0

# Name: rate in Mbit/s, delay of each direction in ms, and what happens in the middle: (seconds, command) pairs.
LINKS = {
    "plain": (0, 0, ()),
    "far": (0, 100, ()),
    "narrow": (20, 0, ()),
    "narrow-far": (20, 100, ()),
    "stall": (20, 100, ((5, "stall"), (10, "go"))),
    "silent": (20, 100, ((5, "silent"), (5, "go"))),
    "hard": (20, 100, ((3, "hard"), (4, "hard"))),
}


def write_photograph(path, width=1600, height=1200):
    """A grey image of random rectangles."""
    draw = random.Random(1)
    rows = [bytearray(b"\x80" * width) for _ in range(height)]
    for _ in range(4000):
        x, y, w, h = draw.randrange(width), draw.randrange(height), draw.randrange(4, 60), draw.randrange(4, 60)
        for row in rows[y : y + h]:
            row[x : x + w] = bytes([draw.randrange(256)]) * len(row[x : x + w])
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + b"".join(rows))


class Client:
    """A process whose results and events are kept with their times."""

    def __init__(self, command, first_input=b""):
        self.results = []  # (time, row)
        self.events = []  # (time, text)
        self.changed = threading.Condition()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes)
        self.process.stdin.write(first_input)
        self.process.stdin.flush()
        self.threads = [threading.Thread(target=part, daemon=True) for part in (self._results, self._events)]
        for thread in self.threads:
            thread.start()

    def _keep(self, kept, value):
        now = time.monotonic()
        with self.changed:
            kept.append((now, value))
            self.changed.notify_all()

    def _results(self):
        for line in self.process.stdout:
            self._keep(self.results, json.loads(line))

    def _events(self):
        for line in self.process.stderr:
            self._keep(self.events, line.decode(errors="replace").strip())

    def wait_for_result(self, limit_s=30):
        with self.changed:
            return self.changed.wait_for(lambda: self.results, limit_s)

    def wait_for_event(self, text, after, limit_s=30):
        """The time of the first such event after `after`; None without one."""

        def found():
            return next((at for at, event in self.events if at > after and text in event), None)

        with self.changed:
            return self.changed.wait_for(found, limit_s)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for thread in self.threads:
            thread.join()


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.photo = folder / "photo.pgm"
        write_photograph(self.photo)
        command = [options.build / "bin" / "orbserve-server", "--listen", "127.0.0.1:0", "--http-listen", ""]
        self.server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        found = (re.search(r"event=serving .* port=(\d+) ", line) for line in self.server.stderr)
        self.port = int(next(match for match in found if match)[1])
        threading.Thread(target=self.server.stderr.read, daemon=True).start()

    def program(self, fps, width, height, seconds, policy, deadline_ms):
        """The command `orbserve stream`, and what it reads first."""
        command = [self.options.build / "bin" / "orbserve", "stream", "--json", "--reconnect", "600"]
        command += ["--server", "{server}", "--drop-policy", policy]
        if deadline_ms:
            command += ["--deadline-ms", str(deadline_ms)]
        if self.options.jpeg_age:
            command += ["--jpeg-age", str(self.options.jpeg_age)]
        if fps == 0:
            return [*command, "-"], b"YUV4MPEG2 W%d H%d Cmono\nFRAME\n" % (width, height) + bytes(width * height)
        command += ["--simulate", str(self.photo), "--size", f"{width}x{height}", "--fps", str(fps)]
        return [*command, "--frames", str(int(seconds * fps))], b""

    def start(self, name, server, fps=FPS, width=640, height=480, seconds=1e6):
        policy, deadline_ms = self.options.policy, self.options.deadline_ms
        if name == "program":
            command, first_input = self.program(fps, width, height, seconds, policy, deadline_ms)
            return Client([str(part).format(server=server) for part in command], first_input)
        values = {"fps": fps, "width": width, "height": height, "seconds": seconds, "policy": policy}
        values["jpeg_age"] = self.options.jpeg_age
        text = self.options.client[name].format(server=server, deadline_ms=deadline_ms, **values)
        return Client(shlex.split(text))

    def ages(self, name, link):
        rate, delay, happenings = LINKS[link]
        relay = link_relay.Relay(("127.0.0.1", self.port), rate_mbit=rate, delay_ms=delay)
        client = self.start(name, relay.address, seconds=self.options.seconds)
        client.wait_for_result()
        for wait_s, command in happenings:
            time.sleep(wait_s)
            getattr(relay, command)()
        try:
            client.process.wait(self.options.seconds + 60)
        except subprocess.TimeoutExpired:
            client.end()
        for thread in client.threads:
            thread.join()
        relay.close()
        return self.judge(name, link, client)

    def judge(self, name, link, client):
        frames = int(self.options.seconds * FPS)
        rows = [row for _, row in client.results]
        reasons = [row.get("error", {}).get("reason", "OK") for row in rows]
        ages = [row["age_ms"] for row, reason in zip(rows, reasons) if reason == "OK"]
        # When a frame was captured, by its index, is known up to one offset: the smallest makes the ages oldest.
        offset = min((at - row["timestamp_ns"] / 1e9 - row["age_ms"] / 1e3 for at, row in client.results), default=0)
        outside = [
            (at - row["timestamp_ns"] / 1e9 - offset) * 1e3
            for (at, row), reason in zip(client.results, reasons)
            if reason == "OK"
        ]
        limit = self.options.deadline_ms + SLACK_MS if self.options.deadline_ms else float("inf")
        dropped = reasons.count("DROPPED")
        told = [event for _, event in client.events if " dropped" in event and "frames," in event]
        announced = int(told[-1].split(" dropped")[0].rsplit(" ", 1)[1]) if told else 0
        problems = []
        if [row["sequence"] for row in rows] != list(range(frames)):
            problems.append(f"not one result a frame: {len(rows)} of {frames}")
        if max(outside, default=0) > limit:
            problems.append("too old")
        if not ages:
            problems.append("none in time")
        if name == "program" and announced != dropped:
            problems.append(f"{announced} drops announced")
        ages.sort()
        middle, oldest = (ages[len(ages) // 2], ages[-1]) if ages else (0.0, 0.0)
        counts = [reasons.count("OK"), dropped, reasons.count("DEADLINE_EXCEEDED")]
        print(
            f"{name:9} {link:11} {self.options.policy:6} {self.options.deadline_ms:5} ms  {frames:5} frames {len(rows):5} results  "
            "OK {:5} dropped {:5} late {:5} ".format(*counts)
            + f"lost {len(rows) - sum(counts):3}  age p50 {middle:6.0f} max {oldest:6.0f}, from outside {max(outside, default=0):6.0f} ms"
            f"  {'; '.join(problems) or 'good'}",
            flush=True,
        )
        return not problems

    def cuts(self, name, fps):
        count = self.options.cuts
        abreast = min(5, count)
        relay = link_relay.Relay(("127.0.0.1", self.port))
        clients = [self.start(name, relay.address, fps=fps, width=160, height=120) for _ in range(abreast)]
        times = []
        for client in clients:
            client.wait_for_result()
        for _ in range(count // abreast):
            time.sleep(random.uniform(0.5, 3))
            cut = time.monotonic()
            relay.silent()
            noticed = [client.wait_for_event("connection is lost", cut) for client in clients]
            times += [at - cut if at else float("inf") for at in noticed]
            relay.go()
            for client in clients:
                client.wait_for_event("connected again", cut)
        for client in clients:
            client.end()
        relay.close()
        times.sort()
        good = times[-1] <= NOTICE_S
        what = f"{fps} frames/s" if fps else "idle"
        middle = times[len(times) // 2]
        print(
            f"{name:9} silent cut, {what:11} {len(times):3} cuts  noticed after {times[0]:.2f} to {times[-1]:.2f} s, "
            f"p50 {middle:.2f} s  {'good' if good else 'too late'}",
            flush=True,
        )
        return good

    def end(self):
        self.server.terminate()
        self.server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--shows", default="ages,cuts")
    parser.add_argument("--links", default=",".join(LINKS))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--deadline-ms", type=int, default=500)
    parser.add_argument("--policy", default="newest", choices=["newest", "oldest", "block"])
    parser.add_argument("--jpeg-age", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--client", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--clients", default="program,c++,python,asyncio")
    options = parser.parse_args()
    given = dict(text.split("=", 1) for text in options.client)
    names = [name for name in options.clients.split(",") if name] + list(given)
    python = shlex.join([sys.executable, str(pathlib.Path(__file__).with_name("link_client.py"))])
    library = shlex.quote(str(options.build / "bin" / "link_client"))
    commands = {"c++": library, "python": python, "asyncio": f"{python} --asyncio"}
    options.client = {name: f"{command} {ARGUMENTS}" for name, command in commands.items()} | given
    good = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        try:
            if "ages" in options.shows:
                good += [bench.ages(name, link) for name in names for link in options.links.split(",")]
            if "cuts" in options.shows:
                good += [bench.cuts(name, fps) for name in names for fps in (0, FPS)]
        finally:
            bench.end()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
