#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Does the share of busy processors tell an autoscaler when a server is too small, and when it is too large?

Robots send one photograph (JPEG) a period each, with its own phase, to servers with one thread each; a real Prometheus scrapes
them and evaluates deploy/prometheus/rules.yml. Two parts:

  ramp        more and more robots at one server. For each step: frames/s, median and p99 of the answers, p99 of the frames by
              the server's clock, the signal (instance:orbserve_load:ratio_rate1m), the time that a frame waits, the stage in
              which it waits longest, and what the stages of a frame miss of its duration. Then the robots stop, until the
              signal is that of an idle server.
  controller  few robots, many, few. A controller sets the number of servers from the signal's mean as the autoscaler of
              deploy/kubernetes/ does, which has a rule for ups and one for downs; the latter are shorter here.

The exit code is 1 unless the stages add up within 5 %, the signal is over its target before the server's p99 has doubled (that
of the answers also tells of a machine that has no time for the robots), it returns to IDLE, the controller adds servers when robots come and takes all of them away when they go, never the other way, and no call
fails.

  python3 bench/scaling.py --image PHOTO.jpg [--build build] [--robots 1,2,4,...] [--fps 5] [--most 12] [--cores C]
      [--only ramp|controller] [--json FILE]

Needs Prometheus (script/packages promtool) and grpcio. --cores limits each server to a part of a processor, by a cgroup, so
that several fit on a small machine; it needs root.
"""

import argparse
import asyncio
import collections
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import time

import grpc.aio

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "monitoring"), str(ROOT / "tests" / "attacks")]
from honest import field  # noqa: E402
from prometheus_test import Prometheus  # noqa: E402
from servers import Server  # noqa: E402

SIGNAL = "instance:orbserve_load:ratio_rate1m"
WAIT = "instance:orbserve_wait_seconds:mean_rate1m"
BY_STAGE = "instance_stage:orbserve_wait_seconds:mean_rate1m"
WINDOW_S = 65  # the rule looks at a minute
TARGET = 0.5
ROBOTS_CORES = 0.6  # with Prometheus
IDLE = 0.005
SLACK = 0.05
PARTS = (
    "admit", "decode_queue", "decode", "queue", "upload", "compute", "download", "track_queue", "track", "match_queue", "match",
    "encode", "send",
)  # fmt: skip
# The autoscaler's behaviour. Its downs wait ten minutes and come every two.
LOOK_S, UP_EVERY_S, UP_MOST, DOWN_AFTER_S, DOWN_EVERY_S, TOLERANCE = 5, 30, 2, 60, 20, 0.1


def make_cgroup(name, cores):
    """A cgroup that has a part of a processor, and has it before other programs do."""
    quota_us = 5000  # more than the time for which the kernel lets another program finish its turn
    period_us = int(quota_us / cores)
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        folder = root / name
        folder.mkdir(exist_ok=True)
        (folder / "cpu.max").write_text(f"{quota_us} {period_us}")
        (folder / "cpu.weight").write_text("10000")
    else:
        folder = root / "cpu" / name
        folder.mkdir(exist_ok=True)
        (folder / "cpu.cfs_period_us").write_text(str(period_us))
        (folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        (folder / "cpu.shares").write_text("100000")
    return folder


class Fleet:
    """The servers, and the robots that call them in turn."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.prometheus = Prometheus(str(ROOT), folder, shorten=False)
        self.servers, self.channels, self.cgroups = [], [], []
        self.made = self.turn = self.failed = 0
        self.answers = collections.deque(maxlen=100_000)  # (when, seconds)
        photo = pathlib.Path(options.image).read_bytes()
        self.request = field(15, field(1, 1) + field(15, photo))
        self.robots = []

    async def add_server(self):
        self.made += 1
        command = [os.path.join(self.options.build, "bin", "orbserve-server")]
        if self.options.cores is not None:
            self.cgroups.append(make_cgroup(f"orbserve-scaling-{os.getpid()}-{self.made}", self.options.cores))
            command = ["sh", "-c", f'echo $$ > {self.cgroups[-1]}/cgroup.procs; exec "$0" "$@"', *command]
        server = await asyncio.to_thread(Server, command[0], self.folder, f"server-{self.made}", arguments=command[1:])
        self.servers.append(server)
        self.channels.append(grpc.aio.insecure_channel(server.address))
        self.prometheus.watch(server.name, server.http_address)

    async def remove_server(self):
        server, channel = self.servers.pop(), self.channels.pop()
        del self.prometheus.targets[server.name]
        self.prometheus.write_targets()
        await channel.close(grace=10)
        server.stop()

    async def robot(self, phase):
        period = 1 / self.options.fps
        due = time.monotonic() + phase * period
        while True:
            await asyncio.sleep(max(0, due - time.monotonic()))
            self.turn += 1
            call = self.channels[self.turn % len(self.channels)].unary_unary("/orbserve.v1.Features/Extract")
            begin = time.monotonic()
            try:
                await call(self.request, timeout=60)
                self.answers.append((time.monotonic(), time.monotonic() - begin))
            except grpc.aio.AioRpcError:
                self.failed += 1
            # A camera drops frames that its robot is too late for.
            due += period * max(1, math.ceil((time.monotonic() - due) / period))

    def set_robots(self, count):
        while len(self.robots) > count:
            self.robots.pop().cancel()
        while len(self.robots) < count:
            # The golden ratio spreads phases evenly.
            self.robots.append(asyncio.create_task(self.robot(len(self.robots) * 0.618 % 1)))

    def times(self, seconds):
        begin = time.monotonic() - seconds
        return sorted(took for when, took in self.answers if when > begin)

    async def values(self, series):
        """By instance and stage."""
        found = await asyncio.to_thread(self.prometheus.query, series)
        alive = {server.name for server in self.servers}
        return {
            (each["metric"]["instance"], each["metric"].get("stage", "")): float(each["value"][1])
            for each in found
            if each["metric"].get("instance") in alive
        }

    async def signal(self, series=SIGNAL):
        values = await self.values(series)
        return sum(values.values()) / len(values) if values else 0.0

    async def stop(self):
        self.set_robots(0)
        for channel in self.channels:
            await channel.close()
        for server in self.servers:
            server.stop()
        self.prometheus.stop()
        for folder in self.cgroups:
            folder.rmdir()


def quantile(times, q):
    return times[min(len(times) - 1, int(q * len(times)))] if times else math.nan


def frame_seconds(page):
    """Sum of the frames' durations, and of their parts."""

    def total(pattern):
        return sum(float(value) for value in re.findall(pattern + r" (\S+)$", page, re.MULTILINE))

    whole = total(r"^orbserve_frame_duration_seconds_sum\S*")
    parts = sum(total(rf'^orbserve_stage_duration_seconds_sum\{{\S*stage="{part}"\S*\}}') for part in PARTS)
    return whole, parts


def frame_p99(before, after):
    """Of the frames between two pages, seconds; linear within a bucket."""

    def counts(page):
        found = re.findall(r'^orbserve_frame_duration_seconds_bucket\{\S*le="(\S+?)"\S*\} (\S+)$', page, re.MULTILINE)
        sums = collections.Counter()
        for bound, count in found:
            sums[float(bound)] += float(count)
        return sums

    old, new = counts(before), counts(after)
    bounds = sorted(new)
    grown = [new[bound] - old[bound] for bound in bounds]
    rank = 0.99 * grown[-1]
    i = next(i for i, count in enumerate(grown) if count >= rank)
    low, below = (bounds[i - 1], grown[i - 1]) if i > 0 else (0.0, 0.0)
    return low + (bounds[i] - low) * (rank - below) / max(grown[i] - below, 1)


async def ramp(fleet, steps):
    await fleet.add_server()
    server = fleet.servers[0]
    rows = []
    print("robots | frames/s | median ms | p99 ms | server's | signal | wait ms | most of it | parts miss", flush=True)
    for robots in steps:
        fleet.set_robots(robots)
        await asyncio.sleep(3)
        before = await asyncio.to_thread(server.get, "/metrics")
        await asyncio.sleep(WINDOW_S)
        after = await asyncio.to_thread(server.get, "/metrics")
        times = fleet.times(60)
        stages = await fleet.values(BY_STAGE)
        whole, parts = (b - a for a, b in zip(frame_seconds(before), frame_seconds(after)))
        row = {
            "robots": robots, "frames_per_second": len(times) / 60, "median_s": quantile(times, 0.5), "p99_s": quantile(times, 0.99),
            "frame_p99_s": frame_p99(before, after), "signal": await fleet.signal(), "wait_s": await fleet.signal(WAIT), "stage": max(stages, key=stages.get)[1] if stages else "",
            "missing": 1 - parts / whole if whole > 0 else math.nan,
        }  # fmt: skip
        rows.append(row)
        print(
            f"{robots} | {row['frames_per_second']:.1f} | {1e3 * row['median_s']:.1f} | {1e3 * row['p99_s']:.1f} | {1e3 * row['frame_p99_s']:.1f} | "
            f"{row['signal']:.2f} | {1e3 * row['wait_s']:.1f} | {row['stage']} | {100 * row['missing']:.2f} %",
            flush=True,
        )
    fleet.set_robots(0)
    begin = time.monotonic()
    while await fleet.signal() > IDLE and time.monotonic() - begin < 180:
        await asyncio.sleep(1)
    idle_s = time.monotonic() - begin
    print(f"the signal is {await fleet.signal():.3f} after {idle_s:.0f} s without robots", flush=True)
    doubled = next((row["robots"] for row in rows if row["frame_p99_s"] > 2 * rows[0]["frame_p99_s"]), None)
    crossed = next((row["robots"] for row in rows if row["signal"] > TARGET), None)
    print(f"p99 has doubled at {doubled} robots; the signal is over {TARGET} at {crossed}", flush=True)
    faults = [f"the parts of a frame miss {row['missing']:.1%} with {row['robots']} robots" for row in rows if not abs(row["missing"]) < SLACK]
    if crossed is None or (doubled is not None and doubled <= crossed):
        faults.append("p99 doubles before the signal is over its target")
    if await fleet.signal() > IDLE:
        faults.append("the signal does not return to that of an idle server")
    await fleet.remove_server()
    return {"rows": rows, "idle_s": idle_s}, faults


class Controller:
    """The rule of a horizontal autoscaler: as many servers as bring the mean of the signal to its target."""

    def __init__(self, fleet, most):
        self.fleet, self.most = fleet, most
        self.wanted = collections.deque()  # (when, servers) of the last DOWN_AFTER_S
        self.last_up = self.last_down = 0.0

    async def look(self):
        now, count = time.monotonic(), len(self.fleet.servers)
        ratio = await self.fleet.signal() / TARGET
        wanted = count if abs(ratio - 1) <= TOLERANCE else math.ceil(count * ratio)
        wanted = min(max(wanted, 1), self.most)
        self.wanted.append((now, wanted))
        while now - self.wanted[0][0] > DOWN_AFTER_S:
            self.wanted.popleft()
        if wanted > count and now - self.last_up >= UP_EVERY_S:
            self.last_up = now
            for _ in range(min(UP_MOST, wanted - count)):
                await self.fleet.add_server()
        # The most that was wanted lately counts.
        elif max(each for _, each in self.wanted) < count and now - max(self.last_up, self.last_down) >= DOWN_EVERY_S:
            self.last_down = now
            await self.fleet.remove_server()


async def control(fleet, few, many, most):
    await fleet.add_server()
    controller = Controller(fleet, most)
    begin = time.monotonic()
    rows = []
    print("second | robots | servers | signal | median ms | p99 ms of 10 s", flush=True)
    for robots, seconds in ((few, 90), (many, 240), (few, 240)):
        fleet.set_robots(robots)
        end = time.monotonic() + seconds
        next_row = time.monotonic() + 10
        while time.monotonic() < end:
            await asyncio.sleep(LOOK_S)
            await controller.look()
            if time.monotonic() < next_row:
                continue
            next_row += 10
            times = fleet.times(10)
            row = {"second": time.monotonic() - begin, "robots": robots, "servers": len(fleet.servers), "signal": await fleet.signal(), "p99_s": quantile(times, 0.99)}
            rows.append(row)
            print(
                f"{row['second']:.0f} | {robots} | {row['servers']} | {row['signal']:.2f} | {1e3 * quantile(times, 0.5):.1f} | {1e3 * row['p99_s']:.1f}",
                flush=True,
            )
    print(f"{fleet.failed} calls failed", flush=True)
    faults = []
    if max(row["servers"] for row in rows) == 1:
        faults.append("no server was added")
    changes = [(row["robots"], row["servers"] - before["servers"]) for before, row in zip(rows, rows[1:])]
    if any(change < 0 if robots == many else change > 0 for robots, change in changes):
        faults.append("servers come and go under a steady load")
    if fleet.failed:
        faults.append(f"{fleet.failed} calls failed")
    if rows[-1]["servers"] > 1:
        faults.append(f"{rows[-1]['servers']} servers are left")
    return {"rows": rows, "failed": fleet.failed}, faults


async def run(options):
    result, faults = {}, []
    if options.cores is not None:
        # The robots have their time, too, as on machines of their own.
        robots = make_cgroup(f"orbserve-scaling-{os.getpid()}-robots", ROBOTS_CORES)
        (robots / "cgroup.procs").write_text(str(os.getpid()))
    for part in ("ramp", "controller"):
        if options.only not in (None, part):
            continue
        with tempfile.TemporaryDirectory(prefix="orbserve-scaling-") as folder:
            fleet = Fleet(options, folder)
            try:
                if part == "ramp":
                    result[part], more = await ramp(fleet, options.robots)
                else:
                    result[part], more = await control(fleet, options.robots[0], options.robots[-1], options.most)
                faults += more
            finally:
                await fleet.stop()
    if options.cores is not None:
        (robots.parent / "cgroup.procs").write_text(str(os.getpid()))
        robots.rmdir()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    for fault in faults:
        print(f"FAILED: {fault}", flush=True)
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--image", required=True)
    parser.add_argument("--build", default="build")
    parser.add_argument("--robots", type=lambda text: [int(each) for each in text.split(",")], default=[1, 2, 4, 6, 8, 12, 16])
    parser.add_argument("--fps", type=float, default=5)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--cores", type=float)
    parser.add_argument("--only", choices=["ramp", "controller"])
    parser.add_argument("--json")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
