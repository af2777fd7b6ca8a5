# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A stream of frames without its connection: what both clients do with messages, losses and waits."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import grpc

from . import _calls, _check, _codec, _outbox
from ._check import StreamCheck
from ._contract import wire
from ._errors import OrbserveError, UnavailableError, error_of, from_entry
from ._generated import DropPolicy, StreamOpened, TrackEnd
from ._images import Frame, Image
from ._jpeg import JpegEncoder
from ._outbox import Outbox, Request
from ._reconnect import Reconnect, Tries
from ._results import FrameResult, StreamEvent, StreamEventKind, failed_result, late_result, read_result
from ._stream_options import StreamOptions

# Answers of the server that wait for the caller before the stream stops reading, and with it the server.
MAX_WAITING = 16
# Results, most of them made here, that wait for a caller who never reads before a live stream holds `send()` back, too.
MAX_UNREAD = 4096

Delivery = FrameResult | StreamEvent


@dataclass(frozen=True)
class StreamLink:
    """State of a stream's way to the server, and what the client has given up on it."""

    window: int
    """Frames that may be unanswered at a time with NEWEST and OLDEST; it follows the link."""

    in_flight: int
    """Frames that were written and not answered."""

    delay: float | None
    """Least round trip less server time of the last ten seconds, in seconds. Before the first answer that of the
    opening; None: there is no connection.
    """

    limits: bool
    """The link is what makes results old, and not the server or the source: it keeps frames waiting (NEWEST, OLDEST),
    which a smaller format or `jpeg_age` cures, or `delay` is longer than the stream's deadline. The latter is known
    from the opening on.
    """

    dropped: int
    """Frames that the client dropped before they were sent, since the stream began."""

    expired: int
    """Frames whose deadline passed before they were sent."""

    late: int
    """Frames that the server answered in time and whose results came after their deadline."""

    jpeg_quality: int | None
    """Of the next frame that is an array, 20..95; None without `jpeg_age`."""


class Session:
    """State of a stream that outlives its connections. The owner guards it."""

    def __init__(
        self,
        options: StreamOptions,
        reconnect: Reconnect,
        waiting_frames: int = 1,
        jpeg: JpegEncoder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: steady, seconds. ValueError for a slot without a place."""
        if waiting_frames < 1:
            raise ValueError(f"waiting_frames must be at least 1; got {waiting_frames}")
        self.options = options  # the latest that were sent
        self.reconnect = reconnect
        self.tries = Tries(reconnect, clock)
        self.deliveries: deque[Delivery] = deque()
        self.opened: StreamOpened | None = None
        self.going_away = False  # the server of this connection has said that it stops
        self.send_closed = False
        self.cancelled = False
        self.finished = False
        self.error: OrbserveError | None = None  # with which the stream finished
        self._clock = clock
        self._jpeg = jpeg
        self._outbox = Outbox(waiting_frames, clock)
        self._offered = options  # of the next frame
        self._frames = 0  # that were made so far
        self._order: deque[Request] = deque()  # frames without a result, in the order of `send()`
        self._unread = 0  # answers of the server among the deliveries
        self._late = 0
        self._opening_delay: float | None = None  # of the connection
        self._checker: StreamCheck | None = None  # of the connection
        self._first_id = 0  # added to ids of tracks
        self._last_id = 0  # largest id of a track so far
        self._tracks: tuple[int, ...] = ()  # ids of this connection's latest result
        self._shown: frozenset[int] = frozenset()  # ids of the latest result that the caller has
        self._ended: dict[int, TrackEnd | None] = {}  # of connections before and of late results, not told yet

    @property
    def link(self) -> StreamLink:
        """State of the link."""
        box = self._outbox
        window = box.window
        delay = self._opening_delay if window.least_delay is None else window.least_delay
        deadline_ms = self._offered.deadline_ms
        is_too_far = deadline_ms > 0 and delay is not None and delay * 1000 > deadline_ms
        return StreamLink(
            window.size,
            box.in_flight,
            delay,
            box.limits or is_too_far,
            box.dropped,
            box.expired,
            self._late,
            None if self._jpeg is None else self._jpeg.quality,
        )

    # -- frames on their way out ---------------------------------------------------------------------------------------

    def frame_request(self, image: Image | Frame) -> Request:
        """The message of the next frame. One that no message can be made of has its `error` set."""
        number = self._frames
        self._frames += 1
        return _outbox.frame_request(image, number, self._offered.deadline_ms, self._clock(), self._jpeg)

    def take_back(self) -> None:
        """The latest frame that was made is not sent."""
        self._frames -= 1

    def offer(self, request: Request) -> bool:
        """Takes a message into the order of the stream. False: it has to wait for its place."""
        self.expire()
        policy = DropPolicy.of(self._offered.drop_policy)
        if request.options is not None:
            if not self._outbox.has_place(request, policy):
                return False
            self._offered = request.options
            self._outbox.put(request, policy)
            return True
        if request.error is None and self._outbox.is_late(request):
            self._outbox.give_up(request)
        if not self._has_place(request, policy):
            return False
        if request.error is None:
            self._outbox.put(request, policy)
        self._order.append(request)
        self._deliver_failed()
        return True

    def is_full(self) -> bool:
        """True if a good frame would have to wait for its place. False for a stream that takes none any more."""
        self.expire()
        over = self.send_closed or self.finished or self.cancelled
        return not over and not self._has_place(Request(), DropPolicy.of(self._offered.drop_policy))

    def _has_place(self, request: Request, policy: DropPolicy) -> bool:
        waiting = len(self.deliveries) + len(self._order)
        if policy != DropPolicy.BLOCK:
            return waiting < MAX_UNREAD
        if request.error is None:
            return self._outbox.has_place(request, policy)
        # No server holds back a caller who only sends what cannot be sent.
        return waiting < MAX_WAITING + (self.opened.max_in_flight if self.opened is not None else 0)

    def next_message(self) -> bytes | None:
        """Takes the next message for an open connection. None: there is none now."""
        request = self._outbox.next(DropPolicy.of(self.options.drop_policy))
        self._deliver_failed()  # what has expired
        if request is None:
            return None
        assert self._checker is not None
        assert request.written is not None
        data = request.data(request.written)
        request.head = request.tail = b""
        if request.options is not None:
            self.options = request.options
            self._checker.sent(request.options.references)
        else:
            self._checker.sent(request.frame)
        return data

    def nothing_follows(self) -> bool:
        """True if the caller sends no more frames, and none waits."""
        return self.send_closed and not self._outbox.waiting

    def expire(self) -> bool:
        """Ends the frames that wait and whose budgets have passed. True if there were any."""
        expired = self._outbox.expire()
        self._deliver_failed()
        return expired

    def until_expiry(self, *more: Request) -> float | None:
        """Seconds until the budget of a frame that waits, here or before its place, passes; None: no such frame."""
        return self._outbox.until_expiry(*more)

    def _deliver_failed(self) -> None:
        """Delivers the frames that were not sent and whose turn has come."""
        while self._order and (error := self._order[0].error) is not None:
            self._fail(self._order.popleft(), error)

    def _fail(self, request: Request, error: OrbserveError) -> None:
        self.deliveries.append(failed_result(request.frame, error, self._clock() - request.captured))

    # -- answers -------------------------------------------------------------------------------------------------------

    def connected(self, data: bytes, written: float | None = None) -> None:
        """A connection's first answer; `written`: time at which its opening was. UnavailableError: the server is about
        to stop; ServerError: a wrong answer.
        """
        _calls.readable(self._connected, data)
        self._opening_delay = None if written is None else self._clock() - written

    def _connected(self, data: bytes) -> None:
        message = wire.StreamFramesResponse.FromString(data)
        kind = message.WhichOneof("message")
        if kind == "going_away":
            stop = from_entry(message.going_away.status)
            raise stop or error_of(grpc.StatusCode.UNAVAILABLE, "the server is about to stop")
        if kind != "opened":
            raise _check.WrongAnswerError("message", kind or "not set", "opened, as the first one")
        self._checker = StreamCheck(message.opened, self.options.references)
        again = self.opened is not None
        self.opened = StreamOpened._from_wire(message.opened)
        self.going_away = False
        self.tries.connected()
        self._first_id = self._last_id
        self._ended.update(dict.fromkeys(self._tracks, TrackEnd.RECONNECTED))
        self._tracks = ()
        if again:
            attempts = self.tries.attempts
            self._tell(StreamEvent(StreamEventKind.RECONNECTED, attempts=attempts, opened=self.opened))
        else:
            self.tries.proved()

    def take(self, data: bytes) -> None:
        """A further answer of the connection. ServerError for a wrong one."""
        _calls.readable(self._take, data)

    def _take(self, data: bytes) -> None:
        assert self._checker is not None
        rest, found = _codec.split(data, (15,))
        if found[15]:
            self._take_result(_codec.join(found[15]), self._checker)
            return
        message = wire.StreamFramesResponse.FromString(rest)
        kind = message.WhichOneof("message")
        if kind == "opened":
            self._checker.opened(message.opened)
            self.opened = StreamOpened._from_wire(message.opened)
            self._tell(StreamEvent(StreamEventKind.REOPENED, opened=self.opened))
        elif kind == "going_away":
            self._checker.going_away(message.going_away)
            self.going_away = True
            stop = from_entry(message.going_away.status)
            self._tell(StreamEvent(StreamEventKind.GOING_AWAY, error=stop))
        elif not rest:  # fields that only a later version knows are passed over
            raise _check.WrongAnswerError("message", "not set", "opened, result or going_away")

    def _take_result(self, data: _codec.Bytes, checker: StreamCheck) -> None:
        now = self._clock()
        # The checker refuses a result when no frame was written.
        sent = self._order[0] if self._order and self._order[0].written is not None else Request()
        age, round_trip = now - sent.captured, now - (sent.written or 0)
        result = read_result(data, self._first_id, checker, age, round_trip)
        self._order.popleft()
        self._outbox.answered(sent, result.server_time if result.error is None else None)
        self.tries.proved()
        if self._jpeg is not None and result.error is None:
            self._jpeg.answered(sent.captured, age, round_trip - result.server_time, result.server_time, now)
        # A server counts its tracks anew on every connection. The result in which a track began may have failed.
        if len(result.tracks) > 0:
            self._last_id = max(self._last_id, int(result.tracks.id[-1]))
        self._last_id = max(self._last_id, *result.ended_tracks, 0)
        # A result without any may be that of a frame that failed.
        if len(result.tracks) > 0 or result.ended_tracks:
            self._tracks = tuple(result.tracks.id.tolist())
        if result.error is None and sent.budget is not None and age > sent.budget:
            # For the server the frame went well, and its tracks go on.
            self._late += 1
            self._ended.update(result.ended_tracks)
            result = late_result(result, sent.budget)
        elif result.error is None:
            if self._ended:
                # Tracks that only late results had are unknown to the caller.
                ended = {n: why for n, why in (self._ended | result.ended_tracks).items() if n in self._shown}
                object.__setattr__(result, "ended_tracks", dict(sorted(ended.items())))
                self._ended = {}
            self._shown = frozenset(self._tracks)
        self.deliveries.append(result)
        self._unread += 1
        self._deliver_failed()

    def _tell(self, event: StreamEvent) -> None:
        self.deliveries.append(event)
        self._unread += 1

    def may_read(self) -> bool:
        """True unless too many answers wait for the caller."""
        return self._unread < MAX_WAITING

    def deliver(self) -> Delivery:
        """Takes the first of the deliveries."""
        delivery = self.deliveries.popleft()
        if not isinstance(delivery, FrameResult) or delivery.round_trip is not None:
            self._unread -= 1
        return delivery

    # -- the end of a connection ---------------------------------------------------------------------------------------

    def ended(self, error: OrbserveError | None) -> None:
        """The connection has ended. Sets `finished`, or the owner connects again."""
        unanswered = self._outbox.in_flight
        if error is None and unanswered:
            text = f"the server has ended the stream with {unanswered} frames not answered"
            error = error_of(grpc.StatusCode.UNAVAILABLE, text)
        elif error is None and not self.nothing_follows():
            error = error_of(grpc.StatusCode.UNAVAILABLE, "the server has ended the stream")
        if error is None or self.cancelled or self.reconnect.seconds <= 0 or not _may_pass(error):
            self.finish(error)
            return
        # A server that said that it would stop, and answered everything, has cost nothing.
        if not self.going_away or unanswered:
            self._lose(error)
        self._outbox.disconnected()
        self._opening_delay = None
        if self.nothing_follows():
            self.finish(None)  # every frame has its result
        elif not self.tries.lost(error):
            self.finish(error)

    def _lose(self, cause: OrbserveError) -> None:
        """Ends the frames that were written. Those that wait go over the next connection."""
        sequences = tuple(one.frame.sequence for one in self._order if one.written is not None)
        self._tell(StreamEvent(StreamEventKind.LOST, error=cause, lost_sequences=sequences))
        text = f"the connection was lost before the frame was answered: {cause.message}"
        for request in self._order:
            if request.written is not None:
                request.error = UnavailableError(grpc.StatusCode.UNAVAILABLE, text, cause.reason, cause.retry_after)
        self._deliver_failed()

    def open(self, timeout: float | None) -> float | None:
        """The stream is about to be opened. Returns the longest time of one try."""
        return self.tries.open(timeout)

    def stop_trying(self) -> None:
        """The caller has cancelled the stream, or sends no more frames, between two connections."""
        self.finish(error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled") if self.cancelled else None)

    def try_failed(self, error: OrbserveError) -> None:
        """A try to connect has failed."""
        if self.is_left():
            self.stop_trying()
        elif not _may_pass(error) or not self.tries.failed(error):
            self.finish(error)

    def is_left(self) -> bool:
        """True if no connection is needed any more."""
        return self.cancelled or self.nothing_follows()

    def left(self) -> None:
        """Nobody reads any more. After an error that is not foreseen, nobody may wait for a result, either."""
        if not self.finished:
            self.finish(error_of(grpc.StatusCode.CANCELLED, "the stream has ended"))

    def finish(self, error: OrbserveError | None) -> None:
        """No connection and no frame follows."""
        self.finished = True
        if self.cancelled and error is not None:
            error = error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled")
        self.error = error


def _may_pass(error: OrbserveError) -> bool:
    """True for errors after which a new connection may do better."""
    own = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
    return error.may_pass or (not error.reason and error.code in own)
