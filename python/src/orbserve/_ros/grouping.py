# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of images of several cameras with approximately the same time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_MOST_WAITING = 16  # images of a camera

T = TypeVar("T")


@dataclass
class _Queue(Generic[T]):
    waiting: deque[tuple[int, T]] = field(default_factory=deque)  # stamp and image
    last_arrival: float = 0.0


class Grouper(Generic[T]):
    """Makes groups of one image of each camera whose stamps differ by `slop_ns` at most.

    An image without partners is dropped. A camera without an image for `silent_after` seconds is left out, so that the
    others go on; it takes part again with its next image. Not safe for several threads.
    """

    def __init__(self, cameras: int, slop_ns: int, silent_after: float, now: float) -> None:
        """The cameras have the numbers 0 to `cameras` - 1. now: seconds of any steady clock, here and in `add()`."""
        self._queues: list[_Queue[T]] = [_Queue(last_arrival=now) for _ in range(cameras)]
        self._slop_ns = slop_ns
        self._silent_after = silent_after

    def silent(self, now: float) -> list[int]:
        """Cameras that are left out."""
        return [i for i, queue in enumerate(self._queues) if now - queue.last_arrival > self._silent_after]

    def add(self, camera: int, stamp_ns: int, image: T, now: float) -> tuple[list[dict[int, T]], list[tuple[int, T]]]:
        """Takes an image. Returns the groups that are complete, by camera, and images that were dropped, with their
        cameras.
        """
        dropped: list[tuple[int, T]] = []
        queue = self._queues[camera]
        queue.last_arrival = now
        if queue.waiting and stamp_ns <= queue.waiting[-1][0]:  # a clock was set, or a bag plays again
            dropped += ((camera, old) for _, old in queue.waiting)
            queue.waiting.clear()
        elif len(queue.waiting) == _MOST_WAITING:
            dropped.append((camera, queue.waiting.popleft()[1]))
        queue.waiting.append((stamp_ns, image))
        groups = []
        while (group := self._next(now, dropped)) is not None:
            groups.append(group)
        return groups, dropped

    def _next(self, now: float, dropped: list[tuple[int, T]]) -> dict[int, T] | None:
        """The next group; None: images are missing."""
        silent = self.silent(now)
        heard = [(i, queue) for i, queue in enumerate(self._queues) if i not in silent]
        for i in silent:  # what it has is too old to be anyone's partner
            dropped += ((i, old) for _, old in self._queues[i].waiting)
            self._queues[i].waiting.clear()
        while all(queue.waiting for _, queue in heard):
            latest = max(queue.waiting[0][0] for _, queue in heard)
            late = [(i, queue) for i, queue in heard if queue.waiting[0][0] < latest - self._slop_ns]
            if not late:
                return {i: self._nearest(i, queue, latest, dropped) for i, queue in heard}
            for i, queue in late:
                dropped.append((i, queue.waiting.popleft()[1]))
        return None

    @staticmethod
    def _nearest(camera: int, queue: _Queue[T], stamp_ns: int, dropped: list[tuple[int, T]]) -> T:
        """Takes the image of a camera that is nearest to a time, and not later."""
        waiting = queue.waiting
        while len(waiting) > 1 and waiting[1][0] <= stamp_ns:
            dropped.append((camera, waiting.popleft()[1]))
        return waiting.popleft()[1]
