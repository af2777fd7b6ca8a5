# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Ids of tracks over several streams."""

from __future__ import annotations

from dataclasses import replace

from .._generated import TrackEnd
from .._results import FrameResult


class TrackNumbers:
    """Ids of tracks that go on where a stream of a camera follows another one. Streams count from 1."""

    def __init__(self) -> None:
        """Of a camera."""
        self._first = 0  # added to ids of this stream
        self._last = 0
        self._alive: list[int] = []
        self._lost: list[int] = []

    def begin(self) -> None:
        """A new stream."""
        self._first = self._last
        self._lost += self._alive
        self._alive = []

    def renumber(self, result: FrameResult) -> FrameResult:
        """The result with ids that are unique for the camera. The first one of a stream ends the tracks of the stream
        before: RECONNECTED.
        """
        if self._first > 0:
            tracks = replace(result.tracks, id=result.tracks.id + self._first)
            ended: dict[int, TrackEnd | None] = dict.fromkeys(self._lost, TrackEnd.RECONNECTED)
            ended |= {number + self._first: why for number, why in result.ended_tracks.items()}
            result = replace(result, tracks=tracks, ended_tracks=ended)
            self._lost = []
        self._alive = result.tracks.id.tolist()
        self._last = max(self._last, *self._alive[-1:], *result.ended_tracks, 0)
        return result
