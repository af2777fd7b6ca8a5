# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, overload
from weakref import WeakSet

import grpc
import grpc.aio
import numpy.typing as npt

from . import _calls
from ._aio_stream import AsyncFrameStream, each
from ._calls import Call, Reference, References, StoredReference
from ._client import _frame
from ._connection import Path_, make_target, retry_delay
from ._errors import OrbserveError, from_rpc
from ._features import Features, Matches
from ._generated import DropPolicy, FrameParameters, MatchOptions, Pipeline, PixelFormat, ServerInfo
from ._images import Frame, Image, Keypoints
from ._jpeg import JpegEncoder
from ._reconnect import Reconnect
from ._results import StreamEvent
from ._session import Session
from ._stream_options import StreamOptions

T = TypeVar("T")


class _Room:
    """Calls of an iteration that are under way, and those that wait for the end of one."""

    def __init__(self) -> None:
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        await place

    def wake_one(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                return place.set_result(None)


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
        keepalive: float = 3.0,
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
            keepalive=keepalive,
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
        window: tuple[int, int] | None = None,
        parameters: FrameParameters | None = None,
        timeout: float | None = None,
    ) -> Features:
        """As `Client.extract`."""
        frame = _frame(image, mask=mask, keypoints=keypoints, format=format, window=window, parameters=parameters)
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
        pending: deque[tuple[int, asyncio.Task[Features | Exception] | Exception]] = deque()
        held = 0  # bytes of the requests in `pending`
        room = _Room()

        async def outcome() -> Features | Exception:
            nonlocal held
            size, entry = pending.popleft()
            found = entry if isinstance(entry, Exception) else await entry
            held -= size
            if isinstance(found, Exception) and not return_errors:
                raise found
            return found

        try:
            async for image in each(images):
                while pending and (len(pending) == in_flight or held >= _calls.MOST_BYTES):
                    yield await outcome()
                try:
                    call = _calls.extract(image, pipeline)
                except (OSError, ValueError, TypeError, ImportError) as error:
                    pending.append((0, error))
                else:
                    held += len(call.request)
                    pending.append((len(call.request), asyncio.create_task(self._try(call, attempts, timeout, room))))
            while pending:
                yield await outcome()
        finally:
            for _, entry in pending:
                if not isinstance(entry, Exception):
                    entry.cancel()

    async def _try(
        self, call: Call[Features], attempts: int, timeout: float | None, room: _Room
    ) -> Features | Exception:
        attempt = 1
        while True:
            room.running += 1
            try:
                answer = await self._call(call, timeout)
            except OrbserveError as error:
                room.running -= 1
                if error.reason == "QUOTA_EXCEEDED" and room.running > 0 and attempts > 1:
                    await room.wait()  # for one of its own calls, which hold the share
                    continue
                room.wake_one()
                if not error.may_pass or attempt >= attempts:
                    return error
                await asyncio.sleep(retry_delay(error, attempt))
                attempt += 1
            except BaseException:
                room.running -= 1
                raise
            else:
                room.running -= 1
                room.wake_one()
                return answer

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
        pipeline: Pipeline | str | None = None,
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
        waiting_frames: int = 1,
        jpeg_age: float | None = None,
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
        jpeg = None if jpeg_age is None else JpegEncoder(jpeg_age)
        stream = AsyncFrameStream(
            self._channel.stream_stream(_calls.STREAM_METHOD, None, None),
            self._target.metadata,
            Session(options, Reconnect.of(reconnect), waiting_frames, jpeg),
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
