# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""Enums of the wire contract."""

from __future__ import annotations

from .._options import WireEnum


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
    """2 bytes a pixel, little-endian; `Frame.window` says which values become black and white."""

    RGBA8 = 10
    """4 bytes a pixel; alpha is ignored."""

    UYVY = 11
    """2 bytes a pixel, Y second; only Y is used."""

    BAYER_RGGB8 = 12
    """1 byte a pixel behind a mosaic of colour filters. The names give the first two pixels of the
    first and second row.
    """

    BAYER_BGGR8 = 13

    BAYER_GBRG8 = 14

    BAYER_GRBG8 = 15


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

    SIFT = 4
    """The whole cv::SIFT of OpenCV 4.6.0, bit for bit as it computes with AVX2 and FMA:
    `SiftOptions`, max_features (100000 = all), capacity and the descriptor type, a kind of SIFT
    or NONE, are its only options. Rows are in its order. Masks, given keypoints and tracks are
    refused. The CPU backend alone has it.
    """


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

    FAST = 1
    """The greatest threshold at which the pixel is still a corner, as cv::FAST has it."""

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

    ORB_SLAM3 = 5
    """The extractor of ORB-SLAM3 v1.0 as a whole, bit for bit: its pyramid, its zones of corners
    with both thresholds, its tree and smoothing. Rows are in its order: by level, inside a level
    by its tree. A level gives up to two features above its share. Masks, given keypoints and
    tracks are refused, as are sizes at which it fails. All other options are those of the preset
    "orb-slam3", but levels, scale_factor, max_features, capacity and the thresholds.
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

    TEBLID_256 = 5
    """As cv::xfeatures2d::TEBLID and BEBLID, of the image at full size. The scale factor is 1 with
    INTENSITY_CENTROID and 5 otherwise; given keypoints for which it is another are sent with
    sizes multiplied by it. 32 bytes.
    """

    TEBLID_512 = 6
    """64 bytes."""

    BEBLID_256 = 7
    """32 bytes."""

    BEBLID_512 = 8
    """64 bytes."""

    SIFT = 9
    """128 bytes: numbers 0..255, as cv::SIFT has them; needs the detector SIFT."""

    ROOT_SIFT = 10
    """128 bytes: RootSIFT of these numbers, the root of each one's share of their sum, times 512,
    rounded, at most 255.
    """

    L1_ROOT_SIFT = 11
    """128 bytes: likewise of the numbers before they are rounded, as COLMAP's normalization
    L1_ROOT.
    """


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

    RECONNECTED = 8
    """Its connection has ended; client libraries say so, never a server."""


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

__all__ = [
    "CandidateTest",
    "Compare",
    "DescriptorType",
    "Detector",
    "DistanceShape",
    "DropPolicy",
    "Illumination",
    "MatchSelection",
    "MatchTarget",
    "Orientation",
    "PixelFormat",
    "PyramidSource",
    "Score",
    "Selection",
    "Suppression",
    "TrackEnd",
    "TrackTemplate",
]
