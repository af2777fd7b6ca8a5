# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A stream of the blocking or of the asynchronous client, used in one way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orbserve
from orbserve import FrameResult, StreamEvent, StreamEventKind


class EitherStream:
    """A stream of either client, whose results and events are gathered. Its methods wait for the client's."""

    def __init__(self, asynchronous: bool, address: str, **options: Any) -> None:
        self.events: list[StreamEvent] = []
        self.lost = threading.Event()
        self._options = {"on_event": self._note, "reconnect": 30, **options}
        self._address = address
        self._asynchronous = asynchronous
        self._loop = asyncio.new_event_loop()
        self._ready: Future[Any] = Future()
        self._end = asyncio.Event()
        self._pool = ThreadPoolExecutor()

    def _note(self, event: StreamEvent) -> None:
        self.events.append(event)
        if event.kind == StreamEventKind.LOST:
            self.lost.set()

    def __enter__(self) -> EitherStream:
        if self._asynchronous:
            self._pool.submit(self._loop.run_until_complete, self._hold())
            self.stream = self._ready.result(60)
            self.results: Future[list[FrameResult]] = asyncio.run_coroutine_threadsafe(self._gather(), self._loop)
        else:
            self._client = orbserve.Client(self._address)
            self.stream = self._client.stream(**self._options)
            self.results = self._pool.submit(list, self.stream)
        return self

    async def _hold(self) -> None:
        async with orbserve.AsyncClient(self._address) as client:
            async with client.stream(**self._options) as stream:
                self._ready.set_result(stream)
                await self._end.wait()

    async def _gather(self) -> list[FrameResult]:
        return [result async for result in self.stream]

    def __exit__(self, *_: object) -> None:
        if self._asynchronous:
            self._loop.call_soon_threadsafe(self._end.set)
        else:
            self._client.close()
        with contextlib.suppress(orbserve.CancelledError):
            self.results.result(60)
        self._pool.shutdown()
        self._loop.close()

    def start(self, method: str, *arguments: Any) -> Future[Any]:
        """Begins a method of the stream."""
        call: Callable[..., Any] = getattr(self.stream, method)
        if self._asynchronous:
            return asyncio.run_coroutine_threadsafe(call(*arguments), self._loop)
        return self._pool.submit(call, *arguments)

    def send(self, image: Any) -> None:
        self.start("send", image).result(60)

    def finish(self) -> list[FrameResult]:
        self.start("close_send").result(60)
        return self.results.result(60)
