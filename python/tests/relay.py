# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A relay in front of a server: a link of limited bandwidth, with a delay, that can be cut without a sign."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time

_CHUNK = 4096
_BUFFER_S = 0.005  # of data at the link's rate, as in a router


class Relay:
    """Listens on a port of this machine, and passes every connection on to a Unix socket.

    bits_per_second: of what clients send; None: no limit. delay_up, delay_down: seconds, of what clients and the server
    send.
    """

    def __init__(
        self, address: str, *, bits_per_second: float | None = None, delay_up: float = 0, delay_down: float = 0
    ) -> None:
        self._server = address.removeprefix("unix:")
        self._bits_per_second = bits_per_second
        self._delays = (delay_up, delay_down)
        self._is_cut = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.socket()
        # A small buffer: otherwise this machine takes what the link still has to carry.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * _CHUNK)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self) -> float:
        """From now on nothing arrives any more, and nobody is told. Returns the time."""
        self._is_cut.set()
        return time.monotonic()

    def mend(self) -> None:
        """New connections are passed on again. Those that were cut stay so."""
        self._is_cut = threading.Event()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            cut = self._is_cut
            server = socket.socket(socket.AF_UNIX)
            self._sockets += [client, server]
            if not cut.is_set():
                try:
                    server.connect(self._server)
                except OSError:
                    client.close()
                    continue
            for source, target, rate, delay in (
                (client, server, self._bits_per_second, self._delays[0]),
                (server, client, None, self._delays[1]),
            ):
                if source is server and cut.is_set():
                    continue
                chunks: queue.Queue[tuple[float, bytes]] = queue.Queue()
                threading.Thread(target=_read, args=(source, chunks, rate, delay, cut), daemon=True).start()
                threading.Thread(target=_write, args=(target, chunks, cut), daemon=True).start()


def _read(
    source: socket.socket,
    chunks: queue.Queue[tuple[float, bytes]],
    rate: float | None,
    delay: float,
    cut: threading.Event,
) -> None:
    free = 0.0  # time from which on the link carries the next chunk
    data = b"begun"
    while data:
        try:
            data = source.recv(_CHUNK if rate else 16 * _CHUNK)
        except OSError:
            data = b""
        now = time.monotonic()
        free = max(now, free) + (len(data) * 8 / rate if rate else 0)
        if not cut.is_set():
            chunks.put((free + delay, data))
        time.sleep(max(free - now - _BUFFER_S, 0))


def _write(target: socket.socket, chunks: queue.Queue[tuple[float, bytes]], cut: threading.Event) -> None:
    while True:
        due, data = chunks.get()
        time.sleep(max(due - time.monotonic(), 0))
        if cut.is_set():
            return
        try:
            if not data:
                target.shutdown(socket.SHUT_RDWR)
                return
            target.sendall(data)
        except OSError:
            return
