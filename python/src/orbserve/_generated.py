# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""Enums, options, records and presets of the wire contract."""

from __future__ import annotations

from dataclasses import dataclass

from ._options import Options, PipelineBase, Record, WireEnum, _option


class PixelFormat(WireEnum):
    """`PixelFormat` of the wire contract."""

    JPEG = 1
    """One whole JPEG file; its luma plane is used, EXIF rotation is ignored."""

    GRAY8 = 2
    """1 byte a pixel."""

    RGB8 = 3
    """3 bytes a pixel."""

    BGR8 = 4
    """3 bytes a pixel."""

    BGRA8 = 5
    """4 bytes a pixel; alpha is ignored."""

    NV12 = 6
    """Only the Y plane is used; the chroma plane may be left out."""

    I420 = 7
    """Only the Y plane is used; the chroma planes may be left out."""

    YUYV = 8
    """2 bytes a pixel, Y first; only Y is used."""

    GRAY16 = 9
    """Reserved: answered with UNIMPLEMENTED."""


class PyramidSource(WireEnum):
    """`PyramidSource` of the wire contract."""

    PREVIOUS_LEVEL = 1
    """Each level from the one before it, as OpenCV."""

    LEVEL_ZERO = 2
    """Each level straight from the image."""


class Detector(WireEnum):
    """`Detector` of the wire contract."""

    FAST = 1
    """Segment test on the circle of radius 3."""

    HARRIS = 2
    """Harris and Stephens' corner measure at every pixel: 7x7 sum, Prewitt gradients, k = 0.04."""

    SHI_TOMASI = 3
    """Smaller eigenvalue of the same matrix."""


class CandidateTest(WireEnum):
    """Way in which FAST tests its candidates: a hint to the backend, which never changes the
    answer. Frames that differ in it alone share batches, and the test of one of them then serves
    all.
    """

    BINARY_ENCODING = 1
    """Brighter and darker ring pixels as bits, arcs by shifts."""

    BIT_TABLE = 2
    """The same bits, arcs looked up in a table."""


class Score(WireEnum):
    """`Score` of the wire contract."""

    LARGEST_THRESHOLD = 1
    """The greatest FAST threshold at which the pixel is still a corner."""

    HARRIS = 2
    """Harris and Stephens, 7x7 block, Sobel gradients, k = 0.04; negative on edges."""

    SAD_CIRCLE = 3
    """Sum of absolute differences to the centre over the circle, grey levels, up to 4080."""

    SAD_ARC = 4
    """That sum over the pixels of the arc only."""


class Suppression(WireEnum):
    """`Suppression` of the wire contract."""

    NEIGHBOURHOOD = 1
    """Greater than every neighbour in the window; equal neighbours remove each other."""

    CELL = 2
    """First as NEIGHBOURHOOD; then the best per cell of a grid, over all levels together. Not with
    the selection LEVEL_QUOTA.
    """

    MINIMUM_DISTANCE = 3
    """The corners of a level are visited by response down, y up, x up. Each is kept unless one that
    was kept before lies nearer than the distance. Corners under a mask or beyond the border
    remove no other.
    """


class Compare(WireEnum):
    """Value that FAST corners are compared by."""

    FAST = 1
    """Largest FAST threshold at which the pixel is a corner, whatever the score."""

    SCORE = 2
    """The score (`DetectOptions.score`); SAD_CIRCLE and SAD_ARC need it."""


class DistanceShape(WireEnum):
    """Corners that are nearer than the distance d of MINIMUM_DISTANCE."""

    SQUARE = 1
    """Less than d apart in x and in y: a window of 2d - 1 pixels a side."""

    DISC = 2
    """Dx^2 + dy^2 below d^2."""


class Selection(WireEnum):
    """`Selection` of the wire contract."""

    LEVEL_QUOTA = 1
    """As cv::ORB: a share per level, all equal responses at its end included. Where FAST corners
    are compared by FAST and scored by HARRIS, twice the share is chosen by the largest threshold
    first.
    """

    BEST = 2
    """Best of all levels together: by response down, level up, y up, x up."""

    CELL = 3
    """Cells of the grid of `SuppressOptions` in turn: the best of each cell in the order of BEST,
    then the second best of each, and so on.
    """

    QUADTREE = 4
    """A share per level, spread by a quadtree as ORB-SLAM. A level with too few corners does not
    pass the rest on.
    """


class Orientation(WireEnum):
    """`Orientation` of the wire contract."""

    NONE = 1
    """Angles are -1."""

    INTENSITY_CENTROID = 2
    """Towards the intensity centroid of the disc of radius 15, or with RBRIEF_32 of the 10x10
    pixels round the keypoint.
    """

    ARC_MIDDLE = 3
    """Towards the middle of the FAST arc, in steps of 11.25; needs the detector FAST."""


class DescriptorType(WireEnum):
    """`DescriptorType` of the wire contract."""

    NONE = 1
    """0 bytes: keypoints only, which cannot be matched."""

    RBRIEF_256 = 2
    """32 bytes: rotated BRIEF, as cv::ORB; needs an orientation."""

    RBRIEF_32 = 3
    """4 bytes: 32 tests of the unsmoothed 9x9 pixels; needs an orientation."""

    BFROST_256 = 4
    """32 bytes: means of squares compared, turned in steps of 22.5 degrees."""


class MatchSelection(WireEnum):
    """`MatchSelection` of the wire contract."""

    BEST = 1
    """The nearest train descriptor."""

    K_BEST = 2
    """The k nearest, ascending distance."""


class Illumination(WireEnum):
    """Change of light between two frames that a track follows, beside its motion (Nagy et al. 2020,
    section II-E).
    """

    NONE = 1
    """None."""

    OFFSET = 2
    """Brightness: a number of grey levels that is added."""

    GAIN = 3
    """Contrast: a factor."""

    BOTH = 4
    """Factor and offset."""


class TrackTemplate(WireEnum):
    """Frame from which the patch of a track is taken."""

    PREVIOUS = 1
    """The frame before; gain and offset are between these two frames."""

    FIRST = 2
    """The frame in which the track began; gain and offset are since then. Each track keeps its
    patches, 648 bytes a level (200 with patches of 8 pixels). A max_features that could keep
    more than 32 MiB of them is refused.
    """


class MatchTarget(WireEnum):
    """Kind of features that a frame is matched against."""

    PREVIOUS = 1
    """The last frame before it on this stream that did not fail."""

    KEYFRAME = 2
    """The stream's last keyframe before it."""

    REFERENCE = 3
    """A stored reference."""


class TrackEnd(WireEnum):
    """Reason for which a track ended."""

    NO_TEXTURE = 1
    """Its patch has too little texture (`TrackOptions.min_eigen`)."""

    LEFT_IMAGE = 2
    """It left the image, or jumped."""

    NOT_CONVERGED = 3
    """The iterations did not converge."""

    DIFFERENT = 4
    """Its patch differs too much (`TrackOptions.max_residual`)."""

    MASKED = 5
    """It came to lie under the mask."""

    IMAGE_SIZE = 6
    """The frame has another size than the one before."""

    PIPELINE = 7
    """The stream was opened again with another pipeline, or without tracks."""


class DropPolicy(WireEnum):
    """Choice of the frame to drop when too many frames of the stream wait
    (`StreamOpened.max_waiting`). A dropped frame has a result with the reason DROPPED. It is
    neither decoded nor computed.
    """

    BLOCK = 1
    """The server stops reading: flow control holds the client back."""

    NEWEST = 2
    """The server reads on; the newest frames survive: the oldest waiting frame is dropped."""

    OLDEST = 3
    """The server reads on; the oldest frames survive: the arriving frame is dropped."""


@dataclass(frozen=True, kw_only=True)
class MatchOptions(Options):
    """Brute-force Hamming matching. Equal distances: the lowest train index wins. With a window a
    query feature at (x, y) is compared only with the train features within window_px of (x +
    offset_x, y + offset_y), in x and in y, both ends included; all options below then speak of
    these. A query feature without any has no match. None stands for the default.
    """

    selection: MatchSelection | None = _option("selection")
    """orb: BEST."""

    k: int | None = _option("k")
    """K_BEST: neighbours of a query, 1..16, default 2."""

    ratio: float | None = _option("ratio")
    """Keep where best < ratio * second best (strict, f32), (0, 1]; 0 = off; not with K_BEST. With a
    window, one train feature alone in it has a second best in which every bit differs. orb: off.
    """

    cross_check: bool | None = _option("cross_check")
    """Keep mutual nearest neighbours only; not with K_BEST; orb: false."""

    max_distance: int | None = _option("max_distance")
    """Bits, 0..256; orb: 256 = no limit."""

    window_px: float | None = _option("window_px")
    """Half the side of the search window, level-0 pixels, any finite number above 0; 0 =
    everywhere. A frame of a stream may have its own window and offset (`FrameParameters`). orb:
    0.
    """

    offset_x: float | None = _option("offset_x")
    """Of the window, to the right: level-0 pixels, finite; needs a window; orb: 0."""

    offset_y: float | None = _option("offset_y")
    """Of the window, down: level-0 pixels, finite; needs a window; orb: 0."""


@dataclass(frozen=True, kw_only=True)
class TrackOptions(Options):
    """Lucas-Kanade tracks of a stream: inverse compositional, over a pyramid of factor 2. They need
    pyramid.scale_factor 2 and pyramid.source PREVIOUS_LEVEL. The last number or name of each
    comment is the default, in every preset. None stands for the default.
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
    """Largest distance of its matches, bits, 0..256; checked in every call."""

    quality_level: float | None = _option("quality_level")
    """Detectors other than FAST: share of the best response that a keypoint needs, above 0 and
    below 1; checked in every call.
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


@dataclass(frozen=True, kw_only=True)
class Pipeline(PipelineBase):
    """Options of the pipeline: which stages run and with which parameters. None stands for the
    preset's value. Names and values are those of the wire contract. A preset's class, such as
    `Orb`, has its values. Options that contradict each other are refused with a text that names
    both. Options of a method that is not in use have no effect and are not refused, so that a
    pipeline of an answer, which has all options, can be sent back.
    """

    preset: str = "orb"
    """"orb", "orb-slam", "oriented-fast", "vio", "bfrost", "orb-32", "harris-corners" or
    "klt-corners"; default "" = "orb". `PresetInfo` names those that this server has, with their
    values.
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
    """Detectors other than FAST: share of the best response that a keypoint needs, above 0 and
    below 1. A frame may have its own (`FrameParameters`). orb: 0.01.
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
    so that the number may be exceeded. BEST and CELL answer exactly as many, where there are as
    many; QUADTREE as many as its shares hold. orb: 500.
    """

    capacity: int | None = _option("select.capacity")
    """Most features an answer can hold, 1..100000; beyond it the answer says `truncated`. orb:
    100000.
    """

    border_px: int | None = _option("select.border_px")
    """Keypoints keep this distance to the border of their level, pixels of the level. Up to 255,
    and at least what the stages read: detector FAST 3, HARRIS and SHI_TOMASI 4, score HARRIS of
    FAST 5, INTENSITY_CENTROID 16 (with RBRIEF_32 5), RBRIEF_256 22, RBRIEF_32 10, BFROST_256 44.
    orb: 31.
    """

    orientation: Orientation | None = _option("describe.orientation")
    """orb: INTENSITY_CENTROID."""

    descriptor_type: DescriptorType | None = _option("describe.descriptor_type")
    """orb: RBRIEF_256."""

    match: MatchOptions | None = None
    """Matching of a stream's frames; default of the `options` of a Match."""

    track: TrackOptions | None = None
    """Tracks of a stream (`StreamOpen.track`)."""


@dataclass(frozen=True, kw_only=True)
class Orb(Pipeline):
    """The preset `orb`: cv::ORB of OpenCV 4.6.0, bit for bit."""

    preset: str = "orb"
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
    orientation: Orientation = _option("describe.orientation", Orientation.INTENSITY_CENTROID)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.RBRIEF_256)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class OrbSlam(Pipeline):
    """The preset `orb-slam`: corners spread by a quadtree, with a second threshold, as ORB-SLAM."""

    preset: str = "orb-slam"
    levels: int = _option("pyramid.levels", 8)
    scale_factor: float = _option("pyramid.scale_factor", 1.2)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.FAST)
    fast_threshold: int = _option("detect.fast_threshold", 20)
    fast_arc_length: int = _option("detect.fast_arc_length", 9)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.LARGEST_THRESHOLD)
    quality_level: float = _option("detect.quality_level", 0.01)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 7)
    suppression: Suppression = _option("suppress.suppression", Suppression.NEIGHBOURHOOD)
    window_px: int = _option("suppress.window_px", 3)
    cell_width_px: int = _option("suppress.cell_width_px", 32)
    cell_height_px: int = _option("suppress.cell_height_px", 32)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 8)
    compare: Compare = _option("suppress.compare", Compare.FAST)
    distance_shape: DistanceShape = _option("suppress.distance_shape", DistanceShape.SQUARE)
    cornerness_compression: bool = _option("suppress.cornerness_compression", False)
    max_passes: int = _option("suppress.max_passes", 0)
    selection: Selection = _option("select.selection", Selection.QUADTREE)
    max_features: int = _option("select.max_features", 1000)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 22)
    orientation: Orientation = _option("describe.orientation", Orientation.INTENSITY_CENTROID)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.RBRIEF_256)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class OrientedFast(Pipeline):
    """The preset `oriented-fast`: FAST corners chosen by their Harris responses, with angles, for
    embedded GPUs.
    """

    preset: str = "oriented-fast"
    levels: int = _option("pyramid.levels", 4)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
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
    compare: Compare = _option("suppress.compare", Compare.SCORE)
    distance_shape: DistanceShape = _option("suppress.distance_shape", DistanceShape.SQUARE)
    cornerness_compression: bool = _option("suppress.cornerness_compression", False)
    max_passes: int = _option("suppress.max_passes", 0)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 100000)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 16)
    orientation: Orientation = _option("describe.orientation", Orientation.INTENSITY_CENTROID)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class Vio(Pipeline):
    """The preset `vio`: one corner a cell for visual-inertial odometry (Nagy et al. 2020)."""

    preset: str = "vio"
    levels: int = _option("pyramid.levels", 2)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.FAST)
    fast_threshold: int = _option("detect.fast_threshold", 10)
    fast_arc_length: int = _option("detect.fast_arc_length", 10)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.SAD_ARC)
    quality_level: float = _option("detect.quality_level", 0.01)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 0)
    suppression: Suppression = _option("suppress.suppression", Suppression.CELL)
    window_px: int = _option("suppress.window_px", 3)
    cell_width_px: int = _option("suppress.cell_width_px", 32)
    cell_height_px: int = _option("suppress.cell_height_px", 32)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 8)
    compare: Compare = _option("suppress.compare", Compare.SCORE)
    distance_shape: DistanceShape = _option("suppress.distance_shape", DistanceShape.SQUARE)
    cornerness_compression: bool = _option("suppress.cornerness_compression", False)
    max_passes: int = _option("suppress.max_passes", 0)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 100)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 9)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class Bfrost(Pipeline):
    """The preset `bfrost`: FAST corners with 256 tests of square means, turned to the arc (Cronje
    2011).
    """

    preset: str = "bfrost"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.FAST)
    fast_threshold: int = _option("detect.fast_threshold", 20)
    fast_arc_length: int = _option("detect.fast_arc_length", 9)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.LARGEST_THRESHOLD)
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
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 500)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 44)
    orientation: Orientation = _option("describe.orientation", Orientation.ARC_MIDDLE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.BFROST_256)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=True,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class Orb32(Pipeline):
    """The preset `orb-32`: 128 keypoints with 32-bit descriptors against a reference (Chang et al.
    2019).
    """

    preset: str = "orb-32"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 1.2)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.FAST)
    fast_threshold: int = _option("detect.fast_threshold", 20)
    fast_arc_length: int = _option("detect.fast_arc_length", 9)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.LARGEST_THRESHOLD)
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
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 128)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 10)
    orientation: Orientation = _option("describe.orientation", Orientation.INTENSITY_CENTROID)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.RBRIEF_32)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=True,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class HarrisCorners(Pipeline):
    """The preset `harris-corners`: Harris corners with minimum distance (Teixeira et al. 2008)."""

    preset: str = "harris-corners"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.HARRIS)
    fast_threshold: int = _option("detect.fast_threshold", 20)
    fast_arc_length: int = _option("detect.fast_arc_length", 9)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.HARRIS)
    quality_level: float = _option("detect.quality_level", 0.01)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 0)
    suppression: Suppression = _option("suppress.suppression", Suppression.MINIMUM_DISTANCE)
    window_px: int = _option("suppress.window_px", 3)
    cell_width_px: int = _option("suppress.cell_width_px", 32)
    cell_height_px: int = _option("suppress.cell_height_px", 32)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 5)
    compare: Compare = _option("suppress.compare", Compare.FAST)
    distance_shape: DistanceShape = _option("suppress.distance_shape", DistanceShape.SQUARE)
    cornerness_compression: bool = _option("suppress.cornerness_compression", False)
    max_passes: int = _option("suppress.max_passes", 0)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 500)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 4)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class KltCorners(Pipeline):
    """The preset `klt-corners`: Shi-Tomasi corners with minimum distance (Teixeira et al. 2008)."""

    preset: str = "klt-corners"
    levels: int = _option("pyramid.levels", 1)
    scale_factor: float = _option("pyramid.scale_factor", 2.0)
    pyramid_source: PyramidSource = _option("pyramid.source", PyramidSource.PREVIOUS_LEVEL)
    detector: Detector = _option("detect.detector", Detector.SHI_TOMASI)
    fast_threshold: int = _option("detect.fast_threshold", 20)
    fast_arc_length: int = _option("detect.fast_arc_length", 9)
    candidate_test: CandidateTest | None = _option("detect.candidate_test", None)
    score: Score = _option("detect.score", Score.HARRIS)
    quality_level: float = _option("detect.quality_level", 0.01)
    fast_threshold_low: int = _option("detect.fast_threshold_low", 0)
    suppression: Suppression = _option("suppress.suppression", Suppression.MINIMUM_DISTANCE)
    window_px: int = _option("suppress.window_px", 3)
    cell_width_px: int = _option("suppress.cell_width_px", 32)
    cell_height_px: int = _option("suppress.cell_height_px", 32)
    minimum_distance_px: int = _option("suppress.minimum_distance_px", 5)
    compare: Compare = _option("suppress.compare", Compare.FAST)
    distance_shape: DistanceShape = _option("suppress.distance_shape", DistanceShape.SQUARE)
    cornerness_compression: bool = _option("suppress.cornerness_compression", False)
    max_passes: int = _option("suppress.max_passes", 0)
    selection: Selection = _option("select.selection", Selection.BEST)
    max_features: int = _option("select.max_features", 500)
    capacity: int = _option("select.capacity", 100000)
    border_px: int = _option("select.border_px", 4)
    orientation: Orientation = _option("describe.orientation", Orientation.NONE)
    descriptor_type: DescriptorType = _option("describe.descriptor_type", DescriptorType.NONE)
    match: MatchOptions = MatchOptions(
        selection=MatchSelection.BEST,
        k=1,
        ratio=0.0,
        cross_check=False,
        max_distance=256,
        window_px=0.0,
        offset_x=0.0,
        offset_y=0.0,
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
class StageTime(Record):
    """Time of one step of the pipeline. A step carries out one stage, or several at once."""

    _message = "StageTime"

    stage: str
    """Names of its stages in the order in which a frame passes them: pyramid, detect, suppress,
    select, orient, describe, match, track. Joined by '+' where there are several:
    "detect+suppress". Later versions add names.
    """

    duration_ns: int
    """Nanoseconds. On a CPU the processor time of this frame's tasks, summed over threads. On CUDA
    the elapsed time of the whole batch. "match" is the frame's `match_ns` and "track" its
    `track_ns`, on both.
    """

    sampled: bool
    """True where the server times one batch in N only (a CUDA device). Most frames then have no
    such entry.
    """


@dataclass(frozen=True, kw_only=True)
class Timings(Record):
    """Times of a frame in nanoseconds of the server's steady clock; 0 = did not happen. Waits for a
    thread, for a plan or for earlier frames have no field of their own, and so the fields need
    not add up to `total_ns`.
    """

    _message = "FrameTimings"

    queue_ns: int
    """Waiting for a batch, from its pixels being ready to the batch's launch."""

    decode_ns: int
    """JPEG or raw bytes to grey."""

    upload_ns: int
    """Host to device, the whole batch; 0 on a CPU."""

    compute_ns: int
    """Computing on the backend, the whole batch. On CUDA it includes the results' way to the host,
    and is measured by the host for frames with very many features.
    """

    download_ns: int
    """Device to host, the whole batch; so far always 0, as it is a part of compute_ns."""

    match_ns: int
    """From features to the matches with all targets, with the wait for a place; else 0."""

    total_ns: int
    """From the arrival of the whole request (stream: message) to the answer, ready to be sent."""

    stages: tuple[StageTime, ...]
    """Parts of compute_ns, in the order of the steps, then "match" and "track" where match_ns and
    track_ns are set. A step that was not timed has no entry; all are missing for a frame of a
    batch that was not sampled.
    """

    track_ns: int
    """From features to the tracks, with the wait for a place; else 0."""


@dataclass(frozen=True, kw_only=True)
class Execution(Record):
    """Batch, backend and device that computed a frame. Empty for a frame that failed before its
    batch ran.
    """

    _message = "Execution"

    batch_size: int
    """Frames in the batch that this frame was part of, 1..256; 0 = no frame was computed."""

    backend: str
    """"cpu", "cpu-reference", "cuda"."""

    device: str
    """"cpu", "cuda:0"."""

    lane: int
    """Number of the device's pair of streams that computed the batch, 0..15; 0 on a CPU."""

    energy_joules: float | None
    """Energy of this answer in joules, from 0: an estimate made when its batch ended. It is the
    mean power of the device over the last second, times the batch's time on it, shared among the
    batches at the same time and the frames of the batch. Matches and tracks are included. Absent
    where the power of the device cannot be read. The server's metrics have the measured energy.
    """

    hardware_decoded: bool
    """True for a JPEG from a hardware decoder, whose bits may differ; so far always false."""


@dataclass(frozen=True, kw_only=True)
class ReferenceInfo(Record):
    """`ReferenceInfo` of the wire contract."""

    _message = "ReferenceInfo"

    name: str
    """1..128 bytes of printable ASCII."""

    version: int
    """From 1; grows with every reference that any client puts."""

    feature_count: int
    """0..100000."""

    descriptor_bytes: int
    """Bytes per descriptor: 32 or 4."""

    size_bytes: int
    """Share of the store's capacity: columns, name and 512 bytes; once it was matched, the copies
    on all devices, too.
    """

    descriptor_type: DescriptorType | None
    """Kind of its descriptors, with which alone it can be matched."""


@dataclass(frozen=True, kw_only=True)
class DeviceClock(Record):
    """`DeviceClock` of the wire contract."""

    _message = "DeviceClock"

    clock: str
    """"gpu", "memory", "cpu"."""

    hertz: float

    limit_hertz: float | None
    """Highest clock that is allowed now."""


@dataclass(frozen=True, kw_only=True)
class DeviceTemperature(Record):
    """`DeviceTemperature` of the wire contract."""

    _message = "DeviceTemperature"

    sensor: str
    """"gpu", "cpu", "tj"."""

    celsius: float


@dataclass(frozen=True, kw_only=True)
class DeviceInfo(Record):
    """`DeviceInfo` of the wire contract."""

    _message = "DeviceInfo"

    device: str
    """"cpu", "cuda:0"; as in `Execution`."""

    name: str
    """Of the hardware."""

    details: str
    """CPU: the SIMD target in use and the threads; CUDA: compute capability, multiprocessors,
    memory.
    """

    board: str
    """Condition of the device now. Fields 4 to 9 are empty where the machine does not tell. that it
    is on: "NVIDIA Jetson AGX Orin Developer Kit".
    """

    power_mode: str
    """Of nvpmodel: "MAXN"."""

    clock_mode: str
    """"fixed", "dynamic"."""

    clocks: tuple[DeviceClock, ...]

    temperatures: tuple[DeviceTemperature, ...]

    throttled: tuple[str, ...]
    """Reasons for which its clocks are held down: "power_cap", "gpu-throttle-alert"."""


@dataclass(frozen=True, kw_only=True)
class PresetInfo(Record):
    """`PresetInfo` of the wire contract."""

    _message = "PresetInfo"

    name: str
    """As in `Pipeline.preset`."""

    available: bool
    """False: known, and answered with UNIMPLEMENTED by this version."""

    description: str
    """One line."""

    pipeline: Pipeline | None
    """Every option resolved; not set unless available."""


@dataclass(frozen=True, kw_only=True)
class ServerLimits(Record):
    """Limits of this server by its configuration (docs/configuration.md). A request beyond a limit
    fails with the reason named.
    """

    _message = "ServerLimits"

    max_side_px: int
    """Width and height of an image, pixels, 1..32768; default 8192; TOO_LARGE."""

    max_pixels: int
    """Width times height, 1..2^30; default 67,108,864; TOO_LARGE."""

    max_message_bytes: int
    """Of a message to the server, 64 KiB..1 GiB; default 96 MiB; gRPC's RESOURCE_EXHAUSTED."""

    max_keypoints: int
    """Features of an answer (BAD_OPTIONS), rows of a set that is sent (TOO_LARGE): 100,000."""

    max_levels: int
    """Of a pyramid: 16; BAD_OPTIONS."""

    max_batch: int
    """Frames of a batch, 1..256; default 16."""

    max_delay_us: int
    """Longest wait for a fuller batch, microseconds, 0..1000000; default 0."""

    max_queue_frames: int
    """Admitted and not begun, of all clients, 1..100000; default 1024; QUEUE_FULL."""

    max_queue_frames_per_client: int
    """As max_queue_frames, of one client, 1..100000; default 256; QUOTA_EXCEEDED."""

    max_streams: int
    """Open at a time, of all clients, 1..100000; default 256; QUOTA_EXCEEDED."""

    max_reference_bytes: int
    """Of all references, 1 KiB..1 TiB; default 1 GiB; a larger one: TOO_LARGE."""

    max_references: int
    """Of all clients, 1..10000000; default 100,000; beyond it references are evicted."""

    max_reference_bytes_per_client: int
    """Of one owner of clients (docs/configuration.md); default: as much as of all. A larger
    reference: TOO_LARGE; beyond it references of this owner are evicted.
    """

    max_references_per_client: int


@dataclass(frozen=True, kw_only=True)
class PowerRail(Record):
    """Power and energy of one rail, that is, of one thing that is measured (docs/metrics.md)."""

    _message = "PowerRail"

    rail: str
    """"cuda:0", "VDD_IN", "package-0"."""

    source: str
    """"nvml", "ina", "rapl"."""

    scope: str
    """"total" = everything that is known of `device`; rails of other scopes are parts of a total or
    lie beside it.
    """

    device: str
    """As in `Execution`; set for totals."""

    watts: float | None
    """Now; absent while the rail cannot be read."""

    joules: float | None
    """Since the server started; absent while the rail cannot be read."""


@dataclass(frozen=True, kw_only=True)
class FrameEnergy(Record):
    """Measured energy of the frames that a device has computed, a second or so late."""

    _message = "FrameEnergy"

    device: str

    frames: int
    """Since the server started."""

    joules: float
    """Of these frames."""


@dataclass(frozen=True, kw_only=True)
class ServerInfo(Record):
    """`GetServerInfoResponse` of the wire contract."""

    _message = "GetServerInfoResponse"

    version: str
    """Of the server, MAJOR.MINOR.PATCH."""

    backends: tuple[str, ...]
    """Built into this server: "cpu", "cpu-reference", "cuda"."""

    active_backend: str
    """The one in use, of `backends`."""

    devices: tuple[DeviceInfo, ...]
    """In use, 1 or more."""

    presets: tuple[PresetInfo, ...]
    """Every one of `Pipeline.preset`, available or not."""

    limits: ServerLimits
    """In force."""

    power_source: str
    """Source of power figures: "nvml"; "none" when no rail can be read."""

    power_rails: tuple[PowerRail, ...]
    """As last read."""

    frame_energy: tuple[FrameEnergy, ...]
    """Of each device with a total."""


@dataclass(frozen=True, kw_only=True)
class StreamOpened(Record):
    """`StreamOpened` of the wire contract."""

    _message = "StreamOpened"

    stream_id: int
    """Number of the stream on this server, for its logs, from 1."""

    max_in_flight: int
    """Frames that are computed at a time, 1..256; with BLOCK the server then stops reading."""

    pipeline: Pipeline
    """The pipeline in force, every option resolved."""

    drop_policy: DropPolicy | None
    """The policy in force."""

    max_waiting: int
    """NEWEST and OLDEST: frames that wait behind those in flight before one is dropped, 1..256;
    else 0.
    """

    deadline_ms: int
    """The deadline in force, milliseconds; 0 = none."""

    limits: ServerLimits
    """In force on this server."""


PRESETS: dict[str, type[Pipeline]] = {
    "orb": Orb,
    "orb-slam": OrbSlam,
    "oriented-fast": OrientedFast,
    "vio": Vio,
    "bfrost": Bfrost,
    "orb-32": Orb32,
    "harris-corners": HarrisCorners,
    "klt-corners": KltCorners,
}
"""Classes of the presets by the names of the presets."""

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
    "KltCorners",
    "MatchOptions",
    "MatchSelection",
    "MatchTarget",
    "Orb",
    "Orb32",
    "OrbSlam",
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
    "StageTime",
    "StreamOpened",
    "Suppression",
    "Timings",
    "TrackEnd",
    "TrackOptions",
    "TrackTemplate",
    "Vio",
]
