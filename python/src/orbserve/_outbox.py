# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a stream before they are written: the slot of a live camera, budgets of frames, the bound on the link."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import grpc

from . import _codec
from ._check import SentFrame
from ._contract import wire
from ._errors import InvalidInputError, OrbserveError
from ._generated import DropPolicy
from ._images import Frame, Image, frame_parts
from ._jpeg import JpegEncoder
from ._results import dropped_on_client, late_on_client
from ._stream_options import StreamOptions
from ._window import Window

_NO_FRAME = SentFrame(0, 0)
_LEAST_BUDGET_S = 0.001  # the wire has whole milliseconds, and 0 stands for none
# A delay above which the link holds back a stream, and not the server, of which the frames' times there tell.
_SLOW_LINK_S, _SLOW_LINK_RATIO = 0.5, 4
_LIMITS_S = 1.0  # so long after a frame has waited for the link, the link limits
_SMALL_BYTES = 128 << 10  # frames that are no load for a slow link, all together


@dataclass(eq=False)
class Request:
    """A message on its way to the server, or a frame that has only its place in the order."""

    head: bytes = b""
    """The message; of a frame with a budget, its fields before the deadline."""
    tail: bytes = b""
    """Of a frame with a budget, its fields behind the deadline."""
    options: StreamOptions | None = None
    """Set: the message is an opening."""
    frame: SentFrame = _NO_FRAME
    error: OrbserveError | None = None
    """Set: the frame is not sent."""
    captured: float = 0.0
    """Time of the steady clock."""
    budget: float | None = None
    """Largest age, seconds; None: no limit."""
    written: float | None = None
    """Time of the steady clock; None: the frame waits."""
    size: int = 0
    """Bytes of a frame that was written."""

    def left(self, now: float) -> float:
        """Seconds of the budget that are left for sending."""
        return float("inf") if self.budget is None else self.budget - (now - self.captured)

    def data(self, now: float) -> bytes:
        """The message as it is written at `now`. A frame takes the time along that is left."""
        if self.budget is None:
            return self.head
        deadline = wire.Frame(deadline_ms=int(self.left(now) * 1000)).SerializeToString()
        return b"".join(_codec.field(15, self.head, deadline, self.tail))


def opening(options: StreamOptions) -> Request:
    """The message that opens a stream again."""
    return Request(options.request(), options=options)


def frame_request(
    image: Image | Frame, number: int, stream_deadline_ms: int, now: float, jpeg: JpegEncoder | None = None
) -> Request:
    """The message of a frame that is sent at `now`. One that no message can be made of has its `error` set."""
    frame = image if isinstance(image, Frame) else Frame(image)
    limit_ms = frame.deadline_ms or stream_deadline_ms
    try:
        captured = _capture_time(frame, now)
        if jpeg is not None:
            frame = jpeg.frame(frame)
        if frame.deadline_ms != 0:
            wire.Frame(deadline_ms=frame.deadline_ms)  # refuses what is no such number
            frame = dataclasses.replace(frame, deadline_ms=0)  # that is written later
        parts, sent = frame_parts(frame, number)
    except Exception as cause:  # whatever is wrong with a frame, it fails alone
        error = InvalidInputError(grpc.StatusCode.INVALID_ARGUMENT, f"the frame cannot be sent: {cause}")
        error.__cause__ = cause
        return Request(frame=_facts_of(frame, number), error=error, captured=now)
    # Joining copies the pixels, which the caller may change from now on.
    if limit_ms == 0:
        return Request(b"".join(_codec.field(15, *parts)), frame=sent, captured=captured)
    head, *rest = parts
    return Request(bytes(head), b"".join(rest), frame=sent, captured=captured, budget=limit_ms / 1000)


def _capture_time(frame: Frame, now: float) -> float:
    if frame.capture_time is None:
        return now
    captured = float(frame.capture_time)
    if not captured <= now:  # NaN fails, too
        raise ValueError(f"capture_time must be a time.monotonic() of the past; got {captured}, and it is {now:.3f}")
    return captured


def _facts_of(frame: Frame, number: int) -> SentFrame:
    """Number and time of a frame of which no message can be made, as far as they are numbers."""
    sequence, time_ns = frame.sequence, frame.timestamp_ns
    return SentFrame(
        sequence if isinstance(sequence, int) else number,
        time_ns if isinstance(time_ns, int) else 0,
    )


@dataclass
class Outbox:
    """Messages that were not written yet, and a bound on the frames that were written and not answered.

    With NEWEST and OLDEST at most `frames` frames wait, and only so many are on their way as the link holds (`Window`).

    With BLOCK one frame waits, and the server bounds what is on its way. Over a slow link the window does, too, unless
    the frames are small: behind many frames gRPC's question whether the server lives would wait for so long that it is
    taken for a cut. A link counts as slow until the first frame is answered.

    The owner guards it.
    """

    frames: int = 1
    clock: Callable[[], float] = time.monotonic
    waiting: deque[Request] = field(default_factory=deque)
    window: Window = field(default_factory=Window)
    in_flight: int = 0  # frames of this connection that were not answered
    bytes_in_flight: int = 0
    is_slow: bool = True  # the link is, as far as is known
    # Frames that ended here.
    dropped: int = 0
    expired: int = 0
    _waited: float = float("-inf")  # time at which a frame last waited for the window
    _was_link: bool = False  # the latest answer was longer on its way than on the server

    @property
    def limits(self) -> bool:
        """The link keeps frames waiting, and not the server or the source."""
        return self._was_link and self.clock() - self._waited <= _LIMITS_S

    def has_place(self, request: Request, policy: DropPolicy) -> bool:
        """True if the message may be put in now."""
        if request.options is not None:
            return not any(one.options is not None for one in self.waiting)
        return policy != DropPolicy.BLOCK or self._count() < 1

    def put(self, request: Request, policy: DropPolicy) -> None:
        """Puts a message in that has a place. Frames that have to go for it, perhaps itself, have their `error` set."""
        if request.options is None and policy != DropPolicy.BLOCK and self._count() >= self.frames:
            if policy == DropPolicy.OLDEST:
                self._drop(request, "earlier frames wait (drop_policy OLDEST)")
                return
            oldest = next(one for one in self.waiting if one.options is None)
            self.waiting.remove(oldest)
            self._drop(oldest, "a newer frame took the place of this one (drop_policy NEWEST)")
        self.waiting.append(request)

    def next(self, policy: DropPolicy) -> Request | None:
        """Takes the next message to be written. None: there is none, or the link is full."""
        self.expire()
        if not self.waiting:
            return None
        if self.waiting[0].options is None:
            if not self._has_room(self.waiting[0], policy):
                self.window.is_short = True
                if policy != DropPolicy.BLOCK:
                    self._waited = self.clock()
                return None
            self.in_flight += 1
            self.bytes_in_flight += self.waiting[0].size
        request = self.waiting.popleft()
        request.written = self.clock()
        return request

    def _has_room(self, request: Request, policy: DropPolicy) -> bool:
        """True if the link takes one more frame."""
        request.size = len(request.head) + len(request.tail)
        if self.in_flight < self.window.size:
            return True
        return policy == DropPolicy.BLOCK and (not self.is_slow or self.bytes_in_flight + request.size <= _SMALL_BYTES)

    def answered(self, request: Request, server_time: float | None) -> None:
        """A frame was answered; `server_time`: seconds, None for one that failed there."""
        self.in_flight -= 1
        self.bytes_in_flight -= request.size
        if server_time is not None and request.written is not None:
            now = self.clock()
            delay = max(now - request.written - server_time, 0.0)
            self._was_link = delay > server_time
            self.is_slow = delay > max(_SLOW_LINK_S, _SLOW_LINK_RATIO * server_time)
            self.window.answered(request.written, delay, now)

    def disconnected(self) -> None:
        """The connection is lost, with all that was on its way."""
        self.in_flight = self.bytes_in_flight = 0
        self.window = Window()
        self.is_slow = True
        self._was_link = False

    def expire(self) -> bool:
        """Gives up the frames that wait and whose budgets have passed: their `error` is set. True if there were any."""
        if not self.waiting:
            return False
        now = self.clock()
        late = [request for request in self.waiting if request.left(now) < _LEAST_BUDGET_S]
        for request in late:
            self.waiting.remove(request)
            self.give_up(request)
        return bool(late)

    def give_up(self, request: Request) -> None:
        """Ends a frame whose budget has passed before it was written."""
        assert request.budget is not None
        request.error = late_on_client(request.budget, self.clock() - request.captured)
        self._free(request)
        self.expired += 1

    def until_expiry(self, *more: Request) -> float | None:
        """Seconds until the budget of a frame that waits, or of one of `more`, passes; None: no such frame."""
        now = self.clock()
        left = min((request.left(now) for request in (*self.waiting, *more)), default=float("inf"))
        return None if left == float("inf") else max(left - _LEAST_BUDGET_S, 0.0)

    def is_late(self, request: Request) -> bool:
        """True if the budget of a frame that was not written has passed."""
        return request.left(self.clock()) < _LEAST_BUDGET_S

    def _count(self) -> int:
        return sum(one.options is None for one in self.waiting)

    def _drop(self, request: Request, text: str) -> None:
        request.error = dropped_on_client(text)
        self._free(request)
        self.dropped += 1

    @staticmethod
    def _free(request: Request) -> None:
        request.head = request.tail = b""
