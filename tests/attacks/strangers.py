# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks of strangers: clients that hold connections and calls without proving who they are.

Each function attacks the server at `address` until `end` (time.monotonic()); `scale` multiplies the connections. A
connection that the server closes is made again. Returns what it has done, for the report.
"""

import errno
import itertools
import select
import socket
import ssl
import struct
import time

from http2 import (
    ACK, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, PREFACE, SETTINGS, call_headers, frame)
from honest import field

EXTRACT = "/orbserve.v1.Features/Extract"
INFO = "/orbserve.v1.Features/GetServerInfo"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
EMPTY_MESSAGE = b"\x00\x00\x00\x00\x00"
SOURCES = [f"127.0.0.{host}" for host in range(2, 6)]  # of one network
START = PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0)
DEAF_START = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)) + frame(SETTINGS, ACK, 0)
MOST_AT_ONCE = 64  # connections that are begun before answers are looked at


def one_call(path, stream=1):
    return frame(HEADERS, END_HEADERS, stream, call_headers(path)) + frame(DATA, END_STREAM, stream, EMPTY_MESSAGE)


def crowd(address, end, count, start, sources=("127.0.0.1",)):
    """Holds `count` connections that send `start` and then nothing, as many as the server leaves open."""
    host, port = address.removeprefix("tls:").rsplit(":", 1)
    target = (host.strip("[]"), int(port))
    poll = select.epoll()
    held = {}
    from_source = itertools.cycle(sources)
    made_count = closed = failed = 0

    def drop(number):
        poll.unregister(number)
        held.pop(number)[0].close()

    while time.monotonic() < end:
        for _ in range(min(MOST_AT_ONCE, count - len(held))):
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            try:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # The port is chosen with the target's in mind, so that all of them can be used.
                made.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
                made.bind((next(from_source), 0))
                made.connect(target)
            except BlockingIOError:
                pass
            except OSError as error:
                made.close()
                failed += 1
                if error.errno == errno.EMFILE:
                    raise
                continue
            held[made.fileno()] = [made, start]
            poll.register(made, select.EPOLLIN | (select.EPOLLOUT if start else 0))
            made_count += 1
        for number, events in poll.poll(0.01):
            entry = held[number]
            try:
                if events & select.EPOLLOUT:
                    entry[1] = entry[1][entry[0].send(entry[1]):]
                    if not entry[1]:
                        poll.modify(number, select.EPOLLIN)
                if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR) and not entry[0].recv(1 << 16):
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                drop(number)
                closed += 1
    result = {"connections": count, "made": made_count, "held_at_end": len(held), "closed": closed, "failed": failed}
    for number in list(held):
        drop(number)
    return result


def held_after(start, sources=("127.0.0.1",), count=4400):
    def attack(address, end, scale):
        return crowd(address, end, min(count * scale, 15_000), start, sources)

    return attack


strangers_health = held_after(START + one_call(CHECK), SOURCES)
strangers_watch = held_after(START + one_call(WATCH), SOURCES)
strangers_refused = held_after(START + one_call(EXTRACT), SOURCES)
# Each of these connections counts as used on a server without credentials.
hoarders = held_after(START + one_call(INFO), SOURCES)
# From the honest client's own address.
endless_prefaces = held_after(PREFACE[:20])
endless_settings = held_after(PREFACE + frame(SETTINGS, 0, 0)[:5])


def client_hello():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def endless_tls_handshakes(address, end, scale):
    """The first message of each handshake is whole, and the second never comes."""
    return held_after(client_hello())(address, end, scale)


def half_a_client_hello(address, end, scale):
    return held_after(client_hello()[:100])(address, end, scale)


def unread(path, message, ends):
    """40 connections with 250 calls each that open no window for the answers."""
    prefixed = b"\x00" + struct.pack(">I", len(message)) + message
    calls = b"".join(
        frame(HEADERS, END_HEADERS, stream, call_headers(path)) + frame(DATA, ends, stream, prefixed)
        for stream in range(1, 501, 2))

    def attack(address, end, scale):
        return crowd(address, end, 40 * scale, DEAF_START + calls)

    return attack


unread_reflection = unread(REFLECTION, field(4, b"orbserve.v1.Features"), 0)
unread_health = unread(WATCH, b"", END_STREAM)
