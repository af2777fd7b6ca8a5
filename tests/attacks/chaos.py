# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Everything goes wrong at once, and at the end the account is whole.

Usage: chaos.py --server PROGRAM [--cli PROGRAM] [--seconds N] [--seed N]

Clients send frames by calls and by streams and compare each answer with what the same server gave them while it was
calm. Meanwhile clients are killed and stopped, the server is stopped, killed and started again, connections bring
garbage, readers are slow, a relay delays and cuts connections, `tc netem` loses and delays packets between network
namespaces, and the program orbserve writes to a disk that is full. What the system does not allow is said on standard
error and left out. The server is killed in the first half only. In the second half its memory must not grow. Then the
clients end, and the server's account is compared with theirs. Prints one line of JSON. Exit codes as those of run.py.
"""

import argparse
import contextlib
import json
import mmap
import os
import random
import re
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import run  # skips where grpcio is missing

import grpc  # noqa: E402

import connections  # noqa: E402
import shares  # noqa: E402
from honest import HEIGHT_PX, WIDTH_PX, call, field, make_channel, pixels  # noqa: E402

KINDS = ["calls"] * 3 + ["streams"] * 3
FRAMES = 4  # of each client
NAMES = ("sent", "ok", "refused", "broken", "wrong", "out_of_order")
COUNTERS = struct.Struct(f"<{len(NAMES)}q")
MIB = 1 << 20
LONG_S = 120
GROWTH_MIB = 12  # in the second half, beside a twentieth of what there was


def frame_of(client, number):
    return (field(1, 2) + field(2, WIDTH_PX) + field(3, HEIGHT_PX) + field(5, number)
            + field(15, pixels(WIDTH_PX, HEIGHT_PX, seed=1 + 100 * client + number % FRAMES)))


def fields(data):
    """The fields of a message: number and value."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
            at += size
            yield tag >> 3, data[at - size:at]


def features_of(message):
    return next((value for number, value in fields(message) if number == 15), b"")


class Counts:
    """Counters of one client in a file, which outlives the client."""

    def __init__(self, path):
        with open(path, "a+b") as file:
            if os.path.getsize(path) == 0:
                file.write(bytes(COUNTERS.size))
                file.flush()
            self.memory = mmap.mmap(file.fileno(), COUNTERS.size)

    def add(self, name, count=1):
        at = 8 * NAMES.index(name)
        (value,) = struct.unpack_from("<q", self.memory, at)
        struct.pack_into("<q", self.memory, at, value + count)

    def read(self):
        return dict(zip(NAMES, COUNTERS.unpack(self.memory)))


# --- A client, in a process of its own. ---


def send_calls(address, client, expected, counts):
    number = 0
    with make_channel(address) as channel:
        while True:
            number += 1
            counts.add("sent")
            try:
                answer = call(channel, field(15, frame_of(client, number)), f"chaos-{client}")
            except grpc.RpcError as error:
                # A server that is gone has counted nothing, or has taken its account with it.
                counts.add("broken" if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
                           else "refused")
                time.sleep(0.02)
                continue
            counts.add("ok" if features_of(answer) == expected[number % FRAMES] else "wrong")
            time.sleep(0.005)


def send_stream(address, client, expected, counts, slow):
    """One stream after the other, with some frames each."""
    with make_channel(address) as channel:
        method = channel.stream_stream("/orbserve.v1.Features/StreamFrames")
        while True:
            open_frames = 0
            last = 0

            def messages():
                nonlocal open_frames
                yield field(1, b"")
                for number in range(1, 41):
                    counts.add("sent")
                    open_frames += 1
                    yield field(15, frame_of(client, number))

            try:
                for message in method(messages(), timeout=20, wait_for_ready=True,
                                      metadata=(("x-client-id", f"chaos-{client}"),)):
                    result = next((value for number, value in fields(message) if number == 15), None)
                    if result is None:
                        continue
                    parts = dict(fields(result))
                    sequence = parts.get(1, 0)
                    counts.add("out_of_order", int(sequence != last + 1))
                    last = sequence
                    open_frames -= 1
                    if 3 in parts:
                        counts.add("refused")
                    else:
                        counts.add("ok" if parts.get(15, b"") == expected[sequence % FRAMES] else "wrong")
                    if slow:
                        time.sleep(0.05)
            except grpc.RpcError:
                pass
            counts.add("broken", open_frames)
            time.sleep(0.02)


def run_client(kind, address, client, folder):
    counts = Counts(os.path.join(folder, f"counts-{client}"))
    with open(os.path.join(folder, f"expected-{client}"), encoding="ascii") as file:
        expected = [bytes.fromhex(line) for line in file.read().split("\n")[:FRAMES]]
    if kind == "calls":
        send_calls(address, client, expected, counts)
    else:
        send_stream(address, client, expected, counts, slow=client == len(KINDS) - 1)


class Client:
    def __init__(self, kind, number, address, folder, prefix=()):
        self.command = [*prefix, sys.executable, os.path.abspath(__file__), "--client", kind, address, str(number), folder]
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, preexec_fn=lambda: os.nice(5), stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


# --- What goes wrong. ---


class Network:
    """A network namespace with a link to this one, or none where the system does not allow it."""

    NAME, HOST, PEER = "orbserve-chaos", "10.77.83.1", "10.77.83.2"

    def __init__(self):
        self.is_there = self.has_netem = False
        commands = [["ip", "netns", "add", self.NAME],
                    ["ip", "link", "add", "orbchaos0", "type", "veth", "peer", "name", "orbchaos1", "netns", self.NAME],
                    ["ip", "addr", "add", self.HOST + "/30", "dev", "orbchaos0"],
                    ["ip", "link", "set", "orbchaos0", "up"],
                    ["ip", "-n", self.NAME, "addr", "add", self.PEER + "/30", "dev", "orbchaos1"],
                    ["ip", "-n", self.NAME, "link", "set", "orbchaos1", "up"]]
        for command in commands:
            if not self.run(command):
                return
        self.is_there = True
        self.has_netem = self.delay("delay 1ms")

    def run(self, command):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            print(f"skipped: network namespaces: {error}", file=sys.stderr)
            return False
        if done.returncode != 0:
            print(f"skipped: {' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        return done.returncode == 0

    def delay(self, what):
        return self.run(["tc", "qdisc", "replace", "dev", "orbchaos0", "root", "netem", *what.split()])

    def close(self):
        with contextlib.suppress(OSError):  # where there is no such program
            subprocess.run(["ip", "netns", "del", self.NAME], capture_output=True, check=False)


class Relay:
    """Passes connections on, stops to do so for a while now and then, and cuts them at times."""

    def __init__(self, address, random_numbers):
        host, port = address.rsplit(":", 1)
        self.target, self.random = (host, int(port)), random_numbers
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            made, _ = self.listening.accept()
            threading.Thread(target=self.serve, args=(made,), daemon=True).start()

    def serve(self, made):
        try:
            other = socket.create_connection(self.target, 2.0)
        except OSError:
            made.close()
            return
        end = time.monotonic() + self.random.uniform(1.0, 8.0)
        try:
            while time.monotonic() < end:
                ready, _, _ = select.select([made, other], [], [], 0.2)
                for side in ready:
                    data = side.recv(1 << 16)
                    if not data:
                        return
                    if self.random.random() < 0.02:
                        time.sleep(self.random.uniform(0.05, 0.5))
                    (other if side is made else made).sendall(data)
        except OSError:
            pass
        finally:
            made.close()
            other.close()


def garbage(address, end, random_numbers):
    """Connections with bytes of no meaning, some of them behind a good beginning."""
    while time.monotonic() < end:
        try:
            made = connections.connect_http2(address) if random_numbers.random() < 0.5 else connections.connect(address)
            made.settimeout(0.2)
            made.sendall(random_numbers.randbytes(random_numbers.choice([1, 9, 100, 70_000])))
            made.recv(1 << 16)
            made.close()
        except OSError:
            pass
        time.sleep(0.05)


def full_disk(cli, address, folder, problems):
    """The program orbserve writes to a file system of 64 KiB: it must say so and end with an error."""
    disk, image = os.path.join(folder, "disk"), os.path.join(folder, "image.pgm")
    os.makedirs(disk, exist_ok=True)
    if shutil.which("mount") is None:
        print("skipped: a full disk: mount is not installed", file=sys.stderr)
        return 0
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True,
                      check=False).returncode != 0:
        print("skipped: a full disk: mount is not allowed", file=sys.stderr)
        return 0
    try:
        with open(image, "wb") as file:
            file.write(b"P5 1280 960 255\n" + pixels(1280, 960))
        try:
            with open(os.path.join(disk, "filler"), "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        except OSError:
            pass
        done = subprocess.run([cli, "extract", "--server", address, "--out", disk, image], capture_output=True,
                              text=True, timeout=60, check=False)
        if done.returncode in (0, None) or done.returncode < 0 or not done.stderr:
            problems.append(f"a full disk: exit code {done.returncode}: {done.stderr.strip()}")
        return 1
    finally:
        subprocess.run(["umount", disk], check=False)


class ChaosServer(run.Server):
    """A server at an address that stays when it is started again."""

    def __init__(self, program, host):
        with socket.create_server((host, 0)) as free:
            self.port = free.getsockname()[1]
        self.program, self.host = program, host
        self.start()

    def start(self):
        super().__init__(self.program, ["--backend", "cpu", "--insecure"], listen=f"{self.host}:{self.port}")


def account_of(text):
    """Frames received and answered by the metrics; ended by outcome."""
    received = int(float(re.search(r"^orbserve_frames_received_total (\S+)", text, re.M).group(1)))
    ended = re.findall(r'^orbserve_frames_total{outcome="(\w+)"} (\S+)', text, re.M)
    return received, {name: int(float(value)) for name, value in ended if float(value)}


def chaos(options):
    random_numbers = random.Random(options.seed)
    problems, done = [], {}
    folder = tempfile.mkdtemp(prefix="orbserve-chaos-")
    network, server = Network(), None
    clients, samples = [], []
    all_counts, before_kill = [], dict.fromkeys(NAMES, 0)

    def count(what):
        done[what] = done.get(what, 0) + 1

    def totals():
        return {name: sum(counts.read()[name] for counts in all_counts) for name in NAMES}

    try:
        server = ChaosServer(options.server, Network.HOST if network.is_there else "127.0.0.1")
        for number in range(len(KINDS)):
            with open(os.path.join(folder, f"expected-{number}"), "w", encoding="ascii") as file, \
                    make_channel(server.address) as channel:
                for frame in range(FRAMES):
                    file.write(features_of(call(channel, field(15, frame_of(number, frame)), "calm")).hex() + "\n")
            all_counts.append(Counts(os.path.join(folder, f"counts-{number}")))
        relay = Relay(server.address, random_numbers)
        prefix = ("ip", "netns", "exec", Network.NAME) if network.is_there else ()
        for number, kind in enumerate(KINDS):
            behind_relay = number % 3 == 1
            clients.append(Client(kind, number, relay.address if behind_relay else server.address, folder,
                                  () if behind_relay else prefix))
        begin = time.monotonic()
        end = begin + options.seconds
        threading.Thread(target=garbage, args=(server.address, end, random.Random(options.seed + 1)), daemon=True).start()
        # Answers that are not read, for as long as the chaos lasts.
        readers = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--client", "deaf", server.address, str(options.seconds), folder],
            stderr=subprocess.DEVNULL)
        killed_server_at = begin + options.seconds * 0.3
        while time.monotonic() < end:
            time.sleep(random_numbers.uniform(0.2, 1.0))
            is_first_half = time.monotonic() < begin + options.seconds / 2
            if not is_first_half:
                samples.append(server.resident_bytes())
            event = random_numbers.choice(["kill", "stop", "stop server", "netem", "disk", "nothing"])
            victim = random_numbers.choice(clients)
            if is_first_half and time.monotonic() > killed_server_at:
                event, killed_server_at = "kill server", end
            if event == "kill":
                victim.kill()
                victim.start()
            elif event == "stop":
                victim.process.send_signal(signal.SIGSTOP)
                time.sleep(random_numbers.uniform(0.1, 1.5))
                victim.process.send_signal(signal.SIGCONT)
            elif event == "stop server":
                server.process.send_signal(signal.SIGSTOP)
                time.sleep(random_numbers.uniform(0.05, 1.0))
                server.process.send_signal(signal.SIGCONT)
            elif event == "kill server":
                server.process.kill()
                server.process.wait()
                time.sleep(0.5)
                before_kill = totals()
                server.start()
            elif event == "netem" and network.has_netem:
                network.delay(random_numbers.choice(
                    ["delay 1ms", "delay 30ms 20ms", "delay 5ms loss 5%", "loss 15%", "delay 100ms reorder 25%"]))
            elif event == "disk" and options.cli:
                full_disk(options.cli, server.address, folder, problems)
            else:
                continue
            count(event)
            if server.process.poll() is not None:
                problems.append(f"the server ended with {server.process.returncode}: {server.text()[-2000:]}")
                break
        for client in clients:
            client.kill()
        readers.kill()
        readers.wait()
        time.sleep(2.0)
        seen = totals()
        received, ended = account_of(run.urllib.request.urlopen(f"http://{server.http_address}/metrics").read().decode())
        # By now nothing is in flight. Calm frames are whole on both sides.
        with make_channel(server.address) as channel:
            for number in range(20):
                call(channel, field(15, frame_of(0, number)), "calm")
        calm, _ = account_of(run.urllib.request.urlopen(f"http://{server.http_address}/metrics").read().decode())
        code, _ = server.stop()
        account = server.account()

        def want(true, text):
            if not true:
                problems.append(text)

        of_server = {name: seen[name] - before_kill[name] for name in NAMES}  # of the last one started
        want(seen["ok"] > 0 and seen["wrong"] == 0, "an answer is not that of its frame")
        want(seen["out_of_order"] == 0, "results out of order")
        want(received == sum(ended.values()), "the account is not whole")
        want(calm == received + 20, "calm frames are not counted exactly")
        # A client that is killed, or cut off, does not learn what became of its frames; deaf clients send, too.
        want(of_server["ok"] <= ended.get("ok", 0), "clients saw more answers than there were")
        want(code == 0 and account is not None and account[0] == account[1] + account[2], "the last account is not whole")
        middle = len(samples) // 2
        grown = statistics.mean(samples[middle:]) - statistics.mean(samples[:middle])
        # In short runs the answers that nobody reads are still growing to their bound.
        want(options.seconds < LONG_S or grown <= GROWTH_MIB * MIB + statistics.mean(samples[:middle]) / 20, "memory grows")
        print(json.dumps({
            "chaos": options.seconds, "seed": options.seed, "events": done, "clients": seen, "received": received,
            "ended": ended, "account": account, "memory_mib": [round(value / MIB) for value in
                                                              (min(samples), statistics.mean(samples), max(samples))],
            "grown_mib": round(grown / MIB, 2), "netem": network.has_netem, "problems": problems}), flush=True)
        if problems:
            print(server.text()[-3000:], file=sys.stderr)
        return 1 if problems else 0
    finally:
        for client in clients:
            client.kill()
        if server is not None and server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        network.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    if sys.argv[1:2] == ["--client"]:
        kind, address, number, folder = sys.argv[2:]
        if kind == "deaf":
            shares.unread_streams(address, time.monotonic() + float(number), 1)
        else:
            run_client(kind, address, int(number), folder)
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--cli")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    return chaos(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
