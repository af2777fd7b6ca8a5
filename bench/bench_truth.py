#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Compares `orbserve bench` with the truth: rates, and latencies of a queue whose waits are known.

  bench_truth.py BUILD/bin SMALL_IMAGE [SECONDS]

echo_server serves one frame at a time, for a known time. With the arrivals of the load generator, which are the same in every
run, the latency of each frame follows (Lindley's recursion). Exit code 1: a rate is off by more than 1 %, a percentile by more
than 2 %, or the open loop does not show the queue.

Both programs wait for their turn on a processor like any other. On a machine with other work a wait of milliseconds is part of the
true latency and absent from the computed one; the indented lines say where it arose. `chrt -f 1 bench_truth.py ...` keeps it out.
"""

import json
import math
import socket
import subprocess
import sys
import time

SERVICE_MS = 200.0  # long beside the jitter of a call
WARM_UP_S = 1.0
MASK = (1 << 64) - 1


def poisson(rate, until_s):
    """Start times of the frames, as client/cli/load/arrivals.cc makes them."""
    state, at, times = 0x62656E6368212121, 0.0, []
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        value = state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
        value ^= value >> 31
        at -= math.log(((value >> 11) + 1) * 2.0**-53) / rate
        if at >= until_s:
            return times
        times.append(at)


def constant(rate, until_s):
    return [i / rate for i in range(math.ceil(until_s * rate)) if i / rate < until_s]


def latencies(times, from_s, service_ms):
    """Latency of each frame that starts at `from_s` or later, milliseconds, sorted."""
    free, result = 0.0, []
    for at in times:
        free = max(free, at) + service_ms / 1e3
        if at >= from_s:
            result.append((free - at) * 1e3)
    return sorted(result)


def percentile(values, percent):
    return values[max(math.ceil(percent / 100 * len(values)) - 1, 0)]


def main():
    folder, image = sys.argv[1], sys.argv[2]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 30.0
    failures = []

    def bench(address, *arguments):
        command = [f"{folder}/orbserve", "bench", "--json", "--server", address, "--duration", str(seconds),
                   "--warm-up", str(WARM_UP_S), *arguments, image]
        return [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]

    def compare(name, measured, truth, allowed):
        off = abs(measured / truth - 1)
        print(f"{name:44} measured {measured:10.3f}  truth {truth:10.3f}  off {100 * off:6.2f} %")
        if off > allowed:
            failures.append(name)

    def explain(row):
        late, server = row["late_ms"], row["server_ms"]
        for key in ("p50", "p90", "p99"):
            print(f"    {key}: sent {late[key]:.3f} ms late; from arrival at the server to the end of its service {server[key]:.3f} ms")

    def serve(*arguments):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        server = subprocess.Popen([f"{folder}/echo_server", "--listen", address, *arguments])
        for _ in range(100):
            if subprocess.run([f"{folder}/orbserve", "info", "--server", address], capture_output=True).returncode == 0:
                return server, address
            time.sleep(0.1)
        server.kill()
        sys.exit(f"echo_server does not answer at {address}")

    server, address = serve()
    try:
        for rate in (50, 200):
            for arrivals, maker in (("constant", constant), ("poisson", poisson)):
                row = bench(address, "--rate", str(rate), "--arrivals", arrivals)[0]
                times = [t for t in maker(rate, WARM_UP_S + seconds) if t >= WARM_UP_S]
                compare(f"echo, {arrivals} {rate}/s: sent/s", row["sent_per_s"], len(times) / seconds, 0.01)
                compare(f"echo, {arrivals} {rate}/s: answers/s", row["answered_per_s"], len(times) / seconds, 0.01)
    finally:
        server.terminate()
        server.wait()

    server, address = serve("--service-ms", str(SERVICE_MS))
    try:
        for callers in (1, 4):
            row = bench(address, "--concurrency", str(callers))[0]
            compare(f"service {SERVICE_MS:g} ms, {callers} callers: answers/s", row["answered_per_s"], 1e3 / SERVICE_MS, 0.01)
            for key, percent in (("p50", 50), ("p99", 99)):
                compare(f"service {SERVICE_MS:g} ms, {callers} callers: {key}/ms", row["latency_ms"][key], callers * SERVICE_MS, 0.02)
            explain(row)
        queue = {}
        most = 1e3 / SERVICE_MS
        for arrivals, maker, share in (("constant", constant, 0.8), ("poisson", poisson, 0.5), ("poisson", poisson, 0.8), ("poisson", poisson, 1.2)):
            rate = share * most
            row = bench(address, "--rate", f"{rate:g}", "--arrivals", arrivals)[0]
            truth = latencies(maker(rate, WARM_UP_S + seconds), WARM_UP_S, SERVICE_MS)
            for key, percent in (("p50", 50), ("p90", 90), ("p99", 99)):
                compare(f"service {SERVICE_MS:g} ms, {arrivals} {rate:g}/s: {key}/ms", row["latency_ms"][key], percentile(truth, percent), 0.02)
            explain(row)
            queue[arrivals, share] = row["latency_ms"]["p99"]
        # A closed loop of one caller sees the service time alone, however many frames want to be sent.
        print(f"p99 of an overloaded server: open loop {queue['poisson', 1.2]:.0f} ms, closed loop of 1 caller about {SERVICE_MS:g} ms")
        if queue["poisson", 1.2] < 10 * SERVICE_MS:
            failures.append("the open loop hides the queue")
    finally:
        server.terminate()
        server.wait()
    print("FAILED: " + ", ".join(failures) if failures else "all within 1 % (rates) and 2 % (percentiles)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
