# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""How a server shares what it can do, seen from its clients, each an owner of its own by its token.

Usage: fairness.py --server PROGRAM [--seconds N] [--relaxed] [weights|greedy]

`weights`: four clients with the weights 1, 2, 3 and 4 want all they can get; what they get is within a tenth of their
weights' parts. `greedy`: ten clients, one of which wants a hundred times as much as each of the nine; the nine get
within a fifth of what they get without it. --relaxed leaves out the second, which depends on the time of the
processors. Each prints one line of JSON. Exit codes as those of run.py.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import threading
import time

import run  # skips where grpcio is missing

import grpc  # noqa: E402

import heavy  # noqa: E402
from honest import make_channel  # noqa: E402
from jpeg_files import flat  # noqa: E402

WEIGHTS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0}
WEIGHTS_TOLERANCE = 0.10
GREEDY_TOLERANCE = 0.20
WARM_S = 1.5  # the plan is built, its cost learnt, and every queue full
NINE_PERIOD_S = 0.05


def token_of(name):
    return f"token-of-{name}-0123456789"


def start_server(options, names, weights, folder):
    tokens = os.path.join(folder, "tokens")
    with open(tokens, "w", encoding="ascii") as file:
        for name in names:
            print(name, "sha256:" + hashlib.sha256(token_of(name).encode()).hexdigest(), file=file)
    config = os.path.join(folder, "config.textproto")
    with open(config, "w", encoding="ascii") as file:
        print(f'token_file: "{tokens}"', file=file)
        for name, weight in weights.items():
            print(f'shares {{ owner: "token:{name}" weight: {weight} }}', file=file)
    return run.Server(options.server, ["--backend", "cpu", "--config", config])


class Client:
    """Keeps `under_way` requests under way, or sends one each `period_s` seconds, and counts the answers."""

    def __init__(self, address, name, request, under_way=0, period_s=0.0):
        self.channel = make_channel(address)
        self.call = self.channel.unary_unary(heavy.EXTRACT)
        self.metadata = (("authorization", "Bearer " + token_of(name)),)
        self.request, self.period_s = request, period_s
        self.answers, self.refused, self.lock = 0, 0, threading.Lock()
        self.stopped = threading.Event()
        for _ in range(under_way):
            self.start()
        if period_s:
            threading.Thread(target=self.send_each_period, daemon=True).start()

    def start(self):
        future = self.call.future(self.request, timeout=30, metadata=self.metadata, wait_for_ready=True)
        future.add_done_callback(self.ended)

    def ended(self, future):
        is_ok = future.code() == grpc.StatusCode.OK
        with self.lock:
            self.answers += is_ok
            self.refused += not is_ok
        if self.stopped.is_set() or self.period_s:
            return
        if not is_ok:
            time.sleep(heavy.PAUSE_S)
        self.start()

    def send_each_period(self):
        while not self.stopped.wait(self.period_s):
            self.start()

    def close(self):
        self.stopped.set()
        self.channel.close()


def count(clients, seconds):
    """Answers of each client in so many seconds."""
    time.sleep(WARM_S)
    before = [client.answers for client in clients]
    time.sleep(seconds)
    return [client.answers - answers for client, answers in zip(clients, before)]


def weights(options):
    with tempfile.TemporaryDirectory(prefix="orbserve-fairness-") as folder:
        server = start_server(options, WEIGHTS, WEIGHTS, folder)
        request = heavy.jpeg_request(flat(1024, 768))
        clients = [Client(server.address, name, request, under_way=48) for name in WEIGHTS]
        got = count(clients, options.seconds)
        for client in clients:
            client.close()
        code, _ = server.stop()
    parts = [answers / sum(got) for answers in got]
    wanted = [weight / sum(WEIGHTS.values()) for weight in WEIGHTS.values()]
    worst = max(abs(part / want - 1) for part, want in zip(parts, wanted))
    report = {"fairness": "weights", "answers": got, "parts": [round(part, 3) for part in parts],
              "furthest_off": round(worst, 3), "exit_code": code}
    return report, worst <= WEIGHTS_TOLERANCE and code == 0


def greedy(options):
    names = [f"client-{i}" for i in range(10)]
    request = heavy.jpeg_request(flat(1024, 768))
    counts = []
    with tempfile.TemporaryDirectory(prefix="orbserve-fairness-") as folder:
        for with_greedy in (False, True):
            server = start_server(options, names, {}, folder)
            clients = [Client(server.address, name, request, period_s=NINE_PERIOD_S) for name in names[1:]]
            other = Client(server.address, names[0], request, under_way=100) if with_greedy else None
            counts.append(count(clients, options.seconds))
            for client in clients + ([other] if other else []):
                client.close()
            code, _ = server.stop()
    kept = [after / before for before, after in zip(*counts)]
    report = {"fairness": "greedy", "without": counts[0], "with": counts[1],
              "kept": [round(part, 3) for part in kept], "greedy_answers": other.answers, "exit_code": code}
    return report, code == 0 and (options.relaxed or min(kept) >= 1 - GREEDY_TOLERANCE)


KINDS = {"weights": weights, "greedy": greedy}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--relaxed", action="store_true")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []])
    options = parser.parse_args()
    good = True
    for kind in options.kinds or KINDS:
        report, is_good = KINDS[kind](options)
        report["problems"] = [] if is_good else ["beyond the tolerance"]
        print(json.dumps(report), flush=True)
        good = good and is_good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
