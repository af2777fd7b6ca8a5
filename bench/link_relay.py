#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A TCP relay that is a slow, far or broken link between clients and a server.

  python bench/link_relay.py --server HOST:PORT [--listen HOST:PORT] [--rate MBIT] [--delay MS]

Prints the port on which it listens and reads commands from standard input, one a line, until its end:

  rate MBIT    limits each direction to so many Mbit/s, shared by all connections; 0 = no limit
  delay MS     adds so much to each direction
  stall        forwards nothing until `go`, and then everything
  silent       forwards nothing any more on the connections there are, and does not close them; new ones wait for `go`
  hard         resets the connections there are
  go           ends `stall` and `silent`
"""

import argparse
import asyncio
import contextlib
import os
import socket
import struct
import sys
import threading

CHUNK_BYTES = 16 << 10
# A router holds so much at its slower side. With more, no client could keep the delay small.
BUFFER_S = 0.02


class Relay:
    """Runs on a thread of its own. Its methods may be called from any thread."""

    def __init__(self, server, listen=("127.0.0.1", 0), rate_mbit=0.0, delay_ms=0.0):
        self.server = server
        self.rate_mbit = rate_mbit
        self.delay_ms = delay_ms
        self.free_s = [0.0, 0.0]  # loop time at which each direction has sent what it took
        self.connections = []
        self.listener = socket.create_server(listen)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.loop = asyncio.new_event_loop()
        self.open = asyncio.Event()
        self.open.set()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def rate(self, mbit):
        self._call(setattr, self, "rate_mbit", float(mbit))

    def delay(self, ms):
        self._call(setattr, self, "delay_ms", float(ms))

    def stall(self):
        self._call(self.open.clear)

    def go(self):
        self._call(self.open.set)

    def silent(self):
        def cut():
            self.open.clear()
            for connection in self.connections:
                connection["dead"] = True

        self._call(cut)

    def hard(self):
        def cut():
            for connection in self.connections:
                connection["dead"] = True
                for end in connection["ends"]:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                for task in connection["tasks"]:
                    task.cancel()

        self._call(cut)

    def close(self):
        async def end():
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.loop.stop()

        self.hard()
        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join()

    def _call(self, function, *arguments):
        done = threading.Event()

        def run():
            function(*arguments)
            done.set()

        self.loop.call_soon_threadsafe(run)
        done.wait(10)

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.create_task(self._accept())
        self.loop.run_forever()
        self.listener.close()

    async def _accept(self):
        while True:
            await self.open.wait()
            near, _ = await self.loop.sock_accept(self.listener)
            self.loop.create_task(self._connect(near))

    async def _connect(self, near):
        near.setblocking(False)
        far = socket.socket()
        far.setblocking(False)
        await self.open.wait()
        try:
            await self.loop.sock_connect(far, self.server)
        except OSError:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            near.close()
            far.close()
            return
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = {"dead": False, "ends": (near, far), "tasks": []}
        self.connections.append(connection)
        for direction, (source, sink) in enumerate(((near, far), (far, near))):
            queue = asyncio.Queue()
            for part in (self._take(direction, source, queue), self._give(connection, sink, queue)):
                connection["tasks"].append(self.loop.create_task(part))
        try:
            # One end that is gone takes the other with it, once what it sent has been given. A dead connection stays.
            await asyncio.gather(*connection["tasks"], return_exceptions=True)
        finally:
            self.connections.remove(connection)
            near.close()
            far.close()

    async def _take(self, direction, source, queue):
        """Reads as fast as the link sends, and notes when each piece arrives at its other end."""
        data = b"-"
        while data:
            try:
                data = await self.loop.sock_recv(source, CHUNK_BYTES)
            except OSError:
                data = b""
            begin = max(self.loop.time(), self.free_s[direction])
            seconds = len(data) * 8e-6 / self.rate_mbit if self.rate_mbit > 0 else 0.0
            self.free_s[direction] = begin + seconds
            queue.put_nowait((begin + seconds + self.delay_ms / 1e3, data))
            ahead = begin + seconds - self.loop.time() - BUFFER_S
            if ahead > 0:
                await asyncio.sleep(ahead)

    async def _give(self, connection, sink, queue):
        data = b"-"
        while data:
            due, data = await queue.get()
            wait = due - self.loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            await self.open.wait()
            if connection["dead"]:
                await asyncio.Event().wait()
            with contextlib.suppress(OSError):
                if data:
                    await self.loop.sock_sendall(sink, data)
                else:
                    sink.shutdown(socket.SHUT_WR)


def address_of(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=address_of, required=True)
    parser.add_argument("--listen", type=address_of, default=("127.0.0.1", 0))
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--delay", type=float, default=0)
    options = parser.parse_args()
    relay = Relay(options.server, options.listen, options.rate, options.delay)
    print(relay.port, flush=True)
    for line in sys.stdin:
        name, *values = line.split()
        if name not in ("rate", "delay", "stall", "silent", "hard", "go"):
            sys.exit(f"{sys.argv[0]}: unknown command {name}")
        getattr(relay, name)(*values)
        print(name, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
