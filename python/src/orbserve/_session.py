# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A stream of frames without its connection: what both clients do with messages, losses and waits."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Any

import grpc
import numpy as np
import numpy.typing as npt

from . import _calls, _check, _codec
from ._check import SentFrame, StreamCheck
from ._codec import Bytes
from ._contract import wire
from ._errors import (
    DeadlineExceededError,
    DroppedError,
    InvalidInputError,
    OrbserveError,
    UnavailableError,
    error_of,
    from_entry,
)
from ._features import Features, Float32, Int32, Matches
from ._generated import DropPolicy, Execution, MatchTarget, Pipeline, StreamOpened, Timings, TrackEnd
from ._images import Frame, Image, frame_parts
from ._options import assign, enum_of

# Results and events that wait for the caller before the stream stops reading, and with it the server.
MAX_WAITING = 16


@dataclass(frozen=True, eq=False)
class Tracks:
    """Tracks of a frame: arrays with one row per track, id up."""

    id: npt.NDArray[np.int64]
    """(T,): from 1; the same in every frame of the stream, and never used again."""

    xy: Float32
    """(T, 2): x and y, pixels of the full-size image."""

    age_frames: Int32
    """(T,): frames since the track began, from 0."""

    residual: Float32
    """(T,): mean difference of the patch, grey levels, 0..128; smaller is better; 0 in the first frame."""

    gain: Float32
    """(T,): factor of the patch's contrast; 1 unless `TrackOptions.illumination` has it."""

    offset: Float32
    """(T,): added to the patch's brightness, grey levels; 0 unless `TrackOptions.illumination` has it."""

    def __len__(self) -> int:
        """Number of tracks."""
        return len(self.id)


_TRACK_FIELDS = attrgetter("id", "x", "y", "age_frames", "residual", "gain", "offset")


def _read_tracks(message: Any, first_id: int, width_px: int, height_px: int) -> Tracks:
    """The tracks of a FrameResult. `width_px`, `height_px`: of its frame; 0 = not known."""
    rows = np.array(list(map(_TRACK_FIELDS, message.tracks)), np.float64).reshape(-1, 7)  # ids are exact up to 2^53
    _check.tracks(rows, [end.id for end in message.ended_tracks], width_px, height_px)
    numbers = rows.astype(np.float32)
    return Tracks(
        id=rows[:, 0].astype(np.int64) + first_id,
        xy=np.ascontiguousarray(numbers[:, 1:3]),
        age_frames=rows[:, 3].astype(np.int32),
        residual=numbers[:, 4],
        gain=numbers[:, 5],
        offset=numbers[:, 6],
    )


@dataclass(frozen=True, eq=False)
class FrameMatches:
    """Matches of a frame with one target."""

    target: MatchTarget | None
    """PREVIOUS, KEYFRAME or REFERENCE."""

    reference: str
    """REFERENCE: its name; else empty."""

    reference_version: int
    """REFERENCE: the version matched against; 0 when there is none of the name."""

    target_sequence: int
    """PREVIOUS, KEYFRAME: that frame's sequence; else 0."""

    error: OrbserveError | None
    """Error of the matching, for example a reference that was deleted; None when it went well."""

    matches: Matches | None
    """Query: this frame, train: the target. None if there is an error."""


@dataclass(frozen=True, eq=False)
class FrameResult:
    """Result of one frame of a stream."""

    sequence: int
    """The frame's number, as it was sent."""

    timestamp_ns: int
    """The frame's time, as it was sent."""

    error: OrbserveError | None
    """Error of this frame, which does not end the stream; None when it went well."""

    features: Features | None
    """Features; None for a frame that failed, or with `omit_features`."""

    matches: tuple[FrameMatches, ...]
    """The frame before first, then the keyframe, unless there is none, then references in the order of the opening."""

    tracks: Tracks
    """With `track`: all tracks of this frame."""

    ended_tracks: dict[int, TrackEnd | None]
    """With `track`: tracks that ended since the last result with tracks, and why, id up. The first result without an
    error after the stream connected again has those of the old connection: RECONNECTED.
    """

    keyframe: bool
    """This frame is the stream's keyframe from now on."""

    timings: Timings
    """Times on the server; those until its failure for a frame that failed."""

    execution: Execution
    """Place of the computation."""

    @property
    def dropped(self) -> bool:
        """The drop policy kept another frame."""
        return isinstance(self.error, DroppedError)

    @property
    def late(self) -> bool:
        """The frame was not answered by its deadline."""
        return isinstance(self.error, DeadlineExceededError)

    @property
    def previous(self) -> Matches | None:
        """Matches with the frame before; None where there are none."""
        return next((m.matches for m in self.matches if m.target == MatchTarget.PREVIOUS), None)


def _read_result(data: Bytes, first_id: int, check: StreamCheck) -> FrameResult:
    rest, found = _codec.split(data, (6, 15))
    message = wire.FrameResult.FromString(rest)
    sent = check.result(message)
    timings = Timings._from_wire(message.timings)
    execution = Execution._from_wire(message.execution)
    features, rows = None, None
    width_px, height_px = sent.width_px, sent.height_px
    if found[15]:
        features = Features._from_wire("result.features", _codec.join(found[15]), sent, timings, execution)
        rows = len(features)
        if rows > 0:
            width_px, height_px = features.image_size
    targets = [_codec.split(content, (6,)) for content in found[6]]
    messages = [wire.FrameMatches.FromString(content) for content, _ in targets]
    check.targets(messages)
    matches = tuple(
        _read_matches(f"result.matches[{i}].matches", one, columns[6], rows, check.rows_of(one))
        for i, (one, (_, columns)) in enumerate(zip(messages, targets, strict=True))
    )
    error = from_entry(message.status)
    check.answered(message.sequence, error is not None, rows)
    return FrameResult(
        sequence=message.sequence,
        timestamp_ns=message.timestamp_ns,
        error=error,
        features=features,
        matches=matches,
        tracks=_read_tracks(message, first_id, width_px, height_px),
        ended_tracks={end.id + first_id: enum_of(TrackEnd, end.reason) for end in message.ended_tracks},
        keyframe=message.keyframe,
        timings=timings,
        execution=execution,
    )


def _read_matches(
    where: str, message: Any, contents: list[memoryview], query_rows: int | None, train_rows: int | None
) -> FrameMatches:
    error = from_entry(message.status)
    return FrameMatches(
        target=enum_of(MatchTarget, message.target),
        reference=message.reference,
        reference_version=message.reference_version,
        target_sequence=message.target_sequence,
        error=error,
        matches=Matches._from_wire(where, _codec.join(contents), query_rows, train_rows) if error is None else None,
    )


def _failed_result(sent: SentFrame, error: OrbserveError) -> FrameResult:
    """The result of a frame that the server did not answer."""
    empty = wire.FrameResult()
    return FrameResult(
        sequence=sent.sequence,
        timestamp_ns=sent.timestamp_ns,
        error=error,
        features=None,
        matches=(),
        tracks=_read_tracks(empty, 0, 0, 0),
        ended_tracks={},
        keyframe=False,
        timings=Timings._from_wire(empty.timings),
        execution=Execution._from_wire(empty.execution),
    )


class StreamEventKind(Enum):
    """Kind of an event of a stream."""

    REOPENED = "reopened"
    """The server has answered `reopen()`: later results follow the new options."""

    GOING_AWAY = "going away"
    """The server is about to stop; it still answers the frames sent so far."""

    LOST = "lost"
    """The connection is lost; the stream tries to connect again."""

    RECONNECTED = "reconnected"
    """The stream runs again, on a new connection. No LOST comes before it if the server said that it would stop, and
    answered every frame.
    """


@dataclass(frozen=True)
class StreamEvent:
    """An event of a stream, beside the results of its frames."""

    kind: StreamEventKind
    """Kind of the event."""

    error: OrbserveError | None = None
    """LOST: the cause; GOING_AWAY: the server's reason; else None."""

    lost_sequences: tuple[int, ...] = ()
    """LOST: numbers of the frames that were sent and not answered. Each gets a result with an UnavailableError."""

    attempts: int = 0
    """RECONNECTED: connections that were tried, from 1; else 0."""

    opened: StreamOpened | None = None
    """REOPENED, RECONNECTED: the server's answer; else None."""


@dataclass(frozen=True)
class Reconnect:
    """How a stream connects, and connects again after the loss of its connection.

    A connection is lost when the server cannot be reached any more, stops, or ends the stream early. The state of the
    stream on the server is gone then: the first frame has nothing to match with, no frame is a keyframe, and tracks
    begin anew. Ids of tracks go on, so that no id stands for two tracks, and `FrameResult.ended_tracks` names those
    that were lost.
    """

    seconds: float
    """Longest time after a loss in which the stream tries to connect again, and of its opening; 0: the loss ends the
    stream, and its opening is tried once. There is one try at least, and a last one at the end of the time. The time
    begins anew when a frame is answered, and after a connection that has lasted longer than it.
    """

    first_delay: float = 0.1
    """Seconds from a loss to the first try, and from the beginning of one try to the next one. They double with every
    try. A random part of one half to all is waited, as otherwise all robots would come back at once. A server that asks
    for a longer wait gets it. A try waits for a server that cannot be reached, which gRPC looks for twice a second:
    these times matter where a server, or a proxy, refuses streams.
    """

    longest_delay: float = 0.8
    """Seconds that a wait grows up to."""

    try_timeout: float = 10.0
    """Longest time of one try, seconds; the opening of the stream has its `timeout` besides."""

    @classmethod
    def of(cls, given: Reconnect | float) -> Reconnect:
        """The argument `reconnect` of a stream."""
        return given if isinstance(given, Reconnect) else cls(given)

    def __post_init__(self) -> None:
        """TypeError or ValueError for what is no time."""
        for name in ("seconds", "first_delay", "longest_delay", "try_timeout"):
            value = getattr(self, name)
            if isinstance(value, (str, bytes)) or not float(value) >= 0:  # NaN fails, too
                raise ValueError(f"reconnect: {name} must be a number of seconds, 0 or more; got {value!r}")


@dataclass(frozen=True)
class StreamOptions:
    """The opening message of a stream. `Client.stream` says what each attribute means."""

    pipeline: Pipeline | str = "orb"
    drop_policy: DropPolicy | str = DropPolicy.BLOCK
    deadline_ms: int = 0
    match_previous: bool = False
    match_keyframe: bool = False
    references: Sequence[str] = ()
    track: bool = False
    omit_features: bool = False
    keyframe_every: int = 0
    keyframe_lost_percent: int = 0

    def __post_init__(self) -> None:
        """Replaces the name of a policy by the policy. TypeError where the references are one text."""
        object.__setattr__(self, "drop_policy", DropPolicy.of(self.drop_policy))
        if isinstance(self.references, str):
            raise TypeError(f"references must be several names, such as [{self.references!r}]; got a str")
        object.__setattr__(self, "references", tuple(self.references))

    def request(self) -> bytes:
        """The message `StreamFramesRequest`."""
        message = wire.StreamOpen(
            drop_policy=self.drop_policy,
            match_previous=self.match_previous,
            match_keyframe=self.match_keyframe,
            references=self.references,
            track=self.track,
            omit_features=self.omit_features,
        )
        assign(message, "deadline_ms", self.deadline_ms, "deadline_ms")
        if self.keyframe_every or self.keyframe_lost_percent:
            assign(message, "keyframe_rule.every_frames", self.keyframe_every, "keyframe_every")
            assign(message, "keyframe_rule.lost_percent", self.keyframe_lost_percent, "keyframe_lost_percent")
        parts = _calls.pipeline_field(1, self.pipeline)
        return b"".join(_codec.field(1, *parts, message.SerializeToString()))


_NO_FRAME = SentFrame(0, 0)


@dataclass(frozen=True)
class Request:
    """A message on its way to the server."""

    data: bytes
    options: StreamOptions | None = None  # set: the message is an opening
    frame: SentFrame = _NO_FRAME
    error: OrbserveError | None = None  # set: the frame cannot be sent, and only has its place in the order


Delivery = FrameResult | StreamEvent


@dataclass
class Session:
    """State of a stream that outlives its connections. The owner guards it."""

    options: StreamOptions  # the latest that were sent
    reconnect: Reconnect
    deliveries: deque[Delivery] = field(default_factory=deque)
    opened: StreamOpened | None = None
    going_away: bool = False  # the server of this connection has said that it stops
    send_closed: bool = False
    cancelled: bool = False
    finished: bool = False
    error: OrbserveError | None = None  # with which the stream finished
    frames: int = 0  # that were made so far
    unanswered: deque[Request] = field(default_factory=deque)  # frames, without their data
    _checker: StreamCheck | None = None  # of the connection
    _attempts: int = 0  # since the latest answered frame
    # Times of the steady clock.
    _next_try: float = 0
    _give_up: float = float("inf")  # after the latest loss
    _begun: float = 0  # of the connection, or of the latest try
    _last_try: bool = False  # the latest try was
    _first_id: int = 0  # added to ids of tracks
    _last_id: int = 0  # largest id of a track so far
    _tracks: tuple[int, ...] = ()  # ids of this connection's latest result
    _lost_tracks: tuple[int, ...] = ()  # of connections before

    def frame_request(self, image: Image | Frame) -> Request:
        """The message of the next frame. One that no message can be made of has its `error` set."""
        number = self.frames
        self.frames += 1
        try:
            parts, sent = frame_parts(image, number)
        except Exception as cause:  # whatever is wrong with a frame, it fails alone
            text = f"the frame cannot be sent: {cause}"
            error = InvalidInputError(grpc.StatusCode.INVALID_ARGUMENT, text)
            error.__cause__ = cause
            return Request(b"", frame=_facts_of(image, number), error=error)
        return Request(b"".join(_codec.field(15, *parts)), frame=sent)

    def sent(self, request: Request) -> None:
        """A message goes to the connection, or takes its place in the order if it cannot be sent."""
        if request.options is not None:
            self.options = request.options
            if self._checker is not None:
                self._checker.sent(request.options.references)
            return
        if self._checker is not None and request.error is None:
            self._checker.sent(request.frame)
        self.unanswered.append(Request(b"", frame=request.frame, error=request.error))
        self._deliver_failed()

    def _deliver_failed(self) -> None:
        """Delivers the frames that could not be sent and whose turn has come."""
        while self.unanswered and (error := self.unanswered[0].error) is not None:
            self.deliveries.append(_failed_result(self.unanswered.popleft().frame, error))

    def has_place_for_failed(self) -> bool:
        """True if a frame that cannot be sent may take its place: no server holds back a caller who only sends such."""
        most = MAX_WAITING + (self.opened.max_in_flight if self.opened is not None else 0)
        return len(self.deliveries) + len(self.unanswered) < most

    def connected(self, data: bytes) -> None:
        """A connection's first answer. UnavailableError: the server is about to stop; ServerError: a wrong answer."""
        _calls.readable(self._connected, data)

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
        self._begun = time.monotonic()
        self._first_id = self._last_id
        self._lost_tracks += self._tracks
        self._tracks = ()
        if again:
            event = StreamEvent(StreamEventKind.RECONNECTED, attempts=self._attempts, opened=self.opened)
            self.deliveries.append(event)
        else:
            self._give_up = float("inf")
            self._attempts = 0

    def take(self, data: bytes) -> None:
        """A further answer of the connection. ServerError for a wrong one."""
        _calls.readable(self._take, data)

    def _take(self, data: bytes) -> None:
        assert self._checker is not None
        rest, found = _codec.split(data, (15,))
        if found[15]:
            result = _read_result(_codec.join(found[15]), self._first_id, self._checker)
            self.unanswered.popleft()
            self._give_up = float("inf")
            self._attempts = 0
            # A server counts its tracks anew on every connection. The result in which a track began may have failed.
            if len(result.tracks) > 0:
                self._last_id = max(self._last_id, int(result.tracks.id[-1]))
            self._last_id = max(self._last_id, *result.ended_tracks, 0)
            # A result without any may be that of a frame that failed.
            if len(result.tracks) > 0 or result.ended_tracks:
                self._tracks = tuple(result.tracks.id.tolist())
            if self._lost_tracks and result.error is None:
                ended = dict.fromkeys(self._lost_tracks, TrackEnd.RECONNECTED) | result.ended_tracks
                object.__setattr__(result, "ended_tracks", ended)
                self._lost_tracks = ()
            self.deliveries.append(result)
            self._deliver_failed()
            return
        message = wire.StreamFramesResponse.FromString(rest)
        kind = message.WhichOneof("message")
        if kind == "opened":
            self._checker.opened(message.opened)
            self.opened = StreamOpened._from_wire(message.opened)
            self.deliveries.append(StreamEvent(StreamEventKind.REOPENED, opened=self.opened))
        elif kind == "going_away":
            self._checker.going_away(message.going_away)
            self.going_away = True
            stop = from_entry(message.going_away.status)
            self.deliveries.append(StreamEvent(StreamEventKind.GOING_AWAY, error=stop))
        elif not rest:  # fields that only a later version knows are passed over
            raise _check.WrongAnswerError("message", "not set", "opened, result or going_away")

    def ended(self, error: OrbserveError | None) -> None:
        """The connection has ended. Sets `finished`, or the owner connects again."""
        if error is None and self.unanswered:
            text = f"the server has ended the stream with {len(self.unanswered)} frames not answered"
            error = error_of(grpc.StatusCode.UNAVAILABLE, text)
        elif error is None and not self.send_closed:
            error = error_of(grpc.StatusCode.UNAVAILABLE, "the server has ended the stream")
        if error is None or self.cancelled or self.reconnect.seconds <= 0 or not _may_pass(error):
            self.finish(error)
            return
        # A server that said that it would stop, and answered everything, has cost nothing.
        if not self.going_away or self.unanswered:
            self._lose(error)
        now = time.monotonic()
        if now - self._begun > self.reconnect.seconds:
            # It was healthy for long enough, even if no frame was sent.
            self._give_up = float("inf")
            self._attempts = 0
        if self.send_closed:
            self.finish(None)  # every frame has its result, and none follows
            return
        self._give_up = min(self._give_up, now + self.reconnect.seconds)
        if now >= self._give_up:
            # The last try was opened, and lost before a result came.
            self.finish(error)
            return
        self._plan_try(error, now)

    def _lose(self, cause: OrbserveError) -> None:
        lost = tuple(self.unanswered)
        self.unanswered.clear()
        sequences = tuple(request.frame.sequence for request in lost if request.error is None)
        self.deliveries.append(StreamEvent(StreamEventKind.LOST, error=cause, lost_sequences=sequences))
        text = f"the connection was lost before the frame was answered: {cause.message}"
        for request in lost:
            error = request.error
            if error is None:
                error = UnavailableError(grpc.StatusCode.UNAVAILABLE, text, cause.reason, cause.retry_after)
            self.deliveries.append(_failed_result(request.frame, error))

    def begin(self, timeout: float | None) -> float | None:
        """The stream is about to be opened. Returns the longest time of one try."""
        self._give_up = time.monotonic() + self.reconnect.seconds
        if self.reconnect.seconds <= 0:
            return timeout
        return self.reconnect.try_timeout if timeout is None else min(timeout, self.reconnect.try_timeout)

    def _plan_try(self, cause: OrbserveError, begun: float) -> None:
        """Sets the time of the next try after a loss, or after a try that began at `begun`."""
        # 2^30 of any wait is more than the longest one.
        longest = min(self.reconnect.first_delay * 2.0 ** min(self._attempts, 30), self.reconnect.longest_delay)
        # The last try comes at the end of the time, however long the wait would be.
        self._next_try = min(begun + longest * random.uniform(0.5, 1.0), self._give_up)
        if cause.retry_after:
            self._next_try = max(self._next_try, time.monotonic() + cause.retry_after)
            if self._next_try > self._give_up:
                self.finish(cause)

    def wait_before_try(self) -> float:
        """Seconds before the next try to connect."""
        return max(self._next_try - time.monotonic(), 0.0)

    def begin_try(self, timeout: float | None) -> tuple[float | None, bool]:
        """Begins a try of at most `timeout` seconds; None: no limit. Returns its limit, and whether it waits for a
        server that cannot be reached. The last one fails at once, with gRPC's reason. There is one even if the time is
        over.
        """
        self._begun = time.monotonic()
        self._attempts += 1
        self._last_try = self._begun >= self._give_up
        if self._last_try:
            return timeout, False
        left = self._give_up - self._begun
        return left if timeout is None else min(timeout, left), True

    def stop_trying(self) -> None:
        """The caller has cancelled the stream, or sends no more frames, between two connections."""
        self.finish(error_of(grpc.StatusCode.CANCELLED, "the stream was cancelled") if self.cancelled else None)

    def try_failed(self, error: OrbserveError) -> None:
        """A try to connect has failed."""
        if self.cancelled or self.send_closed:
            self.stop_trying()
        elif self._last_try or not _may_pass(error):
            self.finish(error)
        else:
            self._plan_try(error, self._begun)

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


def _facts_of(image: Any, number: int) -> SentFrame:
    """Number and time of a frame of which no message can be made, as far as they are numbers."""
    sequence = image.sequence if isinstance(image, Frame) else None
    time_ns = image.timestamp_ns if isinstance(image, Frame) else 0
    return SentFrame(
        sequence if isinstance(sequence, int) else number,
        time_ns if isinstance(time_ns, int) else 0,
    )


def _may_pass(error: OrbserveError) -> bool:
    """True for errors after which a new connection may do better."""
    own = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
    return error.may_pass or (not error.reason and error.code in own)
