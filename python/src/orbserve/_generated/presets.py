# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""Presets of the wire contract."""

from __future__ import annotations

from dataclasses import dataclass

from .._options import _option
from .enums import (
    CandidateTest,
    Compare,
    DescriptorType,
    Detector,
    DistanceShape,
    Illumination,
    MatchSelection,
    Orientation,
    PyramidSource,
    Score,
    Selection,
    Suppression,
    TrackTemplate,
)
from .options import MatchOptions, Pipeline, TrackOptions


@dataclass(frozen=True, kw_only=True)
class _Values(Pipeline):
    """Values of `orb`. A preset below has them where it does not name its own."""

    levels: int = _option("pyramid.levels", 8)
    scale_factor: float = _option("pyramid.scale_factor", 1.2)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.FAST)
    fast_threshold: int = _option("detect.fast_threshold", 20)
    fast_arc_length: int = _option("detect.fast_arc_length", 9)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.HARRIS)
    quality_level: float = _option("detect.quality_level", 0.01)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 0)
    suppression: Suppression = _option("suppress.suppression", Suppression.NEIGHBOURHOOD)
    window_px: int = _option("suppress.window_px", 3)
    cell_width_px: int = _option("suppress.cell_width_px", 32)
    cell_height_px: int = _option("suppress.cell_height_px", 32)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 8)
    compare: Compare = _option("suppress.compare", Compare.FAST)
    distance_shape: DistanceShape = _option("suppress.distance_shape", DistanceShape.SQUARE)
    cornerness_compression: bool = _option("suppress.cornerness_compression", False)
    max_passes: int = _option("suppress.max_passes", 0)
    selection: Selection = _option("select.selection", Selection.LEVEL_QUOTA)
    max_features: int = _option("select.max_features", 500)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 31)
    lapping_begin_px: int = _option("select.lapping_begin_px", 0)
    lapping_end_px: int = _option("select.lapping_end_px", 0)
    orientation: Orientation = _option("describe.orientation", Orientation.INTENSITY_CENTROID)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.RBRIEF_256)
    octave_layers: int = _option("sift.octave_layers", 3)
    contrast_threshold: float = _option("sift.contrast_threshold", 0.04)
    edge_threshold: float = _option("sift.edge_threshold", 10.0)
    sigma: float = _option("sift.sigma", 1.6)
    first_octave: int = _option("sift.first_octave", -1)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=8323200,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
        min_dx=-1000000.0,
        max_dx=1000000.0,
        max_dy=1000000.0,
        fundamental=None,
        max_epipolar_px=0.0,
    )
    track: TrackOptions = TrackOptions(
        levels=5,
        coarse_patch_px=16,
        iterations=30,
        epsilon_px=0.005,
        min_eigen=0.1,
        max_residual=128.0,
        illumination=Illumination.NONE,
        template=TrackTemplate.PREVIOUS,
        redetect_percent=30,
    )


@dataclass(frozen=True, kw_only=True)
class Orb(_Values):
    """The preset `orb`: cv::ORB of OpenCV 4.6.0, bit for bit."""

    preset: str = "orb"


@dataclass(frozen=True, kw_only=True)
class OrbSlam(_Values):
    """The preset `orb-slam`: corners spread by a quadtree, with a second threshold, as ORB-SLAM."""

    preset: str = "orb-slam"
    score: Score = _option("detect.score", Score.FAST)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 7)
    selection: Selection = _option("select.selection", Selection.QUADTREE)
    max_features: int = _option("select.max_features", 1000)
    border_px: int = _option("select.border_px", 22)


@dataclass(frozen=True, kw_only=True)
class OrbSlam3(_Values):
    """The preset `orb-slam3`: the features of ORB-SLAM3 v1.0 in its order, bit for bit."""

    preset: str = "orb-slam3"
    score: Score = _option("detect.score", Score.FAST)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 7)
    selection: Selection = _option("select.selection", Selection.ORB_SLAM3)
    max_features: int = _option("select.max_features", 1000)
    border_px: int = _option("select.border_px", 19)


@dataclass(frozen=True, kw_only=True)
class OrientedFast(_Values):
    """The preset `oriented-fast`: FAST corners chosen by their Harris responses, with angles, for
    embedded GPUs.
    """

    preset: str = "oriented-fast"
    levels: int = _option("pyramid.levels", 4)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    compare: Compare = _option("suppress.compare", Compare.SCORE)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 100000)
    border_px: int = _option("select.border_px", 16)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)


@dataclass(frozen=True, kw_only=True)
class Vio(_Values):
    """The preset `vio`: one corner a cell for visual-inertial odometry (Nagy et al. 2020)."""

    preset: str = "vio"
    levels: int = _option("pyramid.levels", 2)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    fast_threshold: int = _option("detect.fast_threshold", 10)
    fast_arc_length: int = _option("detect.fast_arc_length", 10)
    score: Score = _option("detect.score", Score.SAD_ARC)
    suppression: Suppression = _option("suppress.suppression", Suppression.CELL)
    compare: Compare = _option("suppress.compare", Compare.SCORE)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 100)
    border_px: int = _option("select.border_px", 9)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)


@dataclass(frozen=True, kw_only=True)
class Odometry(_Values):
    """The preset `odometry`: vio with more corners, and tracks for the motion of a camera."""

    preset: str = "odometry"
    levels: int = _option("pyramid.levels", 2)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    fast_threshold: int = _option("detect.fast_threshold", 10)
    fast_arc_length: int = _option("detect.fast_arc_length", 10)
    score: Score = _option("detect.score", Score.SAD_ARC)
    suppression: Suppression = _option("suppress.suppression", Suppression.CELL)
    compare: Compare = _option("suppress.compare", Compare.SCORE)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 300)
    border_px: int = _option("select.border_px", 9)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)
    track: TrackOptions = TrackOptions(
        levels=5,
        coarse_patch_px=16,
        iterations=30,
        epsilon_px=0.005,
        min_eigen=0.1,
        max_residual=12.0,
        illumination=Illumination.OFFSET,
        template=TrackTemplate.PREVIOUS,
        redetect_percent=70,
    )


@dataclass(frozen=True, kw_only=True)
class Bfrost(_Values):
    """The preset `bfrost`: FAST corners with 256 tests of square means, turned to the arc (Cronje
    2011).
    """

    preset: str = "bfrost"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    score: Score = _option("detect.score", Score.FAST)
    selection: Selection = _option("select.selection", Selection.BEST)
    border_px: int = _option("select.border_px", 44)
    orientation: Orientation = _option("describe.orientation", Orientation.ARC_MIDDLE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.BFROST_256)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=True,
        max_distance=8323200,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
        min_dx=-1000000.0,
        max_dx=1000000.0,
        max_dy=1000000.0,
        fundamental=None,
        max_epipolar_px=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class Orb32(_Values):
    """The preset `orb-32`: 128 keypoints with 32-bit descriptors against a reference (Chang et al.
    2019).
    """

    preset: str = "orb-32"
    levels: int = _option("pyramid.levels", 1)
    score: Score = _option("detect.score", Score.FAST)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 128)
    border_px: int = _option("select.border_px", 10)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.RBRIEF_32)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=True,
        max_distance=8323200,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
        min_dx=-1000000.0,
        max_dx=1000000.0,
        max_dy=1000000.0,
        fundamental=None,
        max_epipolar_px=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class Sift(_Values):
    """The preset `sift`: cv::SIFT of OpenCV 4.6.0 with AVX2, bit for bit."""

    preset: str = "sift"
    detector: Detector = _option("detect.detector", Detector.SIFT)
    max_features: int = _option("select.max_features", 100000)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.SIFT)


@dataclass(frozen=True, kw_only=True)
class HarrisCorners(_Values):
    """The preset `harris-corners`: Harris corners with minimum distance (Teixeira et al. 2008)."""

    preset: str = "harris-corners"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    detector: Detector = _option("detect.detector", Detector.HARRIS)
    suppression: Suppression = _option("suppress.suppression", Suppression.MINIMUM_DISTANCE)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 5)
    selection: Selection = _option("select.selection", Selection.BEST)
    border_px: int = _option("select.border_px", 4)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)


@dataclass(frozen=True, kw_only=True)
class KltCorners(_Values):
    """The preset `klt-corners`: Shi-Tomasi corners with minimum distance (Teixeira et al. 2008)."""

    preset: str = "klt-corners"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    detector: Detector = _option("detect.detector", Detector.SHI_TOMASI)
    suppression: Suppression = _option("suppress.suppression", Suppression.MINIMUM_DISTANCE)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 5)
    selection: Selection = _option("select.selection", Selection.BEST)
    border_px: int = _option("select.border_px", 4)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)


PRESETS: dict[str, type[Pipeline]] = {
    "orb": Orb,
    "orb-slam": OrbSlam,
    "orb-slam3": OrbSlam3,
    "oriented-fast": OrientedFast,
    "vio": Vio,
    "odometry": Odometry,
    "bfrost": Bfrost,
    "orb-32": Orb32,
    "sift": Sift,
    "harris-corners": HarrisCorners,
    "klt-corners": KltCorners,
}
"""Classes of the presets by the names of the presets."""

__all__ = [
    "Bfrost",
    "HarrisCorners",
    "KltCorners",
    "Odometry",
    "Orb",
    "Orb32",
    "OrbSlam",
    "OrbSlam3",
    "OrientedFast",
    "PRESETS",
    "Sift",
    "Vio",
]
