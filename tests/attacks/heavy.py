# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks by frames that cost much: to decode, to compute, or in memory.

Each function attacks the server at `address` until `end` (time.monotonic()); `scale` multiplies the clients. Every
client has a name of its own and keeps several requests under way. Returns what it has done, for the report.
"""

import struct
import threading
import time

import grpc

from honest import HEIGHT_PX, WIDTH_PX, extract_request, field, make_channel
from jpeg_files import flat, many_scans

EXTRACT = "/orbserve.v1.Features/Extract"
PAUSE_S = 0.05  # after a refusal
CHANNELS = 8


def jpeg_request(file, pipeline=b""):
    frame = field(15, field(1, 1) + field(15, file))
    return (field(1, pipeline) if pipeline else b"") + frame


def fixed32(number, value):
    return bytes([number << 3 | 5]) + struct.pack("<f", value)


def keep_under_way(address, end, request, clients, each):
    """`clients` names with `each` requests under way; how often each status came."""
    counts, lock, done = {}, threading.Lock(), threading.Event()
    open_calls = 0
    channels = [make_channel(address) for _ in range(min(clients, CHANNELS))]

    def start(call, name):
        nonlocal open_calls
        with lock:
            open_calls += 1
        future = call.future(request, timeout=60, metadata=(("x-client-id", name),), wait_for_ready=True)
        future.add_done_callback(lambda finished: ended(finished, call, name))

    def ended(finished, call, name):
        nonlocal open_calls
        code = finished.code().name
        with lock:
            counts[code] = counts.get(code, 0) + 1
        if time.monotonic() < end:
            if code != "OK":
                time.sleep(PAUSE_S)
            start(call, name)
        with lock:
            open_calls -= 1
            if open_calls == 0:
                done.set()

    for i in range(clients):
        call = channels[i % len(channels)].unary_unary(EXTRACT)
        for _ in range(each):
            start(call, f"heavy-{i}")
    done.wait(max(0.0, end - time.monotonic()) + 1.0)
    for channel in channels:
        channel.close()
    with lock:
        return {"answers": dict(counts), "request_bytes": len(request)}


def large_pyramids(address, end, scale):
    """A quarter of a megabyte each: 67 million pixels, and as many again in each of 5 levels, near the bound of memory."""
    pyramid = field(1, 5) + fixed32(2, 1.01)
    return keep_under_way(address, end, jpeg_request(flat(8192, 8192), field(2, pyramid)), scale, 64)


def large_frames(address, end, scale):
    return keep_under_way(address, end, extract_request(4000, 3000), scale, 16)


def slow_decoding(address, end, scale):
    """Half a second of decoding each, from eight names."""
    return keep_under_way(address, end, jpeg_request(many_scans(5504, 5504)), 8 * scale, 2)


def damaged_files(address, end, scale):
    """Files of the honest client's size, whose damage is seen at their end: a device decodes them for nothing, then the host."""
    return keep_under_way(address, end, jpeg_request(flat(WIDTH_PX, HEIGHT_PX, is_damaged=True)), 8 * scale, 32)


def many_pixels(address, end, scale):
    """Images that are quick to decode and hold a thousand times their size once they are decoded."""
    return keep_under_way(address, end, jpeg_request(flat(1600, 1200)), 8 * scale, 32)
