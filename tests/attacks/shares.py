# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on what clients share: answers that nobody reads, and streams.

Each function attacks the server at `address` until `end` (time.monotonic()); `scale` multiplies the connections or
the calls. Returns what it has done, for the report.
"""

import asyncio
import collections
import itertools
import os
import struct
import time

import grpc
import grpc.aio

from honest import HEIGHT_PX, WIDTH_PX, extract_request, field, pixels, varint

SERVICE = "/orbserve.v1.Features/"
KEYPOINTS = 10_000  # of an answer: more than half a megabyte
OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.http2.bdp_probe", 0),  # the window stays at 64 KiB
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
]
PAUSE_S = 0.02  # before a call that ended is made again
TOKENS = {"honest": "token-of-the-honest", "greedy": "token-of-the-greedy"}


def frame_with_keypoints():
    points = [(40 + i % 240, 40 + i // 240 % 160) for i in range(KEYPOINTS)]
    floats = struct.Struct(f"<{KEYPOINTS}f").pack
    given = (field(1, floats(*(x for x, _ in points))) + field(2, floats(*(y for _, y in points)))
             + field(3, floats(*([0.0] * KEYPOINTS))) + field(4, b"".join([varint(0)] * KEYPOINTS)))
    return (field(1, 2) + field(2, WIDTH_PX) + field(3, HEIGHT_PX) + field(8, given)
            + field(15, pixels(WIDTH_PX, HEIGHT_PX)))


class Tally:
    def __init__(self):
        self.ends = collections.Counter()
        self.begun = 0

    def report(self):
        return {"begun": self.begun, **dict(self.ends.most_common(4))}


async def repeat(tally, end, call, pause_s):
    """Makes the call again each time it has ended."""
    while time.monotonic() < end:
        tally.begun += 1
        try:
            await asyncio.wait_for(call(), max(0.01, end - time.monotonic()))
            tally.ends["OK"] += 1
        except asyncio.TimeoutError:
            return
        except grpc.aio.AioRpcError as error:
            tally.ends[error.code().name] += 1
        await asyncio.sleep(pause_s)


def run_calls(address, end, connections, calls_each, make_call, pause_s=PAUSE_S):
    """`make_call(channel, number)` returns a coroutine that ends with its call."""

    async def run():
        tally = Tally()
        channels = [grpc.aio.insecure_channel(address, options=OPTIONS) for _ in range(connections)]
        numbers = itertools.count()
        await asyncio.gather(*(
            repeat(tally, end, lambda channel=channel, number=next(numbers): make_call(channel, number), pause_s)
            for channel in channels for _ in range(calls_each)))
        for channel in channels:
            await channel.close(None)
        return {"connections": connections, "calls": connections * calls_each, **tally.report()}

    return asyncio.run(run())


def metadata_of(client_id):
    """`client_id` may be None. Where clients have tokens, it names a part of the attacker."""
    if "ORBSERVE_TOKEN" not in os.environ:
        return (("x-client-id", client_id),) if client_id else ()
    part = (("x-client-id", "greedy/" + client_id),) if client_id else ()
    return (*part, ("authorization", "Bearer " + TOKENS["greedy"]))


def unread_answers_of(client_of):
    def attack(address, end, scale):
        request = field(15, frame_with_keypoints())

        async def never_read(channel, number):
            call = channel.unary_stream(SERVICE + "Extract")(request, metadata=metadata_of(client_of(number)))
            # The answer stays with the server: it is larger than the window, and nothing opens that.
            code = await call.code()
            raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata())

        return run_calls(address, end, 8 * scale, 64, never_read)

    return attack


unread_answers = unread_answers_of(lambda number: "deaf")
unread_answers_of_many = unread_answers_of("deaf {}".format)


def streams_of(client_of, messages):
    def attack(address, end, scale):
        async def hold(channel, number):
            call = channel.stream_stream(SERVICE + "StreamFrames")(metadata=metadata_of(client_of(number)))
            for message in messages:
                await call.write(message)
            while await call.read() is not grpc.aio.EOF:
                pass
            raise grpc.aio.AioRpcError(await call.code(), grpc.aio.Metadata(), grpc.aio.Metadata())

        return run_calls(address, end, 2 * scale, 160, hold)

    return attack


OPEN = field(1, b"")
# No ids: a client for each connection.
unopened_streams = streams_of(lambda number: None, [])
silent_streams = streams_of(lambda number: None, [OPEN])
silent_streams_of_one = streams_of(lambda number: "hoarder", [OPEN])
silent_streams_of_many = streams_of("hoarder {}".format, [OPEN])


def unread_streams(address, end, scale):
    """Streams that send frames and read none of their results."""
    frame = field(15, frame_with_keypoints())

    async def send_only(channel, number):
        call = channel.stream_stream(SERVICE + "StreamFrames")(metadata=metadata_of("deaf"))
        await call.write(OPEN)
        try:
            while True:
                await call.write(frame)
        except asyncio.InvalidStateError:
            pass
        raise grpc.aio.AioRpcError(await call.code(), grpc.aio.Metadata(), grpc.aio.Metadata())

    return run_calls(address, end, 2 * scale, 16, send_only)


def with_ids(client_of):
    """As many calls as go, of one client with a token that calls itself by any name."""

    def attack(address, end, scale):
        request = extract_request()

        async def extract(channel, number):
            await channel.unary_unary(SERVICE + "Extract")(
                request,
                metadata=(("x-client-id", client_of(number)), ("authorization", "Bearer " + TOKENS["greedy"])))

        return run_calls(address, end, 4, 50 * scale, extract, pause_s=0.0)

    return attack


many_ids = with_ids("greedy/{}".format)
foreign_ids = with_ids(lambda number: ("honest", "honest/{}".format(number), "honest/../greedy")[number % 3])
