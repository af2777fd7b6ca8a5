# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""When a stream tries to connect again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from ._errors import OrbserveError


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


@dataclass
class Tries:
    """State of a stream's tries to connect. It reads the clock and waits for nothing. The owner guards it."""

    reconnect: Reconnect
    clock: Callable[[], float] = time.monotonic
    attempts: int = 0  # since the latest answered frame
    is_last: bool = False  # the latest try was begun at the end of the time
    # Times of the clock.
    _next: float = 0
    _give_up: float = float("inf")  # after the latest loss
    _begun: float = 0  # of the connection, or of the latest try

    def open(self, timeout: float | None) -> float | None:
        """The stream is about to be opened. Returns the longest time of one try."""
        self._give_up = self.clock() + self.reconnect.seconds
        if self.reconnect.seconds <= 0:
            return timeout
        return self.reconnect.try_timeout if timeout is None else min(timeout, self.reconnect.try_timeout)

    def begin(self, timeout: float | None) -> tuple[float | None, bool]:
        """Begins a try of at most `timeout` seconds; None: no limit. Returns its limit, and whether it waits for a
        server that cannot be reached. The last one fails at once, with gRPC's reason. There is one even if the time is
        over.
        """
        self._begun = self.clock()
        self.attempts += 1
        self.is_last = self._begun >= self._give_up
        if self.is_last:
            return timeout, False
        left = self._give_up - self._begun
        return left if timeout is None else min(timeout, left), True

    def connected(self) -> None:
        """A try has succeeded."""
        self._begun = self.clock()

    def proved(self) -> None:
        """The server answers frames, or the stream is open: the time of a later loss begins anew."""
        self._give_up = float("inf")
        self.attempts = 0

    def lost(self, error: OrbserveError) -> bool:
        """The connection is lost. Plans the next try; False: there is none."""
        now = self.clock()
        if now - self._begun > self.reconnect.seconds:
            self.proved()  # it was healthy for long enough, even if no frame was sent
        self._give_up = min(self._give_up, now + self.reconnect.seconds)
        # Otherwise the last try was opened, and lost before a result came.
        return now < self._give_up and self._plan(error, now)

    def failed(self, error: OrbserveError) -> bool:
        """A try has failed. Plans the next one; False: there is none."""
        return not self.is_last and self._plan(error, self._begun)

    def wait(self) -> float:
        """Seconds before the next try."""
        return max(self._next - self.clock(), 0.0)

    def _plan(self, cause: OrbserveError, begun: float) -> bool:
        """Sets the time of the next try after a loss, or after a try that began at `begun`. False: it is too late."""
        # 2^30 of any wait is more than the longest one.
        longest = min(self.reconnect.first_delay * 2.0 ** min(self.attempts, 30), self.reconnect.longest_delay)
        # The last try comes at the end of the time, however long the wait would be.
        self._next = min(begun + longest * random.uniform(0.5, 1.0), self._give_up)
        if cause.retry_after:
            self._next = max(self._next, self.clock() + cause.retry_after)
        return self._next <= self._give_up
