# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the server's answers against the wire contract, before a caller sees them.

Every answer passes here once: lengths of columns, ranges, finite numbers, counts, order, progress of pages. One that
passes can be used without further checks: its rows exist in every column, and its indices name rows that exist. Fields
that later versions of the contract add, and values without consequence for other fields, are not refused.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# Bounds of orbserve.proto.
_MAX_ROWS = 100_000
_MAX_SIDE_PX = 32_767
_MAX_OCTAVE = 15
_MAX_LAYER = 8
_MAX_ANGLE_DEG = 720  # of a keypoint that was given
_MAX_DISTANCE = 8_323_200  # of SIFT
_MAX_NEIGHBOURS = 16  # matches of one row of the query
_MAX_NAME_BYTES = 128
_MAX_PAGE_SIZE = 1000
_MAX_LISTED = 10_000_000  # references that any server keeps
_MAX_BATCH = 256
_MAX_RESIDUAL = 128
_GAINS = (0.0625, 1.9375)
_MAX_CODE = 16
# Texts and lists without a bound of their own.
_MAX_TEXT = 4096
_MAX_ENTRIES = 1024
# Float64, through which ids of tracks pass, has all whole numbers up to it.
_MAX_TRACK_ID = 2**53
_MAX_INT32 = 2**31 - 1
_MAX_FLOAT32 = float(np.finfo(np.float32).max)

# Bytes of descriptors by the number of their kind: NONE, RBRIEF_256, RBRIEF_32, BFROST_256, TEBLID and BEBLID,
# SIFT, ROOT_SIFT, L1_ROOT_SIFT.
_DESCRIPTOR_BYTES = {1: 0, 2: 32, 3: 4, 4: 32, 5: 32, 6: 64, 7: 32, 8: 64, 9: 128, 10: 128, 11: 128}
_PREVIOUS, _KEYFRAME, _REFERENCE = 1, 2, 3  # of MatchTarget

Column = npt.NDArray[Any]


class WrongAnswerError(ValueError):
    """An answer that breaks the contract. The text names the field, what was given and what is allowed."""

    def __init__(self, field: str, given: object, allowed: object) -> None:
        """`given` is shown as it is: texts of the server come as their repr()."""
        super().__init__(f"{field} is {given}; allowed: {allowed}")


@dataclass(frozen=True)
class SentFrame:
    """Facts of a frame that its answer must agree with."""

    sequence: int
    timestamp_ns: int
    width_px: int = 0
    """0: not known, as of a JPEG file; so for the height."""
    height_px: int = 0
    keypoints: int | None = None
    """Rows of given keypoints; None: detected ones."""


# -- values and columns ------------------------------------------------------------------------------------------------


def _number(field: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # NaN fails, too
        raise WrongAnswerError(field, value, f"{low} to {high}")


def _count(field: str, count: int, most: int, least: int = 0) -> None:
    if not least <= count <= most:
        raise WrongAnswerError(field, f"a list of {count}", most if least == most else f"{least} to {most}")


def _range(field: str, column: Column, low: float, high: float, allowed: str = "") -> None:
    """Checks that all values are numbers of the range."""
    # Beneath column.min() and column.max(), which take twice the time. NaN is the result of both, and fails.
    if column.size == 0 or (np.minimum.reduce(column) >= low and np.maximum.reduce(column) <= high):
        return
    row = int(np.argmin((column >= low) & (column <= high)))
    raise WrongAnswerError(f"{field}[{row}]", column[row], allowed or f"{low:.10g} to {high:.10g}")


def _finite(field: str, column: Column) -> None:
    _range(field, column, -_MAX_FLOAT32, _MAX_FLOAT32, "finite numbers")


def _up(field: str, column: Column, rule: str, least_step: int) -> None:
    """Checks that values go up by `least_step` at least."""
    if column.size < 2:
        return
    steps = column[1:] - column[:-1]
    if steps.min() < least_step:
        row = int(np.argmax(steps < least_step))
        raise WrongAnswerError(f"{field}[{row + 1}]", f"{column[row + 1]:.0f} behind {column[row]:.0f}", rule)


def _name(field: str, name: str) -> None:
    if not 1 <= len(name) <= _MAX_NAME_BYTES or not (name.isascii() and name.isprintable()):
        raise WrongAnswerError(field, repr(name[:_MAX_NAME_BYTES]), f"1 to {_MAX_NAME_BYTES} bytes of printable ASCII")


def _text(field: str, text: str) -> None:
    if len(text) > _MAX_TEXT:
        raise WrongAnswerError(field, f"a text of {len(text)} characters", f"up to {_MAX_TEXT}")


def plain(where: str, message: Any) -> None:
    """Checks a message without columns, and those in it: finite numbers, texts and lists of a bearable length."""
    for descriptor, value in message.ListFields():
        field = f"{where}.{descriptor.name}" if where else descriptor.name
        if isinstance(value, (str, float)) or hasattr(value, "ListFields"):
            _plain_value(field, value)
        elif hasattr(value, "__len__") and not isinstance(value, bytes):
            _count(field, len(value), _MAX_ENTRIES)
            for i, item in enumerate(value):
                _plain_value(f"{field}[{i}]", item)


def _plain_value(field: str, value: Any) -> None:
    if isinstance(value, str):
        _text(field, value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise WrongAnswerError(field, value, "a finite number")
    elif hasattr(value, "ListFields"):
        plain(field, value)


def entry(where: str, status: Any) -> None:
    """Checks an entry of the table of errors."""
    plain(where, status)
    _number(f"{where}.code", status.code, 0, _MAX_CODE)


def execution(message: Any) -> None:
    """Checks the place of a computation."""
    if message.HasField("energy_joules") and not 0 <= message.energy_joules < math.inf:
        raise WrongAnswerError("execution.energy_joules", message.energy_joules, "a finite number from 0")


# -- features and matches ----------------------------------------------------------------------------------------------


def features(where: str, message: Any, columns: dict[str, Column], sent: SentFrame) -> None:
    """Checks a FeatureSet. `columns`: x first, then the others by their names, descriptors as bytes."""
    rows = len(columns["x"])
    given = sent.keypoints is not None
    _count(f"{where}.x", rows, _MAX_ROWS if sent.keypoints is None else min(sent.keypoints, _MAX_ROWS))
    for name in ("y", "size", "angle", "response", "octave"):
        _count(f"{where}.{name}", len(columns[name]), rows, rows)
    source = columns["source_index"]
    _count(f"{where}.source_index", len(source), rows if given else 0, rows if given else 0)
    for side, known in (("image_width_px", sent.width_px), ("image_height_px", sent.height_px)):
        _number(f"{where}.{side}", getattr(message, side), known or min(rows, 1), known or _MAX_SIDE_PX)
    _range(f"{where}.x", columns["x"], 0, message.image_width_px)
    _range(f"{where}.y", columns["y"], 0, message.image_height_px)
    if sent.keypoints is not None:
        _finite(f"{where}.size", columns["size"])
        _range(f"{where}.angle", columns["angle"], -_MAX_ANGLE_DEG, _MAX_ANGLE_DEG)
        _range(f"{where}.source_index", source, 0, sent.keypoints - 1)
        _up(f"{where}.source_index", source, "rows of the keypoints given, in their order", 1)
    else:
        _range(f"{where}.size", columns["size"], 0, _MAX_FLOAT32, "finite numbers from 0")
        _range(f"{where}.angle", columns["angle"], -1, 360)
    _finite(f"{where}.response", columns["response"])
    # The detector SIFT alone has layers, and a doubled image.
    layers = rows if len(columns["layer"]) > 0 else 0
    _count(f"{where}.layer", len(columns["layer"]), layers, layers)
    _count(f"{where}.layer_fraction", len(columns["layer_fraction"]), layers, layers)
    _range(f"{where}.layer", columns["layer"], 1, _MAX_LAYER)
    _range(f"{where}.layer_fraction", columns["layer_fraction"], 0, 255)
    _range(f"{where}.octave", columns["octave"], -1 if layers > 0 else 0, _MAX_OCTAVE)
    size = message.descriptor_bytes
    expected = _DESCRIPTOR_BYTES.get(message.descriptor_type)
    if size not in ((0, 4, 32, 64, 128) if expected is None else (expected,)):
        of_kind = f"{expected}, those of descriptor_type {message.descriptor_type}"
        allowed = "0, 4, 32, 64 or 128" if expected is None else of_kind
        raise WrongAnswerError(f"{where}.descriptor_bytes", size, allowed)
    if len(columns["descriptors"]) != rows * size:
        allowed = f"{rows * size} bytes, for {rows} rows of {size}"
        raise WrongAnswerError(f"{where}.descriptors", f"{len(columns['descriptors'])} bytes", allowed)


def matches(where: str, columns: Sequence[Column], query_rows: int | None, train_rows: int | None) -> None:
    """Checks a MatchSet. `columns`: query_index, train_index, distance.

    `query_rows`, `train_rows`: of the features that it names; None: not known.
    """
    query, train, distance = columns
    most_query = _MAX_ROWS if query_rows is None else query_rows
    most_train = _MAX_ROWS if train_rows is None else train_rows
    _count(f"{where}.query_index", len(query), most_query * _MAX_NEIGHBOURS)
    _count(f"{where}.train_index", len(train), len(query), len(query))
    _count(f"{where}.distance", len(distance), len(query), len(query))
    _range(f"{where}.query_index", query, 0, most_query - 1)
    _range(f"{where}.train_index", train, 0, most_train - 1)
    _range(f"{where}.distance", distance, 0, _MAX_DISTANCE)
    _up(f"{where}.query_index", query, "rows in their order", 0)
    order = query.astype(np.int64) * (_MAX_DISTANCE + 1) + distance
    if order.size > 1 and (order[1:] < order[:-1]).any():
        row = int(np.argmax(order[1:] < order[:-1])) + 1
        given = f"{distance[row]} behind {distance[row - 1]}"
        raise WrongAnswerError(f"{where}.distance[{row}]", given, f"rising distances of query row {query[row]}")


def side(where: str, is_image: bool, is_set: bool) -> None:
    """Checks that a side of a match has features in the answer if, and only if, it was sent as an image."""
    if is_image != is_set:
        raise WrongAnswerError(
            where, "set" if is_set else "not set", "set" if is_image else "not set, as features were sent"
        )


def identity(where: str, answer: Any, sent: SentFrame) -> None:
    """Checks that the answer has the frame's number and time."""
    if answer.sequence != sent.sequence:
        raise WrongAnswerError(
            f"{where}sequence", answer.sequence, f"{sent.sequence}, that of the frame to be answered"
        )
    if answer.timestamp_ns != sent.timestamp_ns:
        raise WrongAnswerError(f"{where}timestamp_ns", answer.timestamp_ns, f"{sent.timestamp_ns}, that of the frame")


def is_set(field: str, value: bool) -> None:
    """Checks a field that must be there."""
    if not value:
        raise WrongAnswerError(field, "not set", "set")


# -- references and the server -----------------------------------------------------------------------------------------


def reference(where: str, info: Any) -> None:
    """Checks a ReferenceInfo."""
    _name(f"{where}.name", info.name)
    _number(f"{where}.version", info.version, 1, 2**64 - 1)
    _number(f"{where}.feature_count", info.feature_count, 0, _MAX_ROWS)


def stored(answer: Any, name: str) -> None:
    """Checks a PutReferenceResponse. `name`: that was sent."""
    reference("reference", answer.reference)
    if answer.reference.name != name:
        raise WrongAnswerError("reference.name", repr(answer.reference.name), repr(name))
    _count("evicted", len(answer.evicted), _MAX_LISTED)
    for i, evicted in enumerate(answer.evicted):
        _name(f"evicted[{i}]", evicted)


def page(answer: Any, listed: Sequence[Any]) -> None:
    """Checks a ListReferencesResponse. `listed`: the references of the pages before it.

    Names go on behind the last one, and a page that names a next one has references, so that pages come to an end.
    """
    _count("references", len(answer.references), _MAX_PAGE_SIZE)
    _count("references of all pages", len(listed) + len(answer.references), _MAX_LISTED)
    last = listed[-1].name if listed else ""
    for i, info in enumerate(answer.references):
        reference(f"references[{i}]", info)
        if info.name <= last:
            raise WrongAnswerError(
                f"references[{i}].name", repr(info.name), f"names behind {last!r}, as they are sorted"
            )
        last = info.name
    _text("next_page_token", answer.next_page_token)
    if answer.next_page_token and not answer.references:
        raise WrongAnswerError(
            "next_page_token", "set on a page without references", "not set, as pages must come to an end"
        )


def server_info(answer: Any) -> None:
    """Checks a GetServerInfoResponse."""
    plain("", answer)
    is_set("limits", answer.HasField("limits"))
    _number("limits.max_side_px", answer.limits.max_side_px, 1, _MAX_SIDE_PX)
    _number("limits.max_keypoints", answer.limits.max_keypoints, 1, _MAX_ROWS)


# -- streams -----------------------------------------------------------------------------------------------------------


def tracks(rows: Column, ended: Sequence[int], width_px: int, height_px: int) -> None:
    """Checks the tracks of a frame. `rows`: id, x, y, age, residual, gain, offset; `ended`: ids of ended tracks."""
    for field, column, low, high in (
        ("id", 0, 1, _MAX_TRACK_ID),
        ("x", 1, 0, width_px or _MAX_SIDE_PX),
        ("y", 2, 0, height_px or _MAX_SIDE_PX),
        ("age_frames", 3, 0, _MAX_INT32),
        ("residual", 4, 0, _MAX_RESIDUAL),
        ("gain", 5, *_GAINS),
    ):
        _range(f"result.tracks.{field}", rows[:, column], low, high)
    _finite("result.tracks.offset", rows[:, 6])
    _up("result.tracks.id", rows[:, 0], "ids that go up", 1)
    if ended:
        numbers = np.array(ended, np.float64)
        _range("result.ended_tracks.id", numbers, 1, _MAX_TRACK_ID)
        _up("result.ended_tracks.id", numbers, "ids that go up", 1)


class StreamCheck:
    """Checks the messages of one connection of a stream in their order.

    Each `opened` and each `result` must answer the oldest message that was sent and not answered, and `going_away`
    comes once. Not thread-safe.
    """

    def __init__(self, opened: Any, references: Sequence[str]) -> None:
        """`opened`: the first answer; `references`: of the first opening."""
        self._opened(opened)
        self._references = tuple(references)
        self._expected: deque[SentFrame | tuple[str, ...]] = deque()  # an opening stands as its references
        self._going_away = False
        self._previous: tuple[int, int] | None = None  # sequence and rows of the last frame, if they are known

    @staticmethod
    def _opened(message: Any) -> None:
        plain("opened", message)
        _number("opened.max_in_flight", message.max_in_flight, 1, _MAX_BATCH)
        _number("opened.max_waiting", message.max_waiting, 0, _MAX_BATCH)

    def sent(self, message: SentFrame | Sequence[str]) -> None:
        """Notes a message before it is sent: a frame, or the references of an opening."""
        self._expected.append(message if isinstance(message, SentFrame) else tuple(message))

    def opened(self, message: Any) -> None:
        """Checks a further `opened`."""
        first = self._expected[0] if self._expected else None
        if not isinstance(first, tuple):
            answered = "none, as every message is answered"
            raise WrongAnswerError("message", "opened", answered if first is None else "the result of an earlier frame")
        self._expected.popleft()
        self._references = first
        self._opened(message)

    def going_away(self, message: Any) -> None:
        """Checks a `going_away`."""
        if self._going_away:
            raise WrongAnswerError("message", "a second going_away", "one in a stream")
        self._going_away = True
        entry("going_away.status", message.status)
        _number("going_away.status.code", message.status.code, 1, _MAX_CODE)

    def result(self, message: Any) -> SentFrame:
        """Checks which frame a `result`, whose columns have not been read, is of. Returns that frame."""
        frame = self._expected[0] if self._expected else None
        if not isinstance(frame, SentFrame):
            allowed = "none, as every frame is answered" if frame is None else "opened, as an opening was sent before"
            raise WrongAnswerError("message", f"the result of frame {message.sequence}", allowed)
        self._expected.popleft()
        identity("result.", message, frame)
        if message.HasField("status"):
            entry("result.status", message.status)
        execution(message.execution)
        return frame

    def rows_of(self, frame_matches: Any) -> int | None:
        """Rows of the train side of matches; None where they are not known."""
        if frame_matches.target == _PREVIOUS and self._previous is not None:
            sequence, rows = self._previous
            return rows if sequence == frame_matches.target_sequence else None
        return None

    def targets(self, all_matches: Sequence[Any]) -> None:
        """Checks the targets of a frame's matches. Kinds that only a later version knows may stand anywhere."""
        _count("result.matches", len(all_matches), len(self._references) + 2)
        at = 0
        for i, one in enumerate(all_matches):
            where = f"result.matches[{i}]"
            if one.HasField("status"):
                entry(f"{where}.status", one.status)
            if one.target == 0:
                raise WrongAnswerError(f"{where}.target", "not set", "set")
            if one.target != _REFERENCE:
                continue
            # A name may stand twice in an opening.
            at = next((n + 1 for n in range(at, len(self._references)) if self._references[n] == one.reference), 0)
            if at == 0:
                _text(f"{where}.reference", one.reference)
                raise WrongAnswerError(
                    f"{where}.reference", repr(one.reference), "the references of the opening, in their order"
                )

    def answered(self, sequence: int, failed: bool, rows: int | None) -> None:
        """Notes a result that was read: the next frame may be matched with it."""
        if not failed:
            self._previous = None if rows is None else (sequence, rows)
