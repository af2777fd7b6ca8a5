# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The stream of frames of the blocking client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

import grpc

from . import _outbox
from ._errors import CancelledError, OrbserveError, error_of, from_rpc
from ._images import Frame, Image
from ._outbox import Request
from ._results import FrameResult, StreamEvent
from ._session import Session, StreamLink
from ._stream_base import StreamBase
from ._stream_options import StreamOptions


class _Connection:
    """One call of StreamFrames."""

    call: Any = None
    opened = False  # the server has answered the opening
    closed = False  # no further message goes over it
    written: float | None = None  # time of the steady clock at which the opening was on its way


class FrameStream(StreamBase):
    """Stream of one camera's frames: frames in, exactly one result for each frame out, in the order of the frames.

    Made by `Client.stream()`. One thread sends and one receives, or `run()` does both. A single thread may do both by
    itself with `try_send()` and `poll()`. Use it in a `with` statement, or call `close()`.
    """

    def __init__(
        self,
        method: Any,
        metadata: tuple[tuple[str, str], ...],
        session: Session,
        on_event: Callable[[StreamEvent], None] | None,
        timeout: float | None,
    ) -> None:
        """Opens the stream. Use `Client.stream()`."""
        super().__init__(method, metadata, session, on_event)
        # Guards the session and the connection's flags.
        self._changed = threading.Condition()
        self._connection: _Connection | None = None  # the latest one, perhaps not open yet
        connection = self._connect(session.open(timeout))
        if connection is None:
            raise self._session.error or CancelledError(grpc.StatusCode.CANCELLED, "the stream has ended")
        self._reader = threading.Thread(target=self._read_all, args=(connection,), name="orbserve stream", daemon=True)
        self._reader.start()

    def __enter__(self) -> FrameStream:
        """Returns the stream itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the stream."""
        self.close()

    @property
    def link(self) -> StreamLink:
        """State of the way to the server, and frames that the client has given up."""
        with self._changed:
            return self._session.link

    @property
    def finished(self) -> bool:
        """The stream has ended, and all of its results were received."""
        with self._changed:
            return self._session.finished and not self._session.deliveries

    # -- the sending thread --------------------------------------------------------------------------------------------

    def send(self, image: Image | Frame) -> None:
        """Sends a frame. With BLOCK it waits while the server holds the stream back, or the stream connects again. With
        NEWEST and OLDEST it returns at once, and a frame that has to go is dropped, here or on the server; only a
        caller who leaves thousands of results waits.

        A frame that cannot be sent, such as an array of floats or a path without a file, fails alone: its result has an
        InvalidInputError without a reason, whose `__cause__` is what went wrong, and the stream goes on.

        Raises the error that has ended the stream, CancelledError after `close()`, and ValueError after `close_send()`.
        """
        self._put(self._session.frame_request(image))

    def try_send(self, image: Image | Frame) -> bool:
        """As `send()`, but it does not wait. False: the frame was not taken, as `send()` would have to wait."""
        with self._changed:
            if self._session.is_full():
                return False
        if self._put(self._session.frame_request(image), waits=False):
            return True
        self._session.take_back()
        return False

    def reopen(self, options: StreamOptions) -> None:
        """Changes the options of all frames that are sent later. A server that refuses them ends the stream."""
        self._put(_outbox.opening(options))

    def close_send(self) -> None:
        """Tells the server that no more frames follow. A frame that waits is still sent."""
        with self._changed:
            self._session.send_closed = True
            self._stop_needless_try()
            self._changed.notify_all()

    def _put(self, request: Request, waits: bool = True) -> bool:
        session = self._session
        with self._changed:
            while True:
                if session.send_closed:
                    raise ValueError("no frame can be sent after close_send()")
                if session.finished or session.cancelled:
                    raise session.error or CancelledError(grpc.StatusCode.CANCELLED, "the stream has ended")
                if session.offer(request):
                    self._changed.notify_all()
                    return True
                if not waits:
                    return False
                self._changed.wait(session.until_expiry(request))

    # -- the receiving thread ------------------------------------------------------------------------------------------

    def receive(self) -> FrameResult | None:
        """Waits for the next result. None: the stream has ended well, after `close_send()` and a result for every
        frame.

        A frame that failed has its `error` set, and the stream goes on. Raises the error that has ended the stream.
        """
        return self._next(None)

    def poll(self, timeout: float = 0.0) -> FrameResult | None:
        """As `receive()`, but it waits for `timeout` seconds at most. None: there is no result yet, or `finished`."""
        return self._next(time.monotonic() + timeout)

    def _next(self, end: float | None) -> FrameResult | None:
        """The next result; None: there is none until `end`, a time of the steady clock, or at all."""
        session = self._session
        while True:
            with self._changed:
                while not session.deliveries and not session.finished:
                    if session.expire():
                        self._stop_needless_try()
                        self._changed.notify_all()
                        continue
                    left = None if end is None else end - time.monotonic()
                    if left is not None and left <= 0:
                        return None
                    self._changed.wait(_sooner(left, session.until_expiry()))
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

    def __iter__(self) -> Iterator[FrameResult]:
        """The results until the stream ends."""
        while (result := self.receive()) is not None:
            yield result

    def run(self, frames: Iterable[Image | Frame]) -> Iterator[FrameResult]:
        """Sends all frames from a thread of its own, and yields their results.

        An error of `frames` is raised here, after the results of the frames before it. An iteration that is given up
        cancels the stream.
        """
        failure: list[BaseException] = []

        def feed() -> None:
            try:
                for frame in frames:
                    self.send(frame)
            except OrbserveError:
                pass  # receive() raises what has ended the stream
            except BaseException as error:
                failure.append(error)
            self.close_send()

        feeder = threading.Thread(target=feed, name="orbserve frames", daemon=True)
        feeder.start()
        done = False
        try:
            yield from self
            done = True
        finally:
            if not done:
                self.cancel()
        if failure:
            raise failure[0]

    # -- any thread ----------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Ends the stream from any thread. `send()` and `receive()` raise CancelledError."""
        with self._changed:
            if self._session.finished:
                return
            self._session.cancelled = True
            connection = self._connection
            self._changed.notify_all()
        if connection is not None:
            connection.call.cancel()

    def close(self) -> None:
        """Cancels the stream unless it was received to its end, and waits until nothing of it is left."""
        self.cancel()
        self._reader.join()

    # -- gRPC's threads ------------------------------------------------------------------------------------------------

    def _requests(self, connection: _Connection, opening: bytes) -> Iterator[bytes]:
        """Messages of a connection. gRPC takes the next one when the one before is on its way.

        Frames wait for the answer to the opening: one that a refused connection had taken would be lost.
        """
        yield opening
        connection.written = time.monotonic()
        session = self._session
        while True:
            with self._changed:
                while True:
                    if connection.closed:
                        return
                    if connection.opened:
                        message = session.next_message()
                        if message is not None:
                            self._changed.notify_all()
                            break
                        if session.nothing_follows():
                            return
                    self._changed.wait()
            yield message

    # -- the reader's thread -------------------------------------------------------------------------------------------

    def _connect(self, timeout: float | None) -> _Connection | None:
        """Tries to connect, for `timeout` each time, as long as that makes sense. None: the stream has finished."""
        session = self._session
        while True:
            with self._changed:
                self._changed.wait_for(session.is_left, session.tries.wait())
                if session.is_left():
                    session.stop_trying()
                self._changed.notify_all()
                if session.finished:
                    return None
            try:
                return self._try(*session.tries.begin(timeout))
            except OrbserveError as error:
                with self._changed:
                    session.try_failed(error)
                    self._changed.notify_all()
                    if session.finished:
                        return None

    def _try(self, timeout: float | None, wait_for_server: bool) -> _Connection:
        """Opens a connection and waits for the server's answer."""
        session = self._session
        connection = _Connection()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            connection.call.cancel()

        # gRPC connects only while a call waits for it.
        connection.call = self._method(
            self._requests(connection, session.options.request()),
            metadata=self._metadata,
            wait_for_ready=wait_for_server,
        )
        with self._changed:
            self._connection = connection
        # A timer limits the opening only. A deadline of the call would end a healthy stream.
        timer = threading.Timer(timeout, expire) if timeout is not None else None
        try:
            if timer is not None:
                timer.start()
            with self._changed:
                self._stop_needless_try()  # it was needless before the call was there to be cancelled
            try:
                data = next(connection.call)
            except StopIteration:
                raise error_of(grpc.StatusCode.INTERNAL, "the server ended the stream without an answer") from None
            except grpc.RpcError as error:
                if expired.is_set():
                    text = f"the server did not answer the opening of the stream within {timeout:g} s"
                    raise error_of(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
                raise from_rpc(error, session.cancelled) from None
            with self._changed:
                if session.is_left():  # the call was cancelled
                    raise CancelledError(grpc.StatusCode.CANCELLED, "no more frames follow")
                session.connected(data, connection.written)
                connection.opened = True
                self._changed.notify_all()
        except BaseException:
            self._leave(connection)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return connection

    def _stop_needless_try(self) -> None:
        """Cancels a connection that is not open yet, perhaps to a server that cannot be reached, if no frame is left to
        be sent over it.
        """
        connection = self._connection
        if connection is not None and not connection.opened and self._session.is_left():
            connection.call.cancel()

    def _leave(self, connection: _Connection) -> None:
        with self._changed:
            connection.closed = True
            self._changed.notify_all()
        connection.call.cancel()

    def _read_all(self, first: _Connection) -> None:
        """Reads answers, and connects again, until the stream has finished."""
        connection: _Connection | None = first
        try:
            while connection is not None:
                error = self._read(connection)
                self._leave(connection)
                with self._changed:
                    self._session.ended(error)
                    self._changed.notify_all()
                connection = None if self._session.finished else self._connect(self._session.reconnect.try_timeout)
        finally:
            with self._changed:
                self._session.left()
                self._changed.notify_all()

    def _read(self, connection: _Connection) -> OrbserveError | None:
        """Reads a connection to its end."""
        session = self._session
        try:
            for data in connection.call:
                with self._changed:
                    session.take(data)
                    if session.going_away and session.reconnect.seconds > 0:
                        connection.closed = True  # the next frame goes over the next connection
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: session.may_read() or session.cancelled)
        except grpc.RpcError as error:
            return from_rpc(error, session.cancelled)
        except OrbserveError as error:
            return error  # the answer is wrong
        return None


def _sooner(one: float | None, other: float | None) -> float | None:
    """The shorter one of two times to wait; None: no limit."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
