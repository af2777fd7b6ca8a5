# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A client that means well: Extract of 320x240 frames, one after another, each with a deadline.

Usage: honest.py ADDRESS SECONDS [CLIENT_ID [extract|stream|reconnect]], where ADDRESS is HOST:PORT, or tls:HOST:PORT with the server's
certificate in the file that ORBSERVE_ATTACK_CERTIFICATE names. SECONDS may be "fresh": one call on a new connection. With
`stream` each frame has a stream of its own, which is opened for it; with `reconnect` there is a call on a new connection, which is
tried once, after each call. ORBSERVE_TOKEN may have a token to send. Prints one line of
JSON: calls, failures and the times of the calls in milliseconds.
"""

import json
import os
import sys
import time

import grpc

from jpeg_files import flat

WIDTH_PX, HEIGHT_PX = 320, 240
DEADLINE_S = 5.0


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field of a protobuf message: an int as a varint, bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pixels(width_px, height_px, seed=1):
    """Grey blocks: plenty of corners."""
    rows = []
    for y in range(0, height_px, 8):
        row = bytearray()
        for x in range(0, width_px, 8):
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            row += bytes([seed >> 16 & 255]) * 8
        rows.append(bytes(row[:width_px]) * 8)
    return b"".join(rows)[: width_px * height_px]


def extract_request(width_px=WIDTH_PX, height_px=HEIGHT_PX):
    """The request of Extract, and the message of a stream: the frame has the same number in both."""
    frame = field(1, 2) + field(2, width_px) + field(3, height_px) + field(15, pixels(width_px, height_px))
    return field(15, frame)


def jpeg_request(width_px=WIDTH_PX, height_px=HEIGHT_PX):
    return field(15, field(1, 1) + field(15, flat(width_px, height_px)))


def make_channel(address, *more, connect_ms=1000):
    # A pool of its own, so that it gets a connection of its own. Attempts to connect do not wait for long.
    options = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.min_reconnect_backoff_ms", connect_ms),
        ("grpc.max_reconnect_backoff_ms", 200),
        ("grpc.max_receive_message_length", -1),
        *more,
    ]
    if not address.startswith("tls:"):
        return grpc.insecure_channel(address, options)
    with open(os.environ["ORBSERVE_ATTACK_CERTIFICATE"], "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    options.append(("grpc.ssl_target_name_override", "localhost"))
    return grpc.secure_channel(address[len("tls:"):], credentials, options)


def metadata_of(client_id):
    token = os.environ.get("ORBSERVE_TOKEN")
    return (("x-client-id", client_id), *((("authorization", f"Bearer {token}"),) if token else ()))


def call(channel, request, client_id, deadline_s=DEADLINE_S, wait_for_ready=True):
    """One Extract; the bytes of the answer, or the error."""
    method = channel.unary_unary("/orbserve.v1.Features/Extract")
    return method(
        request, timeout=deadline_s, metadata=metadata_of(client_id), wait_for_ready=wait_for_ready
    )


def call_stream(channel, request, client_id, deadline_s=DEADLINE_S):
    """One stream with one frame."""
    method = channel.stream_stream("/orbserve.v1.Features/StreamFrames")
    answers = list(method(
        iter([field(1, b""), request]), timeout=deadline_s, metadata=metadata_of(client_id), wait_for_ready=True))
    if len(answers) != 2:
        raise RuntimeError(f"{len(answers)} answers")


def call_once(address, request, client_id):
    """One Extract on a connection that is made for it and tried once."""
    with make_channel(address, ("grpc.enable_retries", 0), connect_ms=2000) as channel:
        call(channel, request, client_id, wait_for_ready=False)


CALLS = {"extract": call, "jpeg": call, "stream": call_stream, "reconnect": call}


def percentile(values, part):
    return values[min(len(values) - 1, int(part * len(values)))] if values else -1.0


def measure(address, seconds, client_id="honest", kind="extract"):
    request = jpeg_request() if kind == "jpeg" else extract_request()
    times_ms, fresh_ms, failures = [], [], {}

    def count(name, error):
        name = f"{name}{error.code().name}: {error.details()}"
        failures[name] = failures.get(name, 0) + 1

    worst_ms, worst_at_s = -1.0, 0.0  # of the call that began so long after the first
    with make_channel(address) as channel:
        start = time.monotonic()
        end = start + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            try:
                CALLS[kind](channel, request, client_id)
            except grpc.RpcError as error:
                count("", error)
            times_ms.append((time.monotonic() - begin) * 1e3)
            if times_ms[-1] > worst_ms:
                worst_ms, worst_at_s = times_ms[-1], begin - start
            if kind == "reconnect":
                begin = time.monotonic()
                try:
                    call_once(address, request, client_id)
                except grpc.RpcError as error:
                    count("on a new connection: ", error)
                fresh_ms.append((time.monotonic() - begin) * 1e3)
            time.sleep(0.005)
    times_ms.sort()
    fresh_ms.sort()
    return {
        "calls": len(times_ms),
        "failures": failures,
        "p50_ms": round(percentile(times_ms, 0.5), 1),
        "p99_ms": round(percentile(times_ms, 0.99), 1),
        "worst_ms": round(worst_ms, 1),
        "worst_at_s": round(worst_at_s, 2),
        **({"fresh_calls": len(fresh_ms), "fresh_p99_ms": round(percentile(fresh_ms, 0.99), 1)} if fresh_ms else {}),
    }


def fresh_call_ms(address, client_id="honest/fresh"):
    """Time of one call on a connection that is made for it; -1 where it is not served."""
    request = extract_request()
    begin = time.monotonic()
    try:
        with make_channel(address) as channel:
            call(channel, request, client_id)
    except grpc.RpcError:
        return -1.0
    return round((time.monotonic() - begin) * 1e3, 1)


if __name__ == "__main__":
    if sys.argv[2] == "fresh":
        print(json.dumps({"fresh_ms": fresh_call_ms(sys.argv[1])}))
    else:
        print(json.dumps(measure(sys.argv[1], float(sys.argv[2]), *sys.argv[3:])))
