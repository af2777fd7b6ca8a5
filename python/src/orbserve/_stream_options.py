# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Options of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import _calls, _codec
from ._contract import wire
from ._generated import DropPolicy, Pipeline
from ._options import assign

# The preset of a stream that tracks, where none is named.
TRACK_PRESET = "odometry"


@dataclass(frozen=True)
class StreamOptions:
    """The opening message of a stream. `Client.stream` says what each attribute means."""

    pipeline: Pipeline | str | None = None
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
        """Fills in the pipeline, and replaces the name of a policy by the policy. TypeError where the references are
        one text, ValueError for options that contradict each other.
        """
        if self.pipeline is None:
            object.__setattr__(self, "pipeline", TRACK_PRESET if self.track else "orb")
        object.__setattr__(self, "drop_policy", DropPolicy.of(self.drop_policy))
        if self.match_previous and self.omit_features:
            raise ValueError("match_previous names rows of the features, which omit_features leaves out; leave out one")
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
        assert self.pipeline is not None  # filled in
        parts = _calls.pipeline_field(1, self.pipeline)
        return b"".join(_codec.field(1, *parts, message.SerializeToString()))
