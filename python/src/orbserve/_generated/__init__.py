# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""Enums, options, presets and records of the wire contract."""

from .enums import *  # noqa: F403
from .options import *  # noqa: F403
from .presets import *  # noqa: F403
from .records import *  # noqa: F403

__all__ = [
    "Bfrost",
    "CandidateTest",
    "Compare",
    "DescriptorType",
    "Detector",
    "DeviceClock",
    "DeviceInfo",
    "DeviceTemperature",
    "DistanceShape",
    "DropPolicy",
    "Execution",
    "FrameEnergy",
    "FrameParameters",
    "HarrisCorners",
    "Illumination",
    "JpegFrames",
    "KltCorners",
    "MatchOptions",
    "MatchSelection",
    "MatchTarget",
    "Odometry",
    "Orb",
    "Orb32",
    "OrbSlam",
    "OrbSlam3",
    "Orientation",
    "OrientedFast",
    "PRESETS",
    "Pipeline",
    "PixelFormat",
    "PowerRail",
    "PresetInfo",
    "PyramidSource",
    "ReferenceInfo",
    "Score",
    "Selection",
    "ServerInfo",
    "ServerLimits",
    "Sift",
    "StageTime",
    "StreamOpened",
    "Suppression",
    "Timings",
    "TrackEnd",
    "TrackOptions",
    "TrackTemplate",
    "Vio",
]
