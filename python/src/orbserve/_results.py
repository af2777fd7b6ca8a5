# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Results and events of a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter
from typing import Any

import grpc
import numpy as np
import numpy.typing as npt

from . import _check, _codec
from ._check import SentFrame, StreamCheck
from ._codec import Bytes
from ._contract import wire
from ._errors import DeadlineExceededError, DroppedError, OrbserveError, from_entry
from ._features import Features, Float32, Int32, Matches
from ._generated import Execution, MatchTarget, StreamOpened, Timings, TrackEnd
from ._options import enum_of


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
    """Error of this frame, which does not end the stream; None when it went well. The message of a frame that was
    dropped or late on this side of the connection ends with "on the client".
    """

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
    """This frame is the stream's keyframe from now on, even if its result came too late."""

    timings: Timings
    """Times on the server; those until its failure for a frame that failed."""

    execution: Execution
    """Place of the computation."""

    age: float
    """Seconds from `Frame.capture_time`, or else from `send()`, to the arrival of the result, or to the moment at which
    the client made it.
    """

    round_trip: float | None
    """Seconds from the frame's way into the connection to the arrival of its result; None: the server did not answer.
    """

    @property
    def server_time(self) -> float:
        """Seconds of `round_trip` on the server, from the arrival of the frame to its answer; 0: it did not answer."""
        return self.timings.total_ns / 1e9

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


def read_result(data: Bytes, first_id: int, check: StreamCheck, age: float, round_trip: float) -> FrameResult:
    """The result in a message. `first_id`: added to ids of tracks."""
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
        age=age,
        round_trip=round_trip,
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


def failed_result(sent: SentFrame, error: OrbserveError, age: float) -> FrameResult:
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
        age=age,
        round_trip=None,
    )


def late_on_client(budget: float, age: float) -> OrbserveError:
    """The error of a frame that the client gave up. `budget`, `age`: seconds."""
    text = f"the frame is {age * 1000:.0f} ms old, and its deadline is {budget * 1000:.0f} ms, on the client"
    return DeadlineExceededError(grpc.StatusCode.DEADLINE_EXCEEDED, text, "DEADLINE_EXCEEDED")


def dropped_on_client(text: str) -> OrbserveError:
    """The error of a frame that the drop policy gave up before it was sent."""
    return DroppedError(grpc.StatusCode.ABORTED, f"{text}, on the client", "DROPPED")


def late_result(result: FrameResult, budget: float) -> FrameResult:
    """The result in the place of one that went well and came too late."""
    return replace(
        result,
        error=late_on_client(budget, result.age),
        features=None,
        matches=(),
        tracks=_read_tracks(wire.FrameResult(), 0, 0, 0),
        ended_tracks={},
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
