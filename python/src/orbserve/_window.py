# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""How many frames of a stream may be on their way at a time, so that they wait in the client and not in the network."""

from __future__ import annotations

from collections import deque

FIRST_SIZE = 1  # frames
MOST_FRAMES = 64  # 30 frames/s over a link of two seconds
MEMORY_S = 10.0  # how long the least delay counts: a route may change
# A delay is that of an empty link up to so much more: sizes of JPEG files differ, and Wi-Fi jitters.
SLACK, SLACK_S = 1.25, 0.010
FIRST_HOLD_S, LONGEST_HOLD_S = 1.0, 10.0
# A link that takes longer for a frame has no need of a second one, and gRPC's question whether the server lives would
# have to wait behind it.
LONGEST_DELAY_S = 1.0
SHORTEST_ROUND = 4  # frames: one that is late says nothing


class Window:
    """Bound on the unanswered frames of a connection, from the delays of those that were answered.

    The delay of a frame is its round trip less its time on the server. More frames than the link holds queue up in
    front of it, which all of their delays show. Rounds of frames decide. A round has as many as the window, or those of
    one round trip if they are fewer, and begins one delay after the latest change.

    - If even the shortest delay of two rounds is above the least one of the last ten seconds (and the slack), the
      window shrinks in their relation, which leaves what an empty link holds. A link that stood still spoils one round.
    - Otherwise, if a frame had to wait for the window and the least delay is below a second, it grows: to the double
      until it first shrinks, then by half. It pauses for a second after it has shrunk, and twice as long each time that
      growing was wrong.

    Times are seconds of one steady clock, which the caller reads. Not thread-safe.
    """

    def __init__(self) -> None:
        """The window of a new connection."""
        self.size = FIRST_SIZE
        """Frames that may be unanswered, 1..64."""
        self.is_short = False
        """A frame has waited for the window in this round: set by the owner."""
        self._least: deque[tuple[float, float]] = deque()  # times and delays, both rising
        self._round: list[float] = []
        self._round_began = float("-inf")
        self._is_bad = False  # the round before was above the slack
        self._changed = float("-inf")
        self._counts_from = float("-inf")  # time of writing of the first frame that shows the latest change
        self._has_shrunk = False
        self._grown = False  # by the latest change
        self._hold_s = FIRST_HOLD_S

    @property
    def least_delay(self) -> float | None:
        """Least delay of the last ten seconds; None: nothing was answered yet."""
        return self._least[0][1] if self._least else None

    def answered(self, written: float, delay: float, now: float) -> None:
        """A frame was answered at `now` that was written at `written`."""
        while self._least and self._least[-1][1] >= delay:
            self._least.pop()
        self._least.append((now, delay))
        while now - self._least[0][0] > MEMORY_S:
            self._least.popleft()
        if written < self._counts_from:
            return
        if not self._round:
            self._round_began = now
        self._round.append(delay)
        is_round_trip = written >= self._round_began and len(self._round) >= SHORTEST_ROUND
        if len(self._round) >= self.size or is_round_trip:
            self._decide(min(self._round), now)
            self._round.clear()
            self.is_short = False

    def _decide(self, delay: float, now: float) -> None:
        least = self._least[0][1]
        was_bad, self._is_bad = self._is_bad, delay > least * SLACK + SLACK_S
        if self._is_bad:
            if was_bad:
                if self._grown:
                    self._hold_s = min(self._hold_s * 2, LONGEST_HOLD_S)
                self._has_shrunk, self._grown = True, False
                self._resize(min(self.size - 1, round(self.size * least / delay)), now)
        elif self._may_grow(least, now):
            self._resize(self.size + max(self.size // 2, 1) if self._has_shrunk else self.size * 2, now)
            self._grown = True
        elif self._grown:
            self._grown = False  # this round has shown that growing was right
            self._hold_s = FIRST_HOLD_S

    def _may_grow(self, least: float, now: float) -> bool:
        rested = not self._has_shrunk or now - self._changed >= self._hold_s
        return self.is_short and least < LONGEST_DELAY_S and rested

    def _resize(self, size: int, now: float) -> None:
        size = min(max(size, 1), MOST_FRAMES)
        if size != self.size:
            self.size = size
            self._is_bad = False
            self._changed = now
            self._counts_from = now + self._least[0][1]
