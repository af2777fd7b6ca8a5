# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, overload
from weakref import WeakSet

import grpc
import grpc.aio
import numpy.typing as npt

from . import _calls
from ._calls import Call, Reference, References, StoredReference
from ._client import _frame
from ._connection import Path_, make_target, retry_delay
from ._errors import CancelledError, OrbserveError, error_of, from_rpc
from ._features import Features, Matches
from ._generated import DropPolicy, FrameParameters, MatchOptions, Pipeline, PixelFormat, ServerInfo, StreamOpened
from ._images import Frame, Image, Keypoints
from ._session import MAX_WAITING, FrameResult, Reconnect, Request, Session, StreamEvent, StreamOptions

T = TypeVar("T")

_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # the stubs lack it


class AsyncClient:
    """A connection to one server for asyncio. Methods, arguments and errors are those of `Client`.

    Belongs to the event loop that it is first used in. Images are read and written into messages on the loop's thread.
    Use it in an `async with` statement, or call `close()`.
    """

    def __init__(
        self,
        address: str = "127.0.0.1:50051",
        *,
        client_id: str | None = None,
        tls_ca: Path_ | None = None,
        tls_cert: Path_ | None = None,
        tls_key: Path_ | None = None,
        token: str | None = None,
        token_file: Path_ | None = None,
        timeout: float | None = None,
    ) -> None:
        """As `Client`."""
        self._target = make_target(
            address,
            client_id=client_id,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            token=token,
            token_file=token_file,
        )
        self._timeout = timeout
        self._made: grpc.aio.Channel | None = None
        self._streams: WeakSet[AsyncFrameStream] = WeakSet()
        self._methods: dict[str, Any] = {}

    @property
    def _channel(self) -> grpc.aio.Channel:
        # Made at the first use, which is inside of the loop that it belongs to.
        if self._made is None:
            target = self._target
            if target.credentials is None:
                self._made = grpc.aio.insecure_channel(target.address, target.options)
            else:
                self._made = grpc.aio.secure_channel(target.address, target.credentials, target.options)
        return self._made

    async def __aenter__(self) -> AsyncClient:
        """Returns the client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connection."""
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Streams end with CancelledError, calls under way with that of asyncio."""
        for stream in list(self._streams):
            await stream.cancel()
        if self._made is not None:
            await self._made.close(None)

    @property
    def address(self) -> str:
        """The address that the client was made with."""
        return self._target.address

    async def extract(
        self,
        image: Image | Frame,
        pipeline: Pipeline | str = "orb",
        *,
        mask: npt.NDArray[Any] | None = None,
        keypoints: Keypoints | Features | None = None,
        format: PixelFormat | str | None = None,
        parameters: FrameParameters | None = None,
        timeout: float | None = None,
    ) -> Features:
        """As `Client.extract`."""
        frame = _frame(image, mask=mask, keypoints=keypoints, format=format, parameters=parameters)
        return await self._call(_calls.extract(frame, pipeline), timeout)

    @overload
    def extract_many(
        self,
        images: Iterable[Image | Frame] | AsyncIterable[Image | Frame],
        pipeline: Pipeline | str = ...,
        *,
        in_flight: int = ...,
        attempts: int = ...,
        errors: Literal["raise"] = ...,
        timeout: float | None = ...,
    ) -> AsyncIterator[Features]: ...

    @overload
    def extract_many(
        self,
        images: Iterable[Image | Frame] | AsyncIterable[Image | Frame],
        pipeline: Pipeline | str = ...,
        *,
        in_flight: int = ...,
        attempts: int = ...,
        errors: Literal["return"],
        timeout: float | None = ...,
    ) -> AsyncIterator[Features | Exception]: ...

    def extract_many(
        self,
        images: Iterable[Image | Frame] | AsyncIterable[Image | Frame],
        pipeline: Pipeline | str = "orb",
        *,
        in_flight: int = 16,
        attempts: int = 6,
        errors: Literal["raise", "return"] = "raise",
        timeout: float | None = None,
    ) -> AsyncIterator[Features | Exception]:
        """As `Client.extract_many`. `images` may be asynchronous, too."""
        if in_flight < 1 or attempts < 1:
            raise ValueError(f"in_flight and attempts must be at least 1; got {in_flight} and {attempts}")
        if errors not in ("raise", "return"):
            raise ValueError(f'errors must be "raise" or "return"; got {errors!r}')
        return self._extract_many(images, pipeline, in_flight, attempts, errors == "return", timeout)

    async def _extract_many(
        self,
        images: Iterable[Image | Frame] | AsyncIterable[Image | Frame],
        pipeline: Pipeline | str,
        in_flight: int,
        attempts: int,
        return_errors: bool,
        timeout: float | None,
    ) -> AsyncIterator[Features | Exception]:
        pending: deque[asyncio.Task[Features | Exception]] = deque()

        async def outcome() -> Features | Exception:
            found = await pending.popleft()
            if isinstance(found, Exception) and not return_errors:
                raise found
            return found

        try:
            async for image in _each(images):
                if len(pending) == in_flight:
                    yield await outcome()
                pending.append(asyncio.create_task(self._try(image, pipeline, attempts, timeout)))
            while pending:
                yield await outcome()
        finally:
            for task in pending:
                task.cancel()

    async def _try(
        self, image: Image | Frame, pipeline: Pipeline | str, attempts: int, timeout: float | None
    ) -> Features | Exception:
        try:
            call = _calls.extract(image, pipeline)
        except (OSError, ValueError, TypeError, ImportError) as error:
            return error
        attempt = 1
        while True:
            try:
                return await self._call(call, timeout)
            except OrbserveError as error:
                if not error.may_pass or attempt >= attempts:
                    return error
                await asyncio.sleep(retry_delay(error, attempt))
                attempt += 1

    async def match(
        self,
        query: Image | Frame | Features,
        train: Image | Frame | Features | Reference,
        options: MatchOptions | None = None,
        *,
        pipeline: Pipeline | str = "orb",
        timeout: float | None = None,
    ) -> Matches:
        """As `Client.match`."""
        return await self._call(_calls.match(query, train, options, pipeline), timeout)

    async def put_reference(
        self,
        name: str,
        content: Image | Frame | Features,
        pipeline: Pipeline | str = "orb",
        *,
        timeout: float | None = None,
    ) -> StoredReference:
        """As `Client.put_reference`."""
        return await self._call(_calls.put_reference(name, content, pipeline), timeout)

    async def delete_reference(self, name: str, *, timeout: float | None = None) -> None:
        """As `Client.delete_reference`."""
        await self._call(_calls.delete_reference(name), timeout)

    async def list_references(self, *, timeout: float | None = None) -> References:
        """As `Client.list_references`."""
        listed: list[Any] = []
        token = ""
        while True:
            page, token = await self._call(_calls.list_references(token, listed), timeout)
            listed += page.references
            if not token:
                return References(tuple(listed), page.used_bytes, page.capacity_bytes)

    def stream(
        self,
        pipeline: Pipeline | str = "orb",
        *,
        drop_policy: DropPolicy | str = DropPolicy.BLOCK,
        deadline_ms: int = 0,
        match_previous: bool = False,
        match_keyframe: bool = False,
        references: Sequence[str] = (),
        track: bool = False,
        omit_features: bool = False,
        keyframe_every: int = 0,
        keyframe_lost_percent: int = 0,
        reconnect: Reconnect | float = 0,
        on_event: Callable[[StreamEvent], None] | None = None,
        timeout: float | None = None,
    ) -> AsyncFrameStream:
        """As `Client.stream`, but the stream is opened by `async with`."""
        options = StreamOptions(
            pipeline=pipeline,
            drop_policy=drop_policy,
            deadline_ms=deadline_ms,
            match_previous=match_previous,
            match_keyframe=match_keyframe,
            references=references,
            track=track,
            omit_features=omit_features,
            keyframe_every=keyframe_every,
            keyframe_lost_percent=keyframe_lost_percent,
        )
        stream = AsyncFrameStream(
            self._channel.stream_stream(_calls.STREAM_METHOD, None, None),
            self._target.metadata,
            options,
            Reconnect.of(reconnect),
            on_event,
            self._timeout if timeout is None else timeout,
        )
        self._streams.add(stream)
        return stream

    async def info(self, *, timeout: float | None = None) -> ServerInfo:
        """As `Client.info`."""
        return await self._call(_calls.info(), timeout)

    async def health(self, service: str = "", *, timeout: float | None = None) -> bool:
        """As `Client.health`."""
        return await self._call(_calls.health(service), timeout)

    async def _call(self, call: Call[T], timeout: float | None) -> T:
        method = self._methods.get(call.method)
        if method is None:
            method = self._methods[call.method] = self._channel.unary_unary(call.method, None, None)
        limit = self._timeout if timeout is None else timeout
        try:
            data = await method(call.request, timeout=limit, metadata=self._target.metadata)
        except grpc.RpcError as error:
            raise from_rpc(error) from None
        return call.answer(data)


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
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
        self.writer: asyncio.Task[None] | None = None


class AsyncFrameStream:
    """Stream of one camera's frames for asyncio. Made by `AsyncClient.stream()`; methods and errors are those of
    `FrameStream`.

    `async with` opens it and, at its end, cancels it unless it was received to its end.
    """

    def __init__(
        self,
        method: Any,
        metadata: tuple[tuple[str, str], ...],
        options: StreamOptions,
        reconnect: Reconnect,
        on_event: Callable[[StreamEvent], None] | None,
        timeout: float | None,
    ) -> None:
        """Use `AsyncClient.stream()`."""
        self._method = method
        self._metadata = metadata
        self._on_event = on_event
        self._timeout = timeout
        self._session = Session(options, reconnect)
        self._changed = asyncio.Condition()
        self._slot: Request | None = None  # the next message for the server
        self._connection: _Connection | None = None
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> AsyncFrameStream:
        """Opens the stream, and waits for the server's answer."""
        connection = await self._connect(self._session.begin(self._timeout))
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
    def opened(self) -> StreamOpened:
        """As `FrameStream.opened`."""
        assert self._session.opened is not None, "the stream is opened by `async with`"
        return self._session.opened

    @property
    def going_away(self) -> bool:
        """As `FrameStream.going_away`."""
        return self._session.going_away

    # -- sending -------------------------------------------------------------------------------------------------------

    async def send(self, image: Image | Frame) -> None:
        """As `FrameStream.send`."""
        await self._put(self._session.frame_request(image))

    async def reopen(self, options: StreamOptions) -> None:
        """As `FrameStream.reopen`."""
        await self._put(Request(options.request(), options))

    async def close_send(self) -> None:
        """As `FrameStream.close_send`."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._slot is None or self._over())
            self._session.send_closed = True
            # It may wait for a server that cannot be reached, and would have nothing to do.
            if self._connection is not None and not self._connection.opened:
                self._connection.call.cancel()
            self._changed.notify_all()

    async def _put(self, request: Request) -> None:
        session = self._session
        async with self._changed:
            if session.send_closed:
                raise ValueError("no frame can be sent after close_send()")
            await self._changed.wait_for(lambda: self._takes(request) or self._over())
            if self._over():
                raise session.error or CancelledError(grpc.StatusCode.CANCELLED, "the stream has ended")
            if request.error is not None:
                session.sent(request)
            else:
                self._slot = request
            self._changed.notify_all()

    def _takes(self, request: Request) -> bool:
        # The frames before a frame that cannot be sent have been sent when the slot is empty.
        return self._slot is None and (request.error is None or self._session.has_place_for_failed())

    def _over(self) -> bool:
        return self._session.finished or self._session.cancelled

    # -- receiving -----------------------------------------------------------------------------------------------------

    async def receive(self) -> FrameResult | None:
        """As `FrameStream.receive`."""
        session = self._session
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: session.deliveries or session.finished)
                if not session.deliveries:
                    if session.error is not None:
                        raise session.error
                    return None
                delivery = session.deliveries.popleft()
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
                async for frame in _each(frames):
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
                self._connection.call.cancel()
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
            while True:
                async with self._changed:
                    await self._changed.wait_for(
                        lambda: connection.closed or self._slot is not None or self._session.send_closed
                    )
                    request = self._slot
                    if connection.closed or request is None:
                        break
                    self._slot = None
                    self._session.sent(request)
                    self._changed.notify_all()
                await connection.call.write(request.data)
            await connection.call.done_writing()
        except (grpc.RpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            pass  # the reader learns why the connection has ended

    async def _connect(self, timeout: float | None) -> _Connection | None:
        """Tries to connect, for `timeout` each time, as long as that makes sense. None: the stream has finished."""
        session = self._session
        while True:
            async with self._changed:
                with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                    stop = self._changed.wait_for(lambda: session.cancelled or session.send_closed)
                    await asyncio.wait_for(stop, session.wait_before_try())
                if session.cancelled or session.send_closed:
                    session.stop_trying()
                self._changed.notify_all()
                if session.finished:
                    return None
            try:
                return await self._try(*session.begin_try(timeout))
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
                data = await asyncio.wait_for(self._open(connection, session.options.request()), timeout)
            except (asyncio.TimeoutError, TimeoutError):
                text = f"the server did not answer the opening of the stream within {timeout:g} s"
                raise error_of(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
            except grpc.RpcError as error:
                raise from_rpc(error, session.cancelled) from None
            except asyncio.CancelledError:
                # gRPC raises it for a call that was cancelled, too, and asyncio for a task that was.
                if not session.cancelled and not session.send_closed:
                    raise
                raise error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled") from None
            if data is _EOF:
                raise error_of(grpc.StatusCode.INTERNAL, "the server ended the stream without an answer")
            async with self._changed:
                if session.send_closed:  # the call was cancelled
                    raise CancelledError(grpc.StatusCode.CANCELLED, "no more frames follow")
                session.connected(data)
                connection.opened = True
                self._changed.notify_all()
        except BaseException:
            connection.call.cancel()
            raise
        connection.writer = asyncio.create_task(self._write_all(connection))
        return connection

    @staticmethod
    async def _open(connection: _Connection, opening: bytes) -> Any:
        with contextlib.suppress(asyncio.InvalidStateError):  # the call has ended already; reading says why
            await connection.call.write(opening)
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
                    await self._changed.wait_for(lambda: len(session.deliveries) < MAX_WAITING or session.cancelled)
        except grpc.RpcError as error:
            return from_rpc(error, session.cancelled)
        except asyncio.CancelledError:
            if not session.cancelled:
                raise
            return error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled")
        except OrbserveError as error:
            return error  # the answer is wrong
        return None
