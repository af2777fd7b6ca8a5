# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""Options of the wire contract."""

from __future__ import annotations

from dataclasses import dataclass

from .._options import Options, PipelineBase, _option
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


@dataclass(frozen=True, kw_only=True)
class MatchOptions(Options):
    """Brute-force matching. Distances are numbers of differing bits; those of SIFT are squared
    Euclidean distances, exact integers 0..8323200. Equal distances: the lowest train index wins.
    With a window a query feature at (x, y) is compared only with the train features within
    window_px of (x + offset_x, y + offset_y), in x and in y, both ends included; all options
    below then speak of these, as with a band. A query feature without any has no match. None
    stands for the default.
    """

    selection: MatchSelection | None = _option("selection")
    """orb: BEST."""

    k: int | None = _option("k")
    """K_BEST: neighbours of a query, 1..16, default 2."""

    ratio: float | None = _option("ratio")
    """Keep where best < ratio * second best (strict, f32), (0, 1]; 0 = off; not with K_BEST. The
    numbers compared are differing bits, and of SIFT the roots of the squared distances in f32,
    as cv::BFMatcher gives them. With a window, one train feature alone in it has a second best
    at the largest distance. orb: off.
    """

    cross_check: bool | None = _option("cross_check")
    """Keep mutual nearest neighbours only; not with K_BEST; orb: false."""

    max_distance: int | None = _option("max_distance")
    """Bits, of SIFT squared; 0..8323200; orb: 8323200 = no limit."""

    window_px: float | None = _option("window_px")
    """Half the side of the search window, level-0 pixels, any finite number above 0; 0 =
    everywhere. A frame of a stream may have its own window and offset (`FrameParameters`). orb:
    0.
    """

    offset_x: float | None = _option("offset_x")
    """Of the window, to the right: level-0 pixels, finite; needs a window; orb: 0."""

    offset_y: float | None = _option("offset_y")
    """Of the window, down: level-0 pixels, finite; needs a window; orb: 0."""

    min_dx: float | None = _option("min_dx")
    """Least dx = x of the query - x of the train feature, level-0 pixels, -1000000..max_dx: the
    disparity of a rectified pair whose left image is the query. A pair must keep this and all
    limits below, and lie in the window. orb: -1000000 = no limit.
    """

    max_dx: float | None = _option("max_dx")
    """Largest dx, level-0 pixels, min_dx..1000000; orb: 1000000 = no limit."""

    max_dy: float | None = _option("max_dy")
    """Largest difference of the two y, level-0 pixels, 0..1000000; orb: 1000000 = no limit."""

    fundamental: tuple[float, ...] | None = _option("fundamental")
    """Fundamental matrix F, nine finite numbers row by row, in any scale: F (x, y, 1) of a query is
    its epipolar line in the train image. Needs max_epipolar_px; orb: none.
    """

    max_epipolar_px: float | None = _option("max_epipolar_px")
    """Largest distance of the train feature to that line, level-0 pixels, 0..1000000; 0 = off;
    needs fundamental; orb: 0.
    """


@dataclass(frozen=True, kw_only=True)
class TrackOptions(Options):
    """Lucas-Kanade tracks of a stream: inverse compositional, over a pyramid of factor 2. They need
    pyramid.scale_factor 2 and pyramid.source PREVIOUS_LEVEL. The last number or name of each
    comment is the default, in every preset but "odometry". None stands for the default.
    """

    levels: int | None = _option("levels")
    """Levels of the pyramid, as many as exist, 1..11; 5."""

    coarse_patch_px: int | None = _option("coarse_patch_px")
    """Side of the patch on levels above 2, pixels of the level, 8 or 16; below it is 16; 16."""

    iterations: int | None = _option("iterations")
    """Most iterations on a level, 1..100; 30."""

    epsilon_px: float | None = _option("epsilon_px")
    """A step below it ends level 0, level-0 pixels, 0.001..1; above level 0 ten times as much;
    0.005.
    """

    min_eigen: float | None = _option("min_eigen")
    """Least eigenvalue of the patch's gradient matrix, (grey levels / pixel)^2, as a mean over the
    patch, 0.001..1000; 0.1.
    """

    max_residual: float | None = _option("max_residual")
    """A track whose patch differs by more ends, grey levels, above 0 and up to 128 = off; 128."""

    illumination: Illumination | None = _option("illumination")
    """NONE."""

    template: TrackTemplate | None = _option("template")
    """PREVIOUS."""

    redetect_percent: int | None = _option("redetect_percent")
    """New tracks begin in a frame whose tracks are fewer than this share of max_features, percent,
    0..100; 30. They also begin where there are no tracks.
    """


@dataclass(frozen=True, kw_only=True)
class FrameParameters(Options):
    """Options that may differ between the frames of one stream. A field that is not set takes the
    pipeline's value. None stands for the default.
    """

    max_features: int | None = _option("max_features")
    """Wanted number of features, and of tracks, 1..100000 (`SelectOptions`)."""

    fast_threshold: int | None = _option("fast_threshold")
    """Grey levels, 1..254."""

    match_ratio: float | None = _option("match_ratio")
    """Ratio test of the stream's matches, (0, 1]; 0 = off; checked in every call."""

    match_max_distance: int | None = _option("match_max_distance")
    """Largest distance of its matches, 0..8323200; checked in every call."""

    quality_level: float | None = _option("quality_level")
    """HARRIS and SHI_TOMASI: share of the best response that a keypoint needs, above 0 and below 1;
    checked in every call.
    """

    fast_threshold_low: int | None = _option("fast_threshold_low")
    """Detector FAST: second, lower threshold (`DetectOptions`), grey levels, 1..fast_threshold; 0 =
    off. A number above 0 is refused with another detector.
    """

    match_window_px: float | None = _option("match_window_px")
    """Search window (`MatchOptions`) of a stream's match with the previous frame, for example round
    the place that a motion model predicts: half its side and its offset, level-0 pixels, ranges
    as there. Matches with the keyframe and with references keep the window of the pipeline.
    Checked in every call.
    """

    match_offset_x: float | None = _option("match_offset_x")
    """To the right, level-0 pixels; needs a window."""

    match_offset_y: float | None = _option("match_offset_y")
    """Down, level-0 pixels; needs a window."""

    lapping_begin_px: int | None = _option("lapping_begin_px")
    """ORB_SLAM3: first column of the lapping area (`SelectOptions`), level-0 pixels, 0..1000000."""

    lapping_end_px: int | None = _option("lapping_end_px")
    """Last column of the area, level-0 pixels, 0..1000000."""


@dataclass(frozen=True, kw_only=True)
class Pipeline(PipelineBase):
    """Options of the pipeline: which stages run and with which parameters. None stands for the
    preset's value. Names and values are those of the wire contract. A preset's class, such as
    `Orb`, has its values. Options that contradict each other are refused with a text that names
    both. Options of a method that is not in use have no effect and are not refused, so that a
    pipeline of an answer, which has all options, can be sent back.
    """

    preset: str = "orb"
    """"orb", "orb-slam", "orb-slam3", "oriented-fast", "vio", "odometry", "bfrost", "orb-32",
    "sift", "harris-corners" or "klt-corners"; default "" = "orb". `PresetInfo` names those that
    this server has, with their values.
    """

    levels: int | None = _option("pyramid.levels")
    """Level 0 included, 1..16; orb: 8."""

    scale_factor: float | None = _option("pyramid.scale_factor")
    """Ratio of the sides of neighbouring levels, 1.01..4; orb: 1.2."""

    pyramid_source: PyramidSource | None = _option("pyramid.source")
    """orb: PREVIOUS_LEVEL."""

    detector: Detector | None = _option("detect.detector")
    """orb: FAST."""

    fast_threshold: int | None = _option("detect.fast_threshold")
    """FAST: grey levels, 1..254; orb: 20."""

    fast_arc_length: int | None = _option("detect.fast_arc_length")
    """FAST: contiguous ring pixels, 9..12; orb: 9."""

    candidate_test: CandidateTest | None = _option("detect.candidate_test")
    """FAST; default: the backend's fastest."""

    score: Score | None = _option("detect.score")
    """Value that ranks the keypoints of FAST; orb: HARRIS."""

    quality_level: float | None = _option("detect.quality_level")
    """HARRIS and SHI_TOMASI: share of the best response that a keypoint needs, above 0 and below 1.
    A frame may have its own (`FrameParameters`). orb: 0.01.
    """

    fast_threshold_low: int | None = _option("detect.fast_threshold_low")
    """FAST: second threshold for parts of a level without strong corners, grey levels,
    1..fast_threshold; 0 = off. Corners are found and suppressed at this threshold. Then, in
    every cell of 32x32 pixels of a level with a corner that reaches fast_threshold, the corners
    that do not reach it are dropped. The largest FAST threshold is compared, whatever the score.
    A number above 0 is refused with another detector. A frame may have its own
    (`FrameParameters`). orb: 0.
    """

    suppression: Suppression | None = _option("suppress.suppression")
    """orb: NEIGHBOURHOOD."""

    window_px: int | None = _option("suppress.window_px")
    """NEIGHBOURHOOD and CELL: side, pixels of the level, odd, 3..9; orb: 3."""

    cell_width_px: int | None = _option("suppress.cell_width_px")
    """Grid of the suppression CELL and of the selection CELL: level-0 pixels, multiples of 32,
    32..512; orb: 32.
    """

    cell_height_px: int | None = _option("suppress.cell_height_px")
    """As cell_width_px: level-0 pixels, multiples of 8, 8..512; orb: 32."""

    minimum_distance_px: int | None = _option("suppress.minimum_distance_px")
    """MINIMUM_DISTANCE: distance that kept corners of a level have at least, pixels of the level,
    1..64; 1 suppresses nothing; orb: 8.
    """

    compare: Compare | None = _option("suppress.compare")
    """Detector FAST: value that corners are compared by; orb: FAST."""

    distance_shape: DistanceShape | None = _option("suppress.distance_shape")
    """MINIMUM_DISTANCE: what is nearer than the distance; orb: SQUARE."""

    cornerness_compression: bool | None = _option("suppress.cornerness_compression")
    """MINIMUM_DISTANCE with SQUARE: blocks of 2x2 pixels take part as one pixel, which has the best
    corner of the block. Faster, and with fewer corners: those left still keep the distance. Not
    with DISC. orb: false.
    """

    max_passes: int | None = _option("suppress.max_passes")
    """MINIMUM_DISTANCE: passes after which corners that are not yet decided are dropped, 0..10000;
    0 = to the end, which photographs reach after 4 to 17. `FeatureSet.suppression_passes` says
    how many there were. orb: 0.
    """

    selection: Selection | None = _option("select.selection")
    """orb: LEVEL_QUOTA."""

    max_features: int | None = _option("select.max_features")
    """Wanted number of features, 1..100000. Only LEVEL_QUOTA keeps all equal responses at its cuts,
    so that the number may be exceeded; ORB_SLAM3 has up to two more a level. BEST and CELL
    answer exactly as many, where there are as many; QUADTREE as many as its shares hold. orb:
    500.
    """

    capacity: int | None = _option("select.capacity")
    """Most features an answer can hold, 1..100000; beyond it the answer says `truncated`. orb:
    100000.
    """

    border_px: int | None = _option("select.border_px")
    """Keypoints keep this distance to the border of their level, pixels of the level. Up to 255,
    and at least what the stages read: detector FAST 3, HARRIS and SHI_TOMASI 4, score HARRIS of
    FAST 5, INTENSITY_CENTROID 16 (with RBRIEF_32 5), RBRIEF_256 22, RBRIEF_32 10, BFROST_256 44;
    ORB_SLAM3 has 19. orb: 31.
    """

    lapping_begin_px: int | None = _option("select.lapping_begin_px")
    """ORB_SLAM3: first column of the lapping area, which the other camera of a pair sees, too.
    Features in the area end the answer, in reverse order. Monocular ORB-SLAM3 passes 0 and 1000;
    0, 0 = no area. A frame may have its own (`FrameParameters`). Level-0 pixels, 0..1000000;
    orb: 0.
    """

    lapping_end_px: int | None = _option("select.lapping_end_px")
    """Last column of the area, level-0 pixels, 0..1000000; orb: 0."""

    orientation: Orientation | None = _option("describe.orientation")
    """orb: INTENSITY_CENTROID."""

    descriptor_type: DescriptorType | None = _option("describe.descriptor_type")
    """orb: RBRIEF_256."""

    octave_layers: int | None = _option("sift.octave_layers")
    """Layers of an octave in which features lie, 1..8; orb: 3."""

    contrast_threshold: float | None = _option("sift.contrast_threshold")
    """Least contrast, of grey levels in 0..1, times octave_layers, 0..1; orb: 0.04."""

    edge_threshold: float | None = _option("sift.edge_threshold")
    """Features with a larger ratio of curvatures lie on edges, 0..1000; orb: 10."""

    sigma: float | None = _option("sift.sigma")
    """Blur of the first image of an octave, pixels, 0.1..4; orb: 1.6."""

    first_octave: int | None = _option("sift.first_octave")
    """-1 = the image at twice its size, as cv::SIFT; 0 = the image itself; orb: -1."""

    match: MatchOptions | None = None
    """Matching of a stream's frames; default of the `options` of a Match."""

    track: TrackOptions | None = None
    """Tracks of a stream (`StreamOpen.track`)."""

__all__ = [
    "FrameParameters",
    "MatchOptions",
    "Pipeline",
    "TrackOptions",
]
