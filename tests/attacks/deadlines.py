# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines that frames hardly meet: no result is OK after its own, and every account says the same.

Usage: deadlines.py --server PROGRAM [--seconds N]

Clients send frames on streams, each with a deadline of a few milliseconds, and count what they are told. First every
stream is read to its end: clients, /metrics and the last line of the log must agree about each frame. Then, on a
second server, streams are cancelled in the middle: /metrics and the log must agree. A result that is OK must not say
that it took longer than its deadline. Prints one line of JSON for each server. Exit codes as those of run.py.
"""

import argparse
import collections
import json
import random
import sys
import threading
import time
import urllib.request

import run  # skips where grpcio is missing

import grpc  # noqa: E402

from chaos import account_of, fields  # noqa: E402
from honest import field, make_channel, pixels  # noqa: E402

CLIENTS = 4
WIDTH_PX, HEIGHT_PX = 320, 240
FRAMES = 40  # of a stream
MOST_DEADLINE_MS = 8
PIXELS = pixels(WIDTH_PX, HEIGHT_PX)
OPEN = field(1, field(3, 1) + field(4, 1))  # deadline_ms, match_previous


def messages(deadlines_ms):
    yield OPEN
    for number, deadline_ms in enumerate(deadlines_ms):
        yield field(15, field(1, 2) + field(2, WIDTH_PX) + field(3, HEIGHT_PX) + field(5, number)
                    + field(9, deadline_ms) + field(15, PIXELS))


def run_client(address, number, end, cancel, told, lock):
    """One stream after the other until `end`; counts outcomes in `told`."""
    random_numbers = random.Random(number)
    with make_channel(address) as channel:
        method = channel.stream_stream("/orbserve.v1.Features/StreamFrames")
        while time.monotonic() < end:
            deadlines_ms = [random_numbers.randint(1, MOST_DEADLINE_MS) for _ in range(FRAMES)]
            last = random_numbers.randrange(FRAMES) if cancel else FRAMES
            call = method(messages(deadlines_ms), metadata=(("x-client-id", f"late-{number}"),))
            try:
                for message in call:
                    result = next((value for key, value in fields(message) if key == 15), None)
                    if result is None:
                        continue
                    parts = dict(fields(result))
                    sequence = parts.get(1, 0)
                    total_ns = dict(fields(parts.get(4, b""))).get(7, 0)
                    with lock:
                        if 3 in parts:
                            told[dict(fields(parts[3])).get(2, b"").decode()] += 1
                        else:
                            told["ok"] += 1
                            late_ns = total_ns - deadlines_ms[sequence] * 1_000_000
                            told["ok after the deadline"] += late_ns >= 0
                            told["worst_us"] = max(told["worst_us"], late_ns // 1000)
                    if sequence == last:
                        call.cancel()
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.CANCELLED:
                    with lock:
                        told[f"stream ended: {error.code().name}"] += 1


def measure(options, cancel):
    server = run.Server(options.server, ["--backend", "cpu"])
    problems = []

    def want(true, text):
        if not true:
            problems.append(text)

    try:
        told, lock = collections.Counter(), threading.Lock()
        end = time.monotonic() + options.seconds
        threads = [threading.Thread(target=run_client, args=(server.address, number, end, cancel, told, lock))
                   for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        received, ended = 0, {}
        for _ in range(200):  # until the server knows of the last cancellation
            page = urllib.request.urlopen(f"http://{server.http_address}/metrics").read().decode()
            received, ended = account_of(page)
            if received == sum(ended.values()):
                break
            time.sleep(0.05)
        code, _ = server.stop()
        account = server.account()
        late, worst_us = told.pop("ok after the deadline", 0), told.pop("worst_us", 0)
        want(code == 0 and account is not None, "the server did not end well")
        want(account == (received, ended.get("ok", 0), received - ended.get("ok", 0)), "the log is not as /metrics")
        want(cancel or dict(told) == ended, "clients were told other outcomes than /metrics says")
        want(told["ok"] <= ended.get("ok", 0), "clients were told OK more often than /metrics says")
        want(told["ok"] > 0 and ended.get("DEADLINE_EXCEEDED", 0) > 0, "the deadlines are not hard to meet")
        want(late == 0, "a result is OK after its deadline")
        print(json.dumps({"deadlines": "cancelled" if cancel else "read", "received": received, "ended": ended,
                          "told": told, "log": account, "ok_after_deadline": late, "worst_us": worst_us,
                          "problems": problems}), flush=True)
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    return not problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    good = [measure(options, cancel) for cancel in (False, True)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
