// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Which stages run and with which parameters. `PipelineOptions` shapes a plan; `FrameParameters`
// may differ between the frames of one batch.

#ifndef ORBSERVE_FEATURES_OPTIONS_H_
#define ORBSERVE_FEATURES_OPTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/errors.h"

namespace orbserve {

inline constexpr int kMaxLevels = 16;
inline constexpr int kMaxFeatures = 100'000;
inline constexpr float kMinScaleFactor = 1.01f;
inline constexpr float kMaxScaleFactor = 4.0f;

// Allowed values of an option, both ends included.
struct IntRange {
  int low;
  int high;
};

inline constexpr IntRange kLevelRange{1, kMaxLevels};
inline constexpr IntRange kFeatureRange{1, kMaxFeatures};
inline constexpr IntRange kFastThresholdRange{1, 254};
inline constexpr IntRange kFastThresholdLowRange{0, 254};  // and up to the first threshold
inline constexpr IntRange kFastArcLengthRange{9, 12};
inline constexpr IntRange kWindowRange{3, 9};
inline constexpr int kOrbSlam3BorderPx = 19;  // of the selection ORB_SLAM3, which has no other
inline constexpr IntRange kCellWidthRange{32, 512};
inline constexpr IntRange kCellHeightRange{8, 512};
inline constexpr IntRange kMinimumDistanceRange{1, 64};
inline constexpr IntRange kPassRange{0, 10'000};
inline constexpr IntRange kNeighbourRange{1, 16};
inline constexpr IntRange kLappingRange{0, 1'000'000};
inline constexpr IntRange kSiftLayerRange{1, 8};
inline constexpr IntRange kSiftFirstOctaveRange{-1, 0};
inline constexpr IntRange kMatchDistanceRange{0, 8'323'200};  // the largest of SIFT
inline constexpr float kMaxBandPx = 1e6f;  // of a limit of a band: the limit is off
inline constexpr IntRange kTrackLevelRange{1, 11};
inline constexpr IntRange kTrackIterationRange{1, 100};
inline constexpr IntRange kRedetectRange{0, 100};
inline constexpr float kMaxTrackResidual = 128.0f;  // no residual is larger: the limit is off

// BAD_OPTIONS with name, range and value where `value` is outside.
absl::Status CheckRange(absl::string_view name, int64_t value, const IntRange& range);

enum class PyramidSource { kPreviousLevel, kLevelZero };
// SIFT is cv::SIFT as a whole: its scale space, orientation, cut and order. The options of the
// pyramid, `score`, `suppress`, `selection`, `border_px` and `orientation` have no effect with it.
enum class Detector { kFast, kHarris, kShiTomasi, kSift };
enum class CandidateTest { kAutomatic, kBinaryEncoding, kBitTable };
enum class Score { kFast, kHarris, kSadCircle, kSadArc };
enum class Suppression { kNeighbourhood, kCell, kMinimumDistance };
// Neighbouring FAST corners are compared by their largest threshold or by the chosen score.
enum class Compare { kFast, kScore };
// Corners in conflict: dx and dy both below the distance, or dx^2 + dy^2 below its square.
enum class DistanceShape { kSquare, kDisc };
// ORB_SLAM3 is the extractor of ORB-SLAM3 as a whole: its pyramid, zones of corners, tree,
// smoothing and order. PipelineOptions::Validate() names the options that it needs.
enum class Selection { kLevelQuota, kBest, kCell, kQuadtree, kOrbSlam3 };
enum class Orientation { kNone, kIntensityCentroid, kArcMiddle };
enum class Descriptor {
  kNone,
  kRBrief256,
  kRBrief32,
  kBFrost256,
  kTeblid256,
  kTeblid512,
  kBeblid256,
  kBeblid512,
  kSift,  // this and the next two need the detector SIFT
  kRootSift,
  kL1RootSift
};
// Change of light that a track follows beside its motion (paper 2, section II-E).
enum class Illumination { kNone, kOffset, kGain, kBoth };
// Frame that the patch of a track is taken from: the one before, or the one it began in.
enum class TrackTemplate { kPrevious, kFirst };

// The values of an enum in their order, by the names that the wire contract has for them, without
// its prefix. The contract begins with UNSPECIFIED, ours with its next one.
template <typename E>
inline constexpr auto kEnumNames = nullptr;
template <size_t kCount>
constexpr std::array<absl::string_view, kCount> EnumNames(
    const absl::string_view (&names)[kCount]) {
  return std::to_array(names);
}
template <>
inline constexpr auto kEnumNames<PyramidSource> = EnumNames({"PREVIOUS_LEVEL", "LEVEL_ZERO"});
template <>
inline constexpr auto kEnumNames<Detector> = EnumNames({"FAST", "HARRIS", "SHI_TOMASI", "SIFT"});
template <>
inline constexpr auto kEnumNames<Score> = EnumNames({"FAST", "HARRIS", "SAD_CIRCLE", "SAD_ARC"});
template <>
inline constexpr auto kEnumNames<Suppression> = EnumNames({"NEIGHBOURHOOD", "CELL",
                                                           "MINIMUM_DISTANCE"});
template <>
inline constexpr auto kEnumNames<Compare> = EnumNames({"FAST", "SCORE"});
template <>
inline constexpr auto kEnumNames<DistanceShape> = EnumNames({"SQUARE", "DISC"});
template <>
inline constexpr auto kEnumNames<Selection> = EnumNames({"LEVEL_QUOTA", "BEST", "CELL", "QUADTREE",
                                                         "ORB_SLAM3"});
template <>
inline constexpr auto kEnumNames<Orientation> = EnumNames({"NONE", "INTENSITY_CENTROID",
                                                           "ARC_MIDDLE"});
template <>
inline constexpr auto kEnumNames<Descriptor> = EnumNames({"NONE", "RBRIEF_256", "RBRIEF_32",
                                                          "BFROST_256", "TEBLID_256", "TEBLID_512",
                                                          "BEBLID_256", "BEBLID_512", "SIFT",
                                                          "ROOT_SIFT", "L1_ROOT_SIFT"});
template <>
inline constexpr auto kEnumNames<Illumination> = EnumNames({"NONE", "OFFSET", "GAIN", "BOTH"});
template <>
inline constexpr auto kEnumNames<TrackTemplate> = EnumNames({"PREVIOUS", "FIRST"});

// Returns all values of an enum in their order.
template <typename E>
constexpr std::array<E, kEnumNames<E>.size()> AllOf() {
  std::array<E, kEnumNames<E>.size()> values = {};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<E>(i);
  return values;
}
// Returns the name of a value.
template <typename E>
constexpr absl::string_view EnumName(E value) {
  return kEnumNames<E>[static_cast<size_t>(value)];
}

// True for the descriptors of the detector SIFT, which are vectors of numbers.
constexpr bool IsSift(Descriptor descriptor) {
  return descriptor == Descriptor::kSift || descriptor == Descriptor::kRootSift ||
         descriptor == Descriptor::kL1RootSift;
}

// True if neighbours must be compared by this score, with suppress.compare SCORE.
bool NeedsCompareScore(Score score);

struct PyramidOptions {
  int levels = 8;             // 1..kMaxLevels
  float scale_factor = 1.2f;  // kMinScaleFactor..kMaxScaleFactor
  PyramidSource source = PyramidSource::kPreviousLevel;

  bool operator==(const PyramidOptions&) const = default;
};

struct DetectOptions {
  Detector detector = Detector::kFast;
  int fast_arc_length = 9;  // contiguous ring pixels, 9..12
  // How corners are tested, never the answer: a hint that does not part plans (PlanSpec).
  CandidateTest candidate_test = CandidateTest::kAutomatic;
  Score score = Score::kHarris;

  bool operator==(const DetectOptions&) const = default;
};

struct SuppressOptions {
  Suppression suppression = Suppression::kNeighbourhood;
  Compare compare = Compare::kFast;  // NEIGHBOURHOOD and CELL of the detector FAST
  int window_px = 3;                 // odd, 3..9; NEIGHBOURHOOD and CELL
  int cell_width_px = 32;            // multiple of 32, 32..512; also of the selection CELL
  int cell_height_px = 32;           // multiple of 8, 8..512; also of the selection CELL
  // MINIMUM_DISTANCE: the distance, its shape, the lossy compression of the map to blocks of 2x2
  // pixels (SQUARE only), and the passes after which undecided corners are dropped (0 = to the
  // end).
  int minimum_distance_px = 8;  // 1..64; 1 suppresses nothing
  DistanceShape distance_shape = DistanceShape::kSquare;
  bool cornerness_compression = false;
  int max_passes = 0;  // 0..10,000

  bool operator==(const SuppressOptions&) const = default;
};

struct SelectOptions {
  Selection selection = Selection::kLevelQuota;
  int capacity = kMaxFeatures;  // most features an answer can hold, 1..kMaxFeatures
  // Distance that keypoints keep to the border of their level: x in [border, width - border). At
  // least what the stages read: FAST 3, corner maps 4, the score HARRIS 5, intensity centroid 16,
  // rBRIEF-256 22, rBRIEF-32 10 with the centroid of its own, BFROST 44; at most 255.
  // ORB_SLAM3: 19.
  int border_px = 31;

  bool operator==(const SelectOptions&) const = default;
};

struct DescribeOptions {
  Orientation orientation = Orientation::kIntensityCentroid;
  Descriptor descriptor = Descriptor::kRBrief256;

  bool operator==(const DescribeOptions&) const = default;
};

// Parameters of cv::SIFT, and the first octave. They belong to the detector SIFT.
struct SiftOptions {
  int octave_layers = 3;             // 1..8
  double contrast_threshold = 0.04;  // 0..1
  double edge_threshold = 10.0;      // 0..1000
  double sigma = 1.6;                // of the first image of an octave, pixels, 0.1..4
  int first_octave = -1;             // -1 = the doubled image, 0 = the image itself

  absl::Status Validate() const;

  bool operator==(const SiftOptions&) const = default;
};

// The defaults are the preset `orb`: cv::ORB of OpenCV 4.6.0 with its own defaults.
struct PipelineOptions {
  PyramidOptions pyramid;
  DetectOptions detect;
  SuppressOptions suppress;
  SelectOptions select;
  DescribeOptions describe;
  SiftOptions sift;

  bool operator==(const PipelineOptions&) const = default;

  // INVALID_ARGUMENT (BAD_OPTIONS) when an option is out of range or two contradict each other;
  // UNIMPLEMENTED (UNSUPPORTED) when a valid option is not available in this build.
  absl::Status Validate() const;
};

// The border's range, which depends on what the other stages read.
IntRange BorderRange(const PipelineOptions& options);

// May differ between the frames of one batch.
struct FrameParameters {
  // Wanted number, 1..kMaxFeatures. LEVEL_QUOTA and the detector SIFT keep all equal responses at
  // their cuts, ORB_SLAM3 up to two more of each level; every other selection keeps exactly as many
  // as are wanted, where there are as many.
  int max_features = 500;
  int fast_threshold_grey = 20;  // 1..254, strict
  // Second threshold for parts of a level without a corner at the first one: 1..fast_threshold_grey
  // by the largest threshold at which a pixel is a corner; 0 = off. Needs the detector FAST.
  int fast_threshold_low_grey = 0;
  float quality_level = 0.01f;  // HARRIS, SHI_TOMASI: share of the best response, in (0, 1)
  // ORB_SLAM3: columns of the frame, both included, that the other camera of a stereo rig sees,
  // too. Features in them end the answer, in reverse order. In kLappingRange; 0, 0 = none.
  int lapping_begin_px = 0;
  int lapping_end_px = 0;

  bool operator==(const FrameParameters&) const = default;
  absl::Status Validate() const;
  // No keypoint lies left of kOrbSlam3BorderPx.
  bool has_lapping_area() const {
    return lapping_begin_px <= lapping_end_px && lapping_end_px >= kOrbSlam3BorderPx;
  }
  // True for a keypoint at `x`, level-0 pixels.
  bool Laps(float x) const {
    return x >= static_cast<float>(lapping_begin_px) && x <= static_cast<float>(lapping_end_px);
  }
  // Threshold at which corners are found.
  int detection_threshold_grey() const {
    return fast_threshold_low_grey > 0 ? fast_threshold_low_grey : fast_threshold_grey;
  }
};

// Brute-force matching by the metric of the descriptors (features/algo/metric.h). Equal distances:
// the lowest train index wins.
struct MatchOptions {
  int k = 1;  // neighbours per query, 1..16
  float ratio =
      0.0f;  // keep where best < ratio * second best, strict in f32; (0, 1]; 0 = off; needs k = 1
  bool cross_check = false;                     // keep mutual nearest neighbours only; needs k = 1
  int max_distance = kMatchDistanceRange.high;  // in the unit of a match; the largest: no limit
  // Search window: train keypoints within `window_px` of the query's place plus the offset, in x
  // and in y, both ends included; level-0 pixels, finite. 0 = everywhere. Offsets need a window.
  float window_px = 0.0f;
  float offset_x_px = 0.0f;
  float offset_y_px = 0.0f;
  // Band of two cameras, level-0 pixels: min_dx <= x of the query - x of the train <= max_dx, and
  // |y of the query - y of the train| <= max_dy. +-kMaxBandPx: no limit.
  float min_dx_px = -kMaxBandPx;
  float max_dx_px = kMaxBandPx;
  float max_dy_px = kMaxBandPx;
  // Fundamental matrix, row by row, in any scale: a train keypoint is at most `max_epipolar_px`
  // from the line of the query. Zeros and 0 = off.
  std::array<double, 9> fundamental = {};
  float max_epipolar_px = 0.0f;

  bool operator==(const MatchOptions&) const = default;
  absl::Status Validate() const;

  bool has_window() const { return window_px > 0.0f; }
  bool has_limits() const {
    return min_dx_px > -kMaxBandPx || max_dx_px < kMaxBandPx || max_dy_px < kMaxBandPx;
  }
  bool has_epipolar() const { return max_epipolar_px > 0.0f; }
  // True if places decide which pairs are compared.
  bool needs_places() const { return has_window() || has_limits() || has_epipolar(); }
};

// Pyramidal inverse-compositional Lucas-Kanade of a stream (paper 2, section II-E).
struct TrackOptions {
  int levels = 5;             // of the pyramid, as many as exist, 1..11
  int coarse_patch_px = 16;   // side of the patch above level 2: 8 or 16; below it is 16
  int iterations = 30;        // most of a level, 1..100
  float epsilon_px = 0.005f;  // a shorter step ends level 0, 0.001..1; above level 0 ten times it
  float min_eigen = 0.1f;     // least eigenvalue, (grey level / pixel)^2 a pixel, 0.001..1000
  float max_residual = kMaxTrackResidual;  // grey levels, (0, 128]; 128 = off
  Illumination illumination = Illumination::kNone;
  TrackTemplate track_template = TrackTemplate::kPrevious;
  int redetect_percent = 30;  // of max_features: with fewer tracks new ones begin, 0..100

  bool operator==(const TrackOptions&) const = default;
  // BAD_OPTIONS when an option is out of range.
  absl::Status Validate() const;
};

// BAD_OPTIONS for a side of the coarse patch that is neither 8 nor 16.
absl::Status CheckCoarsePatch(int64_t side_px);

// Tracks need a pyramid of factor 2 in which each level is made from the one before, another
// resampling than that of ORB_SLAM3, and another detector than SIFT. BAD_OPTIONS, naming both, for
// a pipeline with another.
absl::Status CheckTrackPyramid(const PipelineOptions& pipeline);

// A named set of options with its default frame parameters, matching and tracking.
struct Preset {
  absl::string_view name;
  absl::string_view description;
  PipelineOptions pipeline;
  FrameParameters frame;
  MatchOptions match;
  bool available;  // false: known by name, answered UNIMPLEMENTED
  TrackOptions track = {};
};

// Every preset, available or not. Lives for ever.
absl::Span<const Preset> Presets();

// The preset called `name`. INVALID_ARGUMENT (BAD_OPTIONS) when there is none; UNIMPLEMENTED when
// it is not available. Both messages name the available presets first.
absl::StatusOr<const Preset*> FindPreset(absl::string_view name);

// Bytes per descriptor: 128, 64, 32, 4 or 0.
int DescriptorBytes(Descriptor descriptor);

// Kind of the descriptors of a set that does not name it: RBRIEF_256 for 32 bytes, RBRIEF_32 for 4,
// NONE for any other number.
Descriptor DescriptorOfBytes(int bytes);

// "RBRIEF_256", ...: name of the wire's enumerator without its prefix.
absl::string_view DescriptorName(Descriptor descriptor);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_OPTIONS_H_
