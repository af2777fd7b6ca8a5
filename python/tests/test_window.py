# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The bound on unanswered frames over links that are computed, not run."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from orbserve._window import FIRST_SIZE, MEMORY_S, MOST_FRAMES, Window


@dataclass
class Link:
    """A camera, a slot of one frame that keeps the newest, and a link that carries one frame after the other."""

    transmission: float  # seconds of a frame
    delay: float  # seconds there and back
    period: float = 1 / 30
    window: Window = field(default_factory=Window)
    now: float = 100.0
    free: float = 0.0  # time from which on the link carries the next frame
    ages: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    dropped: int = 0
    _slot: float | None = None
    _flying: list[tuple[float, float, float]] = field(default_factory=list)  # arrival, capture, write

    def run(self, seconds: float) -> None:
        self.ages, self.sizes, self.dropped = [], [], 0
        end = self.now + seconds
        while self.now < end:
            due = self.now + self.period
            while self._flying and self._flying[0][0] <= due:
                arrival, captured, written = self._flying.pop(0)
                self.window.answered(written, arrival - written, arrival)
                self.ages.append(arrival - captured)
                self._write(arrival)
            self.now = due
            self.dropped += self._slot is not None
            self._slot = due
            self._write(due)
            self.sizes.append(self.window.size)

    def _write(self, now: float) -> None:
        if self._slot is None:
            return
        if len(self._flying) >= self.window.size:
            self.window.is_short = True
            return
        self.free = max(self.free, now) + self.transmission
        self._flying.append((self.free + self.delay, self._slot, now))
        self._slot = None


def test_a_link_with_a_long_delay_and_enough_bandwidth_carries_every_frame() -> None:
    link = Link(transmission=0.001, delay=0.2)
    link.run(2)
    assert link.dropped <= 25
    link.run(60)
    assert link.dropped == 0
    assert max(link.ages) == pytest.approx(0.201)


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.05, 0.2])
def test_frames_do_not_queue_up_before_a_link_that_is_too_slow(delay: float) -> None:
    link = Link(transmission=0.123, delay=delay)  # VGA over 20 Mbit/s
    link.run(2)
    link.run(60)
    wait = link.period + link.transmission  # in the slot: the newest frame when the link is free
    assert sum(link.ages) / len(link.ages) < 1.25 * (link.transmission + delay) + wait
    assert len(link.ages) > 0.6 * 60 / max(link.transmission, (link.transmission + delay) / 2)


def test_growing_is_tried_ever_more_rarely_where_it_is_wrong() -> None:
    link = Link(transmission=0.123, delay=0.0)
    link.run(30)
    link.run(60)
    assert link.sizes.count(1) > 0.9 * len(link.sizes)
    assert max(link.sizes) == 2


def test_a_link_that_stands_still_now_and_then_stays_in_full_use() -> None:
    link = Link(transmission=0.001, delay=0.1)
    link.run(3)
    for _ in range(10):
        link.free = link.now + 0.3
        link.run(3)
        assert link.dropped < 12  # those of the pause
    assert link.window.size >= 4


def test_a_link_that_becomes_slow_is_noticed_and_one_that_becomes_fast_again_is_used() -> None:
    link = Link(transmission=0.001, delay=0.1)
    link.run(10)
    assert link.dropped <= 10
    link.transmission = 0.2
    link.run(3)
    link.run(20)
    assert sum(link.ages) / len(link.ages) < 0.7
    link.transmission = 0.001
    link.run(60)
    link.run(10)
    assert link.dropped == 0


def test_a_window_that_is_wider_than_needed_closes_in_time() -> None:
    link = Link(transmission=0.001, delay=0.2)
    link.window.size = 20
    link.run(5)
    link.transmission = 0.123
    link.run(6)
    link.run(20)
    assert sum(link.ages) / len(link.ages) < 1.25 * 0.323 + link.period + link.transmission


def test_a_longer_route_is_believed_after_ten_seconds() -> None:
    link = Link(transmission=0.001, delay=0.01)
    link.run(20)
    link.delay = 0.3
    link.run(MEMORY_S + 30)
    link.run(10)
    assert link.dropped == 0


def test_a_link_that_is_busy_with_one_frame_for_long_gets_no_second_one() -> None:
    link = Link(transmission=1.2, delay=0.1)
    link.run(60)
    assert max(link.sizes) == 1


def test_two_rounds_in_a_row_shrink_it_and_one_does_not() -> None:
    window = Window()
    window.size = 4
    sizes = []
    for i, delay in enumerate([0.1, 0.5, 0.1, 0.5, 0.5]):  # of a round each
        for _ in range(4):
            window.answered(i, delay, i + delay)
        sizes.append(window.size)
    assert sizes == [4, 4, 4, 4, 1]


def test_a_single_late_result_shrinks_nothing() -> None:
    window = Window()
    for i in range(10):
        window.answered(i, 0.5 if i % 2 else 0.01, i + 0.5)
    assert window.size == FIRST_SIZE


def test_a_window_does_not_grow_unless_a_frame_waited_and_has_bounds() -> None:
    window = Window()
    for i in range(100):
        window.answered(i, 0.01, i + 0.01)
    assert window.size == FIRST_SIZE
    now = 200.0
    for _ in range(1000):
        window.is_short = True
        window.answered(now, 0.01, now + 0.01)
        now += 0.1
    assert window.size == MOST_FRAMES
    for _ in range(1000):
        window.answered(now, 5.0 + now, now + 0.01)
        now += 0.1
        assert window.size >= 1
    assert window.size == 1
