# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 frames made by hand, so that attackers may break every rule."""

import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9

END_STREAM, ACK, END_HEADERS = 1, 1, 4

INITIAL_WINDOW_SIZE = 4  # a setting
LARGEST_FRAME = 16384  # payload, unless a setting allows more


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value):
    """A string literal of HPACK without Huffman code."""
    value = value.encode() if isinstance(value, str) else value
    return integer(len(value), 7) + value


def integer(value, bits, flags=0):
    """An integer of HPACK with a prefix of `bits` bits."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([flags | value])
    out = bytearray([flags | most])
    value -= most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def literal(name, value):
    """A header field that does not enter the table of either side."""
    return b"\x00" + text(name) + text(value)


def call_headers(path):
    """The header block of a gRPC call."""
    return (
        b"\x83\x86"  # :method POST, :scheme http
        + literal(":path", path)
        + literal(":authority", "localhost")
        + literal("te", "trailers")
        + literal("content-type", "application/grpc")
    )


def connect(address, timeout_s=10.0, source=None):
    """A socket to HOST:PORT or unix:PATH; with TLS to tls:HOST:PORT, whose certificate is not looked at."""
    if address.startswith("tls:"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        return context.wrap_socket(connect(address[len("tls:"):], timeout_s, source))
    if address.startswith("unix:"):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(timeout_s)
        made.connect(address[len("unix:"):])
        return made
    host, port = address.rsplit(":", 1)
    made = socket.create_connection((host.strip("[]"), int(port)), timeout_s, source)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def connect_http2(address, acknowledge=True, source=None):
    """A socket that has sent the preface and, if `acknowledge`, takes the server's settings."""
    made = connect(address, source=source)
    start = PREFACE + frame(SETTINGS, 0, 0)
    if acknowledge:
        start += frame(SETTINGS, ACK, 0)
    made.sendall(start)
    return made
