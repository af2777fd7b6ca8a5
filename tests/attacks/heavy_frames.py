# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Clients whose frames cost much beside a client whose frames cost little.

Usage: heavy_frames.py --server-program PROGRAM --descriptors FILE [--attack NAME]... [--seconds S] [--factor N]
                       [--check] [--server-argument ARGUMENT]...

Every attack starts a server of its own. An innocent client of its own process sends 320x240 frames, 50 a second, before
and during the attack. Attackers are processes of low priority, so that they take no processor from the server.

  levels    64 flat JPEGs of 8192x8192 with 16 levels of scale 1.01 at once, again and again
  frames    plain frames of 4000x3000, 16 requests under way
  decoding  JPEGs that cost half a second of decoding, from 8 ids
  scans     small JPEGs of 64 progressive scans of 6144x6144 pixels, from 8 ids

Prints one JSON object per attack: latencies of the innocent client in milliseconds, its failures, the attackers' answers,
and the server's resident memory in megabytes. With --check the exit code is 1 unless the innocent client was always
served, with p99 <= 100 ms and worst <= 500 ms. Exit code 77: a library or a program is missing.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

try:
    import grpc
    from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory  # any_pb2: an import of ours
except ImportError as error:
    print(error)
    sys.exit(77)

EXTRACT = "/orbserve.v1.Features/Extract"
MAX_P99_MS = 100.0
MAX_WORST_MS = 500.0
CHANNEL_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                   ("grpc.use_local_subchannel_pool", 1)]


def load_messages(path):
    """Returns a function from a message's name in orbserve.v1 to its class."""
    pool = descriptor_pool.Default()
    with open(path, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    for proto in files.file:
        if not proto.name.startswith("google/protobuf/"):
            pool.AddSerializedFile(proto.SerializeToString())

    def message(name):
        descriptor = pool.FindMessageTypeByName("orbserve.v1." + name)
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)

    return message


def jpeg(pgm_width, pgm_height, pixels, arguments, scans=None):
    """Returns the JPEG file that cjpeg makes of grey pixels."""
    with tempfile.TemporaryDirectory() as folder:
        if scans is not None:
            script = os.path.join(folder, "scans")
            with open(script, "w", encoding="ascii") as file:
                file.write(scans)
            arguments = arguments + ["-scans", script]
        image = b"P5 %d %d 255\n" % (pgm_width, pgm_height) + pixels
        try:
            done = subprocess.run(["cjpeg", "-grayscale"] + arguments, input=image, stdout=subprocess.PIPE, check=True)
        except FileNotFoundError as error:
            print(error)
            sys.exit(77)
        return done.stdout


def noise(width, height, seed=1):
    return random.Random(seed).randbytes(width * height)


def request_of(message, format_name, width, height, pixels, levels=None):
    request = message("ExtractRequest")()
    frame = request.frame
    frame.format = frame.DESCRIPTOR.fields_by_name["format"].enum_type.values_by_name["PIXEL_FORMAT_" + format_name].number
    if format_name != "JPEG":
        frame.width_px, frame.height_px = width, height
    frame.pixels = pixels
    if levels is not None:
        request.pipeline.pyramid.levels, request.pipeline.pyramid.scale_factor = levels
    return request.SerializeToString()


# Each returns the request of an attack, the number of ids, and the requests under way of each id.
def attack_levels(message, factor):
    return request_of(message, "JPEG", 0, 0, jpeg(8192, 8192, b"\x80" * 8192 * 8192, ["-quality", "50", "-optimize"]), (16, 1.01)), factor, 64


def attack_frames(message, factor):
    return request_of(message, "GRAY8", 4000, 3000, noise(4000, 3000)), factor, 16


def attack_decoding(message, factor):
    return request_of(message, "JPEG", 0, 0, jpeg(6144, 6144, noise(6144, 6144), ["-quality", "25", "-progressive"])), 8 * factor, 2


def attack_scans(message, factor):
    bands = "".join(f"0: {band}-{band}, 0, 0;\n" for band in range(1, 64))
    return request_of(message, "JPEG", 0, 0, jpeg(6144, 6144, b"\x80" * 6144 * 6144, [], "0: 0-0, 0, 0;\n" + bands)), 8 * factor, 2


ATTACKS = {"levels": attack_levels, "frames": attack_frames, "decoding": attack_decoding, "scans": attack_scans}


class Server:
    """The real server, on free ports, with the addresses that its log names."""

    def __init__(self, program, arguments):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--http-listen", "", "--backend", "cpu"] + arguments,
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.address = None
        for line in self.process.stderr:
            found = re.search(r"event=serving .* port=(\d+)", line)
            if found:
                self.address = "127.0.0.1:" + found.group(1)
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        if self.address is None:
            raise RuntimeError("the server did not say where it listens")

    def memory_mb(self, name="VmRSS"):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(name + r":\s+(\d+)", file.read()).group(1)) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def channel_to(address):
    return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)


def innocent(address, request, seconds, results):
    """Sends 50 frames a second, one after the other, and writes (begin, latency in ms, code) of each to `results`."""
    channel = channel_to(address)
    call = channel.unary_unary(EXTRACT)
    end = time.monotonic() + seconds
    with open(results, "w", encoding="ascii") as file:
        while time.monotonic() < end:
            begin = time.monotonic()
            code = "OK"
            try:
                call(request, timeout=30, metadata=[("x-client-id", "innocent")])
            except grpc.RpcError as error:
                code = error.code().name
            latency = time.monotonic() - begin
            file.write(f"{begin} {latency * 1000} {code}\n")
            file.flush()
            time.sleep(max(0.0, 0.02 - latency))


def attack(address, request, ids, under_way, seconds, results):
    """Keeps `under_way` requests of each of `ids` clients under way."""
    os.nice(19)
    counts = {}
    lock = threading.Lock()
    end = time.monotonic() + seconds
    done = threading.Condition(lock)
    open_calls = 0

    def start(call, name):
        nonlocal open_calls
        with lock:
            open_calls += 1
        future = call.future(request, timeout=60, metadata=[("x-client-id", name)])
        future.add_done_callback(lambda finished: ended(finished, call, name))

    def ended(finished, call, name):
        nonlocal open_calls
        code = finished.code().name
        with lock:
            counts[code] = counts.get(code, 0) + 1
        if time.monotonic() < end:
            if code != "OK":
                time.sleep(0.05)
            start(call, name)
        with lock:
            open_calls -= 1
            done.notify_all()

    channels = [channel_to(address) for _ in range(ids)]
    for i, channel in enumerate(channels):
        call = channel.unary_unary(EXTRACT)
        for _ in range(under_way):
            start(call, f"attacker-{i}")
    with lock:
        done.wait_for(lambda: open_calls == 0, timeout=seconds + 5)
        with open(results, "w", encoding="ascii") as file:
            json.dump(counts, file)
    os._exit(0)  # calls that are still under way end with the process


def in_child(function, *arguments):
    """Runs the function in a process of its own: the clients share no interpreter."""
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
            os._exit(0)
        finally:
            os._exit(1)
    return child


def percentile(samples, share):
    ordered = sorted(samples)
    return ordered[round(share * (len(ordered) - 1))]


def summary(path, begin, end):
    rows = []
    with open(path, encoding="ascii") as file:
        for line in file:
            at, latency, code = line.split()
            if begin <= float(at) < end:
                rows.append((float(latency), code))
    latencies = [latency for latency, _ in rows]
    if not rows:
        return {"calls": 0}
    return {"calls": len(rows), "failed": sum(code != "OK" for _, code in rows),
            "p50_ms": round(percentile(latencies, 0.5), 1), "p99_ms": round(percentile(latencies, 0.99), 1),
            "worst_ms": round(max(latencies), 1)}


def run(name, options):
    # Children are forked before this process has threads of gRPC.
    message = load_messages(options.descriptors)
    small = request_of(message, "GRAY8", 320, 240, noise(320, 240))
    request, ids, under_way = ATTACKS[name](message, options.factor)
    server = Server(options.server_program, options.server_argument)
    figures = {"attack": name, "request_bytes": len(request), "ids": ids, "under_way": ids * under_way}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "innocent")
        attackers = os.path.join(folder, "attackers")
        quiet = 3.0
        client = in_child(innocent, server.address, small, quiet + options.seconds + 3, path)
        time.sleep(quiet)
        begin = time.monotonic()
        figures["memory_before_mb"] = round(server.memory_mb())
        attacker = in_child(attack, server.address, request, ids, under_way, options.seconds, attackers)
        os.waitpid(client, 0)
        figures["without"] = summary(path, 0, begin)
        figures["beside"] = summary(path, begin, begin + 3600)
        os.waitpid(attacker, 0)
        with open(attackers, encoding="ascii") as file:
            figures["attackers"] = json.load(file)
        figures["memory_most_mb"] = round(server.memory_mb("VmHWM"))
        time.sleep(options.rest)
        figures["memory_after_mb"] = round(server.memory_mb())
        begin = time.monotonic()
        figures["exit_code"] = server.stop()
        figures["stop_s"] = round(time.monotonic() - begin, 2)
    beside = figures["beside"]
    figures["good"] = (beside["calls"] > 0 and beside["failed"] == 0 and beside["p99_ms"] <= MAX_P99_MS
                       and beside["worst_ms"] <= MAX_WORST_MS and figures["exit_code"] == 0)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server-program", required=True)
    parser.add_argument("--descriptors", required=True, help="protoc's descriptor set of orbserve.proto with its imports")
    parser.add_argument("--attack", action="append", choices=sorted(ATTACKS), help="default: all")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rest", type=float, default=5.0, help="seconds before the memory is measured again")
    parser.add_argument("--factor", type=int, default=1, help="times as many ids")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--server-argument", action="append", default=[])
    options = parser.parse_args()
    good = True
    for name in options.attack or list(ATTACKS):
        # A process of its own: one that has used gRPC must not fork.
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            figures = run(name, options)
            print(json.dumps(figures), flush=True)
            os._exit(0 if figures["good"] else 1)
        good = os.waitpid(child, 0)[1] == 0 and good
    sys.exit(0 if good or not options.check else 1)


if __name__ == "__main__":
    main()
