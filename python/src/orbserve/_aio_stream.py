# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The stream of frames of the client for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

import grpc
import grpc.aio

from . import _outbox
from ._errors import CancelledError, OrbserveError, error_of, from_rpc
from ._images import Frame, Image
from ._outbox import Request
from ._results import FrameResult, StreamEvent
from ._session import Session, StreamLink
from ._stream_base import StreamBase
from ._stream_options import StreamOptions

T = TypeVar("T")

_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # the stubs lack it


async def each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    """The items of an iterable that may be asynchronous."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


class _Connection:
    """One call of StreamFrames."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.opened = False  # the server has answered the opening
        self.closed = False  # no further message goes over it
        self.written: float | None = None  # time of the steady clock at which the opening was on its way
        self.opening: asyncio.Task[Any] | None = None
        self.writer: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        self.call.cancel()
        # A call that waits for a server that cannot be reached does not wake up by that.
        if self.opening is not None and not self.opened:
            self.opening.cancel()


class AsyncFrameStream(StreamBase):
    """Stream of one camera's frames for asyncio. Made by `AsyncClient.stream()`; methods and errors are those of
    `FrameStream`.

    `async with` opens it and, at its end, cancels it unless it was received to its end.
    """

    def __init__(
        self,
        method: Any,
        metadata: tuple[tuple[str, str], ...],
        session: Session,
        on_event: Callable[[StreamEvent], None] | None,
        timeout: float | None,
    ) -> None:
        """Use `AsyncClient.stream()`."""
        super().__init__(method, metadata, session, on_event)
        self._timeout = timeout
        self._changed = asyncio.Condition()
        self._connection: _Connection | None = None
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> AsyncFrameStream:
        """Opens the stream, and waits for the server's answer."""
        connection = await self._connect(self._session.open(self._timeout))
        if connection is None:
            raise self._session.error or CancelledError(grpc.StatusCode.CANCELLED, "the stream has ended")
        self._reader = asyncio.create_task(self._read_all(connection))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the stream."""
        await self.close()

    @property
    def link(self) -> StreamLink:
        """As `FrameStream.link`."""
        return self._session.link

    # -- sending -------------------------------------------------------------------------------------------------------

    async def send(self, image: Image | Frame) -> None:
        """As `FrameStream.send`."""
        await self._put(self._session.frame_request(image))

    async def reopen(self, options: StreamOptions) -> None:
        """As `FrameStream.reopen`."""
        await self._put(_outbox.opening(options))

    async def close_send(self) -> None:
        """As `FrameStream.close_send`."""
        async with self._changed:
            self._session.send_closed = True
            self._stop_needless_try()
            self._changed.notify_all()

    async def _put(self, request: Request) -> None:
        session = self._session
        async with self._changed:
            while True:
                if session.send_closed:
                    raise ValueError("no frame can be sent after close_send()")
                if session.finished or session.cancelled:
                    raise session.error or CancelledError(grpc.StatusCode.CANCELLED, "the stream has ended")
                if session.offer(request):
                    self._changed.notify_all()
                    return
                await self._wait(session.until_expiry(request))

    async def _wait(self, seconds: float | None) -> None:
        """Waits for a change, at most so long; None: no limit."""
        if seconds is None:
            await self._changed.wait()
            return
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    # -- receiving -----------------------------------------------------------------------------------------------------

    async def receive(self) -> FrameResult | None:
        """As `FrameStream.receive`."""
        session = self._session
        while True:
            async with self._changed:
                while not session.deliveries and not session.finished:
                    if session.expire():
                        self._stop_needless_try()
                        self._changed.notify_all()
                        continue
                    await self._wait(session.until_expiry())
                if not session.deliveries:
                    if session.error is not None:
                        raise session.error
                    return None
                delivery = session.deliver()
                self._changed.notify_all()
            if isinstance(delivery, FrameResult):
                return delivery
            if self._on_event is not None:
                self._on_event(delivery)

    async def __aiter__(self) -> AsyncIterator[FrameResult]:
        """The results until the stream ends."""
        while (result := await self.receive()) is not None:
            yield result

    async def run(self, frames: Iterable[Image | Frame] | AsyncIterable[Image | Frame]) -> AsyncIterator[FrameResult]:
        """Sends all frames from a task of its own, and yields their results. `frames` may be asynchronous.

        An error of `frames` is raised here, after the results of the frames before it. An iteration that is given up
        cancels the stream.
        """

        async def feed() -> None:
            try:
                async for frame in each(frames):
                    await self.send(frame)
            except OrbserveError:
                pass  # receive() raises what has ended the stream
            finally:
                await self.close_send()

        feeder = asyncio.create_task(feed())
        done = False
        try:
            async for result in self:
                yield result
            done = True
        finally:
            if not done:
                await self.cancel()
                feeder.cancel()
        await feeder

    # -- the end -------------------------------------------------------------------------------------------------------

    async def cancel(self) -> None:
        """As `FrameStream.cancel`."""
        async with self._changed:
            if self._session.finished:
                return
            self._session.cancelled = True
            if self._connection is not None:
                self._connection.cancel()
            self._changed.notify_all()

    async def close(self) -> None:
        """As `FrameStream.close`."""
        await self.cancel()
        if self._reader is not None:
            await self._reader

    # -- connections ---------------------------------------------------------------------------------------------------

    async def _write_all(self, connection: _Connection) -> None:
        """Writes messages to a connection, until it is closed or no more follow."""
        try:
            while (message := await self._next_message(connection)) is not None:
                await connection.call.write(message)
            await connection.call.done_writing()
        except (grpc.RpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            pass  # the reader learns why the connection has ended

    async def _next_message(self, connection: _Connection) -> bytes | None:
        """Waits for the next message. None: none follows on this connection."""
        session = self._session
        async with self._changed:
            while not connection.closed:
                message = session.next_message()
                if message is not None:
                    self._changed.notify_all()
                    return message
                if session.nothing_follows():
                    return None
                await self._changed.wait()
        return None

    async def _connect(self, timeout: float | None) -> _Connection | None:
        """Tries to connect, for `timeout` each time, as long as that makes sense. None: the stream has finished."""
        session = self._session
        while True:
            async with self._changed:
                with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                    await asyncio.wait_for(self._changed.wait_for(session.is_left), session.tries.wait())
                if session.is_left():
                    session.stop_trying()
                self._changed.notify_all()
                if session.finished:
                    return None
            try:
                return await self._try(*session.tries.begin(timeout))
            except OrbserveError as error:
                async with self._changed:
                    session.try_failed(error)
                    self._changed.notify_all()
                    if session.finished:
                        return None

    async def _try(self, timeout: float | None, wait_for_server: bool) -> _Connection:
        """Opens a connection and waits for the server's answer."""
        session = self._session
        # gRPC connects only while a call waits for it.
        call = self._method(metadata=self._metadata, wait_for_ready=wait_for_server)
        connection = self._connection = _Connection(call)
        try:
            try:
                connection.opening = asyncio.create_task(self._open(connection, session.options.request()))
                data = await asyncio.wait_for(connection.opening, timeout)
            except (asyncio.TimeoutError, TimeoutError):
                text = f"the server did not answer the opening of the stream within {timeout:g} s"
                raise error_of(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
            except grpc.RpcError as error:
                raise from_rpc(error, session.cancelled) from None
            except asyncio.CancelledError:
                # gRPC raises it for a call that was cancelled, too, and asyncio for a task that was.
                if not session.is_left():
                    raise
                raise error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled") from None
            if data is _EOF:
                raise error_of(grpc.StatusCode.INTERNAL, "the server ended the stream without an answer")
            async with self._changed:
                if session.is_left():  # the call was cancelled
                    raise CancelledError(grpc.StatusCode.CANCELLED, "no more frames follow")
                session.connected(data, connection.written)
                connection.opened = True
                self._changed.notify_all()
        except BaseException:
            connection.call.cancel()
            raise
        connection.writer = asyncio.create_task(self._write_all(connection))
        return connection

    def _stop_needless_try(self) -> None:
        """As that of `FrameStream`."""
        connection = self._connection
        if connection is not None and not connection.opened and self._session.is_left():
            connection.cancel()

    @staticmethod
    async def _open(connection: _Connection, opening: bytes) -> Any:
        with contextlib.suppress(asyncio.InvalidStateError):  # the call has ended already; reading says why
            await connection.call.write(opening)
            connection.written = time.monotonic()
        return await connection.call.read()

    async def _read_all(self, first: _Connection) -> None:
        """Reads answers, and connects again, until the stream has finished."""
        connection: _Connection | None = first
        try:
            while connection is not None:
                error = await self._read(connection)
                connection.call.cancel()
                async with self._changed:
                    connection.closed = True
                    self._session.ended(error)
                    self._changed.notify_all()
                if connection.writer is not None:
                    await connection.writer
                if self._session.finished:
                    break
                connection = await self._connect(self._session.reconnect.try_timeout)
        finally:
            async with self._changed:
                self._session.left()
                self._changed.notify_all()

    async def _read(self, connection: _Connection) -> OrbserveError | None:
        """Reads a connection to its end."""
        session = self._session
        try:
            while (data := await connection.call.read()) is not _EOF:
                async with self._changed:
                    session.take(data)
                    if session.going_away and session.reconnect.seconds > 0:
                        connection.closed = True  # the next frame goes over the next connection
                    self._changed.notify_all()
                    await self._changed.wait_for(lambda: session.may_read() or session.cancelled)
        except grpc.RpcError as error:
            return from_rpc(error, session.cancelled)
        except asyncio.CancelledError:
            if not session.cancelled:
                raise
            return error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled")
        except OrbserveError as error:
            return error  # the answer is wrong
        return None
