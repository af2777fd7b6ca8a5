# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The client with blocking calls."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, overload
from weakref import WeakSet

import grpc
import numpy.typing as npt

from . import _calls
from ._calls import Call, Reference, References, StoredReference
from ._connection import Path_, make_target, retry_delay
from ._errors import OrbserveError, from_rpc
from ._features import Features, Matches
from ._generated import DropPolicy, FrameParameters, MatchOptions, Pipeline, PixelFormat, ServerInfo
from ._images import Frame, Image, Keypoints
from ._jpeg import JpegEncoder
from ._reconnect import Reconnect
from ._results import StreamEvent
from ._session import Session
from ._stream import FrameStream
from ._stream_options import StreamOptions

T = TypeVar("T")


class Client:
    """A connection to one server, with blocking calls.

    Thread-safe. It connects at the first call, and again by itself after a loss. Make it after a fork, not before:
    gRPC's threads do not live on in a child process. Every call raises an `OrbserveError` when it fails, ValueError or
    TypeError for arguments that are wrong before anything is sent, and OSError for files that cannot be read.

    Use it in a `with` statement, or call `close()`.
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
        """Prepares a connection. Nothing is sent before the first call.

        address: "HOST:PORT", "unix:PATH", or another target of gRPC, such as "dns:///features:50051".
        client_id: owner of references and quotas; with a certificate or token: its name, or NAME/PART. None: the
        connection.
        tls_ca: file of PEM certificates to check the server with. None: plain text.
        tls_cert, tls_key: PEM files with the client's certificate and its key without a pass phrase; both or neither.
        token, token_file: the token, or a file with the token in its first line. Only with TLS or on this machine.
        timeout: longest time of a call, or of the opening of a stream, seconds. None: no limit.
        keepalive: seconds within which a connection that is cut without a sign is found lost while a call or a stream
            is open, from 1.5. A third of it without a byte from the server, and the client asks (gRPC's keepalive);
            three fifths without an answer, and the connection is closed.

        ValueError for arguments that contradict each other, OSError for files that cannot be read.
        """
        target = make_target(
            address,
            client_id=client_id,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            token=token,
            token_file=token_file,
            keepalive=keepalive,
        )
        if target.credentials is None:
            self._channel = grpc.insecure_channel(address, target.options)
        else:
            self._channel = grpc.secure_channel(address, target.credentials, target.options)
        self._target = target
        self._timeout = timeout
        self._methods: dict[str, Any] = {}
        self._on_close: Callable[[], None] | None = None
        self._streams: WeakSet[FrameStream] = WeakSet()
        self._closed = False

    def __enter__(self) -> Client:
        """Returns the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connection."""
        self.close()

    def close(self) -> None:
        """Closes the connection. Calls under way and streams end with CancelledError, later calls with ValueError."""
        self._closed = True
        for stream in list(self._streams):
            stream.cancel()
        self._channel.close()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None

    @property
    def address(self) -> str:
        """The address that the client was made with."""
        return self._target.address

    # -- features ------------------------------------------------------------------------------------------------------

    def extract(
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
        """Finds and describes the features of one image.

        image: an array, the bytes of a file, or a path (`Image`); or a `Frame`, which has all that follows, too.
        pipeline: options, such as `Orb(max_features=2000)`, or the name of a preset, such as "vio".
        mask: (H, W), uint8 or bool: features lie only where it is not 0.
        keypoints: these are described, and nothing is detected.
        format: pixel format of an array that is not grey, BGR or BGRA, such as "rgb".
        window: values of a uint16 array that become black and white (`Frame.window`).
        parameters: options of this frame alone.
        timeout: seconds; None: that of the client.
        """
        frame = _frame(image, mask=mask, keypoints=keypoints, format=format, window=window, parameters=parameters)
        return self._call(_calls.extract(frame, pipeline), timeout)

    @overload
    def extract_many(
        self,
        images: Iterable[Image | Frame],
        pipeline: Pipeline | str = ...,
        *,
        in_flight: int = ...,
        attempts: int = ...,
        errors: Literal["raise"] = ...,
        timeout: float | None = ...,
    ) -> Iterator[Features]: ...

    @overload
    def extract_many(
        self,
        images: Iterable[Image | Frame],
        pipeline: Pipeline | str = ...,
        *,
        in_flight: int = ...,
        attempts: int = ...,
        errors: Literal["return"],
        timeout: float | None = ...,
    ) -> Iterator[Features | Exception]: ...

    def extract_many(
        self,
        images: Iterable[Image | Frame],
        pipeline: Pipeline | str = "orb",
        *,
        in_flight: int = 16,
        attempts: int = 6,
        errors: Literal["raise", "return"] = "raise",
        timeout: float | None = None,
    ) -> Iterator[Features | Exception]:
        """Extracts many images, with several calls under way at once, so that the server's batches fill.

        Answers come in the order of the images. `images` is read as answers are taken.

        in_flight: most calls under way, from 1; fewer where their images are large.
        attempts: most tries of an image, from 1. An image is tried again, after growing waits, when the server has no
            place for it, goes away or cannot be reached.
        errors: "raise": the first error ends the iteration; "return": the error stands in the place of the features. An
            image that cannot be read is an error, too.
        timeout: seconds of one try; None: that of the client.
        """
        if in_flight < 1 or attempts < 1:
            raise ValueError(f"in_flight and attempts must be at least 1; got {in_flight} and {attempts}")
        if errors not in ("raise", "return"):
            raise ValueError(f'errors must be "raise" or "return"; got {errors!r}')
        return self._extract_many(images, pipeline, in_flight, attempts, errors == "return", timeout)

    def _extract_many(
        self,
        images: Iterable[Image | Frame],
        pipeline: Pipeline | str,
        in_flight: int,
        attempts: int,
        return_errors: bool,
        timeout: float | None,
    ) -> Iterator[Features | Exception]:
        pending: deque[tuple[Call[Features], Any] | Exception] = deque()
        held = 0  # bytes of the requests in `pending`
        source = iter(images)
        more = True
        try:
            while more or pending:
                while more and len(pending) < in_flight and held < _calls.MOST_BYTES:
                    try:
                        image = next(source)
                    except StopIteration:
                        more = False
                        break
                    try:
                        call = _calls.extract(image, pipeline)
                    except (OSError, ValueError, TypeError, ImportError) as error:
                        pending.append(error)
                    else:
                        pending.append((call, self._start(call, timeout)))
                        held += len(call.request)
                if pending:
                    entry = pending.popleft()
                    outcome = self._outcome(entry, attempts, timeout)
                    held -= 0 if isinstance(entry, Exception) else len(entry[0].request)
                    if isinstance(outcome, Exception) and not return_errors:
                        raise outcome
                    yield outcome
        finally:
            for entry in pending:
                if not isinstance(entry, Exception):
                    entry[1].cancel()

    def _outcome(
        self, entry: tuple[Call[Features], Any] | Exception, attempts: int, timeout: float | None
    ) -> Features | Exception:
        """Waits for a call, and tries it again where that may help."""
        if isinstance(entry, Exception):
            return entry
        call, future = entry
        attempt = 1
        while True:
            try:
                return call.answer(future.result())
            except grpc.FutureCancelledError:
                raise
            except grpc.RpcError as failure:
                error = from_rpc(failure, self._closed)
            except OrbserveError as unreadable:
                return unreadable
            if not error.may_pass or attempt >= attempts:
                return error
            time.sleep(retry_delay(error, attempt))
            attempt += 1
            future = self._start(call, timeout)

    # -- matches and references ----------------------------------------------------------------------------------------

    def match(
        self,
        query: Image | Frame | Features,
        train: Image | Frame | Features | Reference,
        options: MatchOptions | None = None,
        *,
        pipeline: Pipeline | str = "orb",
        timeout: float | None = None,
    ) -> Matches:
        """Matches an image or features against others, or against a stored reference.

        query, train: an image, `Features`, or for `train` a `Reference("name")`.
        options: None, and options that are None: those of the pipeline.
        pipeline: for sides that are images.
        timeout: seconds; None: that of the client.

        ReferenceNotFoundError where the client has no such reference.
        """
        return self._call(_calls.match(query, train, options, pipeline), timeout)

    def put_reference(
        self,
        name: str,
        content: Image | Frame | Features,
        pipeline: Pipeline | str = "orb",
        *,
        timeout: float | None = None,
    ) -> StoredReference:
        """Stores features, or those of an image, under a name for later matches. An existing name gets a new version.

        name: 1..128 bytes of printable ASCII.
        """
        return self._call(_calls.put_reference(name, content, pipeline), timeout)

    def delete_reference(self, name: str, *, timeout: float | None = None) -> None:
        """Deletes a reference. ReferenceNotFoundError where the client has none of this name."""
        self._call(_calls.delete_reference(name), timeout)

    def list_references(self, *, timeout: float | None = None) -> References:
        """The references of this client. `timeout` is that of one page of 1000."""
        listed: list[Any] = []
        token = ""
        while True:
            page, token = self._call(_calls.list_references(token, listed), timeout)
            listed += page.references
            if not token:
                return References(tuple(listed), page.used_bytes, page.capacity_bytes)

    # -- streams -------------------------------------------------------------------------------------------------------

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
    ) -> FrameStream:
        """Opens a stream of one camera's frames, and waits for the server's answer.

        pipeline: of every frame. None: "orb", or with `track` a preset that tracks. A pipeline that tracks has a
            pyramid of factor 2, as "vio" has.
        drop_policy: frames that survive when server or link are too slow: "block" (all: `send()` waits), "newest" or
            "oldest" (`send()` returns at once).
        deadline_ms: most milliseconds from a frame's capture (`Frame.capture_time`, else `send()`) to the arrival of
            its result, which is DeadlineExceededError from then on; 0 = none. The frame takes the time along that is
            left when it is written, and is not sent without any.
        match_previous: match each frame against the last one before it that did not fail. Not with `omit_features`.
        match_keyframe: match each frame against the last keyframe before it.
        references: names of references to match each frame against, at most 16.
        track: keep tracks.
        omit_features: answer matches and tracks only.
        keyframe_every: one frame in so many becomes a keyframe; 0 = no such rule.
        keyframe_lost_percent: a frame becomes a keyframe when more than this share of the last one's tracks has ended,
            1..99; 0 = no such rule.
        waiting_frames: with "newest" and "oldest", most frames that wait here for the link, or for a connection.
        jpeg_age: seconds: frames that are arrays are sent as grey JPEG files, with a quality of 20 to 95 that keeps the
            age of results near this. None: as they are. Needs OpenCV or Pillow; ImportError without.
        reconnect: how to connect, and to connect again after a loss, or for how many seconds to try; 0: one try, and
            the loss ends the stream.
        on_event: called by `receive()` between the results that an event separates. It must not call the stream,
            except `cancel()`.
        timeout: seconds until the server must have answered; None: that of the client. With `reconnect`: longest time
            of one try to open the stream.
        """
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
        stream = FrameStream(
            self._channel.stream_stream(_calls.STREAM_METHOD, None, None),
            self._target.metadata,
            Session(options, Reconnect.of(reconnect), waiting_frames, jpeg),
            on_event,
            self._timeout if timeout is None else timeout,
        )
        self._streams.add(stream)
        return stream

    # -- the server ----------------------------------------------------------------------------------------------------

    def info(self, *, timeout: float | None = None) -> ServerInfo:
        """Version, backends, devices, presets with their values, and limits of the server."""
        return self._call(_calls.info(), timeout)

    def health(self, service: str = "", *, timeout: float | None = None) -> bool:
        """True if the server, or one service of it, is serving. An error if it cannot be reached."""
        return self._call(_calls.health(service), timeout)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _method(self, name: str) -> Any:
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = self._channel.unary_unary(name, None, None)
        return method

    def _call(self, call: Call[T], timeout: float | None) -> T:
        limit = self._timeout if timeout is None else timeout
        try:
            data = self._method(call.method)(call.request, timeout=limit, metadata=self._target.metadata)
        except grpc.RpcError as error:
            raise from_rpc(error, self._closed) from None
        return call.answer(data)

    def _start(self, call: Call[Any], timeout: float | None) -> Any:
        limit = self._timeout if timeout is None else timeout
        return self._method(call.method).future(call.request, timeout=limit, metadata=self._target.metadata)


def _frame(image: Image | Frame, **given: Any) -> Image | Frame:
    """The image with what was given beside it."""
    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        return image
    if isinstance(image, Frame):
        raise ValueError(f"a Frame has {', '.join(named)} of its own: set it there")
    return Frame(image, **named)
