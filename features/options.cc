// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/algo/corner_score.h"
#include "features/pipeline/reach.h"

namespace orbserve {
namespace {

template <typename T>
absl::Status CheckReal(absl::string_view name, T value, T low, T high) {
  // Written so that NaN fails.
  if (value >= low && value <= high) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be in [", low, ", ", high, "]; got ", value));
}

absl::Status CheckMultiple(absl::string_view name, int value, int unit, const IntRange& range) {
  ORBSERVE_RETURN_IF_ERROR(CheckRange(name, value, range));
  if (value % unit == 0) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be a multiple of ", unit, ", in [", range.low, ", ",
                                range.high, "]; got ", value));
}

absl::Status Contradiction(absl::string_view one, absl::string_view other,
                           absl::string_view allowed) {
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(one, " and ", other, "; allowed: ", allowed));
}

// Checks as CheckReal() does, and shows the range without an exponent.
absl::Status CheckBandLimit(absl::string_view name, float value, float low) {
  if (value >= low && value <= kMaxBandPx) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be in [", static_cast<int>(low), ", ",
                                static_cast<int>(kMaxBandPx), "]; got ", value));
}

constexpr PipelineOptions OrbPipeline() { return {}; }

PipelineOptions BFrostPipeline() {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = 1;
  pipeline.pyramid.scale_factor = 2.0f;
  pipeline.detect.score = Score::kFast;
  pipeline.select.selection = Selection::kBest;
  pipeline.select.border_px = 44;
  pipeline.describe.orientation = Orientation::kArcMiddle;
  pipeline.describe.descriptor = Descriptor::kBFrost256;
  return pipeline;
}

PipelineOptions Orb32Pipeline() {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = 1;
  pipeline.detect.score = Score::kFast;
  pipeline.select.selection = Selection::kBest;
  pipeline.select.border_px = 10;
  pipeline.describe.descriptor = Descriptor::kRBrief32;
  return pipeline;
}

PipelineOptions OrbSlamPipeline() {
  PipelineOptions pipeline;
  pipeline.detect.score = Score::kFast;
  pipeline.select.selection = Selection::kQuadtree;
  pipeline.select.border_px = 22;
  return pipeline;
}

PipelineOptions OrbSlam3Pipeline() {
  PipelineOptions pipeline;
  pipeline.detect.score = Score::kFast;
  pipeline.select.selection = Selection::kOrbSlam3;
  pipeline.select.border_px = kOrbSlam3BorderPx;
  return pipeline;
}

// ORB_SLAM3 is one method: every option but the number of levels, their factor and the thresholds
// has one value.
absl::Status CheckOrbSlam3(const PipelineOptions& options) {
  if (options.select.selection != Selection::kOrbSlam3) return absl::OkStatus();
  const auto refusal = [](absl::string_view option, absl::string_view given,
                          absl::string_view needed) {
    return Contradiction("select.selection is ORB_SLAM3", absl::StrCat(option, " is ", given),
                         absl::StrCat(option, " ", needed, ", or another selection"));
  };
  const auto check = [&refusal](absl::string_view option, auto given, auto needed) {
    return given == needed ? absl::OkStatus() : refusal(option, EnumName(given), EnumName(needed));
  };
  const PipelineOptions needed = OrbSlam3Pipeline();
  ORBSERVE_RETURN_IF_ERROR(check("pyramid.source", options.pyramid.source, needed.pyramid.source));
  ORBSERVE_RETURN_IF_ERROR(
      check("detect.detector", options.detect.detector, needed.detect.detector));
  ORBSERVE_RETURN_IF_ERROR(check("detect.score", options.detect.score, needed.detect.score));
  ORBSERVE_RETURN_IF_ERROR(
      check("suppress.suppression", options.suppress.suppression, needed.suppress.suppression));
  ORBSERVE_RETURN_IF_ERROR(
      check("suppress.compare", options.suppress.compare, needed.suppress.compare));
  ORBSERVE_RETURN_IF_ERROR(
      check("describe.orientation", options.describe.orientation, needed.describe.orientation));
  ORBSERVE_RETURN_IF_ERROR(
      check("describe.descriptor_type", options.describe.descriptor, needed.describe.descriptor));
  if (options.detect.fast_arc_length != needed.detect.fast_arc_length) {
    return refusal("detect.fast_arc_length", absl::StrCat(options.detect.fast_arc_length), "9");
  }
  if (options.suppress.window_px != needed.suppress.window_px) {
    return refusal("suppress.window_px", absl::StrCat(options.suppress.window_px), "3");
  }
  return absl::OkStatus();
}

PipelineOptions OrientedFastPipeline() {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = 4;
  pipeline.pyramid.scale_factor = 2.0f;
  pipeline.suppress.compare = Compare::kScore;
  pipeline.select.selection = Selection::kBest;
  pipeline.select.border_px = 16;
  pipeline.describe.descriptor = Descriptor::kNone;
  return pipeline;
}

PipelineOptions VioPipeline() {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = 2;
  pipeline.pyramid.scale_factor = 2.0f;
  pipeline.detect.fast_arc_length = 10;
  pipeline.detect.score = Score::kSadArc;
  pipeline.suppress.suppression = Suppression::kCell;
  pipeline.suppress.compare = Compare::kScore;
  pipeline.select.selection = Selection::kBest;
  pipeline.select.border_px = 9;
  pipeline.describe.orientation = Orientation::kNone;
  pipeline.describe.descriptor = Descriptor::kNone;
  return pipeline;
}

PipelineOptions SiftPipeline() {
  PipelineOptions pipeline;
  pipeline.detect.detector = Detector::kSift;
  pipeline.describe.descriptor = Descriptor::kSift;
  return pipeline;
}

// The detector SIFT describes with SIFT or not at all, and no other keypoints are described so.
absl::Status CheckSift(const PipelineOptions& options) {
  const bool is_sift = options.detect.detector == Detector::kSift;
  const Descriptor descriptor = options.describe.descriptor;
  if (is_sift && !IsSift(descriptor) && descriptor != Descriptor::kNone) {
    return Contradiction("detect.detector is SIFT",
                         absl::StrCat("describe.descriptor_type is ", EnumName(descriptor)),
                         "describe.descriptor_type SIFT, ROOT_SIFT, L1_ROOT_SIFT or NONE, or "
                         "another detector");
  }
  if (!is_sift && IsSift(descriptor)) {
    return Contradiction(absl::StrCat("describe.descriptor_type is ", EnumName(descriptor)),
                         absl::StrCat("detect.detector is ", EnumName(options.detect.detector)),
                         "detect.detector SIFT, or another descriptor_type");
  }
  return options.sift.Validate();
}

PipelineOptions CornerMapPipeline(Detector detector) {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = 1;
  pipeline.pyramid.scale_factor = 2.0f;
  pipeline.detect.detector = detector;
  pipeline.suppress.suppression = Suppression::kMinimumDistance;
  pipeline.suppress.minimum_distance_px = 5;
  pipeline.select.selection = Selection::kBest;
  pipeline.select.border_px = 4;
  pipeline.describe.orientation = Orientation::kNone;
  pipeline.describe.descriptor = Descriptor::kNone;
  return pipeline;
}

constexpr FrameParameters Best(int max_features) {
  FrameParameters parameters;
  parameters.max_features = max_features;
  return parameters;
}

constexpr FrameParameters Fast(int max_features, int threshold_grey, int threshold_low_grey) {
  FrameParameters parameters = Best(max_features);
  parameters.fast_threshold_grey = threshold_grey;
  parameters.fast_threshold_low_grey = threshold_low_grey;
  return parameters;
}

constexpr MatchOptions CrossChecked() {
  MatchOptions match;
  match.cross_check = true;
  return match;
}

// docs/quality.md measures these values beside others.
constexpr TrackOptions OdometryTracks() {
  TrackOptions track;
  track.illumination = Illumination::kOffset;
  track.max_residual = 12.0f;
  track.redetect_percent = 70;
  return track;
}

const std::array<Preset, 11>& PresetTable() {
  static const std::array<Preset, 11> table = {{
      {"orb", "cv::ORB of OpenCV 4.6.0, bit for bit", OrbPipeline(), {}, {}, true},
      {"orb-slam",
       "corners spread by a quadtree, with a second threshold, as ORB-SLAM",
       OrbSlamPipeline(),
       Fast(1000, 20, 7),
       {},
       true},
      {"orb-slam3",
       "the features of ORB-SLAM3 v1.0 in its order, bit for bit",
       OrbSlam3Pipeline(),
       Fast(1000, 20, 7),
       {},
       true},
      {"oriented-fast",
       "FAST corners chosen by their Harris responses, with angles, for embedded GPUs",
       OrientedFastPipeline(),
       Best(kMaxFeatures),
       {},
       true},
      {"vio",
       "one corner a cell for visual-inertial odometry (Nagy et al. 2020)",
       VioPipeline(),
       Fast(100, 10, 0),
       {},
       true},
      {"odometry",
       "vio with more corners, and tracks for the motion of a camera",
       VioPipeline(),
       Fast(300, 10, 0),
       {},
       true,
       OdometryTracks()},
      {"bfrost",
       "FAST corners with 256 tests of square means, turned to the arc (Cronje 2011)",
       BFrostPipeline(),
       {},
       CrossChecked(),
       true},
      {"orb-32", "128 keypoints with 32-bit descriptors against a reference (Chang et al. 2019)",
       Orb32Pipeline(), Best(128), CrossChecked(), true},
      {"sift",
       "cv::SIFT of OpenCV 4.6.0 with AVX2, bit for bit",
       SiftPipeline(),
       Best(kMaxFeatures),
       {},
       true},
      {"harris-corners",
       "Harris corners with minimum distance (Teixeira et al. 2008)",
       CornerMapPipeline(Detector::kHarris),
       {},
       {},
       true},
      {"klt-corners",
       "Shi-Tomasi corners with minimum distance (Teixeira et al. 2008)",
       CornerMapPipeline(Detector::kShiTomasi),
       {},
       {},
       true},
  }};
  return table;
}

}  // namespace

absl::Status CheckRange(absl::string_view name, int64_t value, const IntRange& range) {
  if (value >= range.low && value <= range.high) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions, absl::StrCat(name, " must be in [", range.low, ", ",
                                                          range.high, "]; got ", value));
}

bool NeedsCompareScore(Score score) { return algo::FactsOf(score).needs_compare_score; }

IntRange BorderRange(const PipelineOptions& options) {
  if (options.select.selection == Selection::kOrbSlam3) {
    return {kOrbSlam3BorderPx, kOrbSlam3BorderPx};
  }
  if (options.detect.detector == Detector::kSift) return {0, 255};  // without effect
  return {Reach::Of(options).smallest_border_px, 255};
}

absl::Status PipelineOptions::Validate() const {
  ORBSERVE_RETURN_IF_ERROR(CheckRange("pyramid.levels", pyramid.levels, kLevelRange));
  ORBSERVE_RETURN_IF_ERROR(
      CheckReal("pyramid.scale_factor", pyramid.scale_factor, kMinScaleFactor, kMaxScaleFactor));
  ORBSERVE_RETURN_IF_ERROR(
      CheckRange("detect.fast_arc_length", detect.fast_arc_length, kFastArcLengthRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("suppress.window_px", suppress.window_px, kWindowRange));
  if (suppress.window_px % 2 == 0) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("suppress.window_px must be odd, in [3, 9]; got ", suppress.window_px));
  }
  ORBSERVE_RETURN_IF_ERROR(
      CheckMultiple("suppress.cell_width_px", suppress.cell_width_px, 32, kCellWidthRange));
  ORBSERVE_RETURN_IF_ERROR(
      CheckMultiple("suppress.cell_height_px", suppress.cell_height_px, 8, kCellHeightRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("suppress.minimum_distance_px", suppress.minimum_distance_px,
                                      kMinimumDistanceRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("suppress.max_passes", suppress.max_passes, kPassRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("select.capacity", select.capacity, kFeatureRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("select.border_px", select.border_px, BorderRange(*this)));
  ORBSERVE_RETURN_IF_ERROR(CheckSift(*this));
  if (detect.detector == Detector::kSift) return CheckOrbSlam3(*this);
  if (describe.orientation == Orientation::kNone &&
      (describe.descriptor == Descriptor::kRBrief256 ||
       describe.descriptor == Descriptor::kRBrief32)) {
    return MakeError(
        ErrorReason::kBadOptions,
        "describe.descriptor_type is RBRIEF_256 or RBRIEF_32 and describe.orientation is NONE; "
        "allowed: an orientation, or another descriptor_type");
  }

  if (describe.orientation == Orientation::kArcMiddle && detect.detector != Detector::kFast) {
    return MakeError(
        ErrorReason::kBadOptions,
        "describe.orientation is ARC_MIDDLE and detect.detector is not FAST, whose arc "
        "it needs; allowed: detector FAST, or another orientation");
  }

  const bool is_fast = detect.detector == Detector::kFast;
  if (is_fast && NeedsCompareScore(detect.score) && suppress.compare != Compare::kScore) {
    std::vector<absl::string_view> others;
    for (const Score score : AllOf<Score>()) {
      if (!NeedsCompareScore(score)) others.push_back(EnumName(score));
    }
    return Contradiction(
        absl::StrCat("detect.score is ", EnumName(detect.score)), "suppress.compare is FAST",
        absl::StrCat("suppress.compare SCORE, or detect.score ", absl::StrJoin(others, " or ")));
  }
  if (suppress.suppression == Suppression::kCell && select.selection == Selection::kLevelQuota) {
    return Contradiction("suppress.suppression is CELL", "select.selection is LEVEL_QUOTA",
                         "select.selection BEST, CELL or QUADTREE, or another suppression");
  }
  if (suppress.cornerness_compression && suppress.distance_shape == DistanceShape::kDisc) {
    return Contradiction("suppress.cornerness_compression is on", "suppress.distance_shape is DISC",
                         "suppress.distance_shape SQUARE, or no compression");
  }
  return CheckOrbSlam3(*this);
}

absl::Status SiftOptions::Validate() const {
  ORBSERVE_RETURN_IF_ERROR(CheckRange("sift.octave_layers", octave_layers, kSiftLayerRange));
  ORBSERVE_RETURN_IF_ERROR(CheckReal("sift.contrast_threshold", contrast_threshold, 0.0, 1.0));
  ORBSERVE_RETURN_IF_ERROR(CheckReal("sift.edge_threshold", edge_threshold, 0.0, 1000.0));
  ORBSERVE_RETURN_IF_ERROR(CheckReal("sift.sigma", sigma, 0.1, 4.0));
  return CheckRange("sift.first_octave", first_octave, kSiftFirstOctaveRange);
}

absl::Status FrameParameters::Validate() const {
  ORBSERVE_RETURN_IF_ERROR(CheckRange("max_features", max_features, kFeatureRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("fast_threshold", fast_threshold_grey, kFastThresholdRange));
  if (fast_threshold_low_grey < 0 || fast_threshold_low_grey > fast_threshold_grey) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("fast_threshold_low must be 0 (off), or in [1, ", fast_threshold_grey,
                     "], up to fast_threshold; got ", fast_threshold_low_grey));
  }
  ORBSERVE_RETURN_IF_ERROR(CheckRange("lapping_begin_px", lapping_begin_px, kLappingRange));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("lapping_end_px", lapping_end_px, kLappingRange));
  if (!(quality_level > 0.0f && quality_level < 1.0f)) {  // NaN fails, too
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("quality_level must be above 0 and below 1; got ", quality_level));
  }
  return absl::OkStatus();
}

absl::Status MatchOptions::Validate() const {
  ORBSERVE_RETURN_IF_ERROR(CheckRange("match.k", k, kNeighbourRange));
  ORBSERVE_RETURN_IF_ERROR(CheckReal("match.ratio", ratio, 0.0f, 1.0f));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("match.max_distance", max_distance, kMatchDistanceRange));
  if (k > 1 && (cross_check || ratio > 0.0f)) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("match.cross_check and match.ratio keep at most one match per query and need "
                     "match.k = 1; got k = ",
                     k));
  }
  if (!(window_px >= 0.0f && std::isfinite(window_px))) {  // NaN fails, too
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("match.window_px must be 0 (off), or a finite number above 0; got ",
                     window_px));
  }
  for (const auto& [name, offset_px] :
       {std::pair("match.offset_x", offset_x_px), std::pair("match.offset_y", offset_y_px)}) {
    if (!std::isfinite(offset_px)) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat(name, " must be a finite number; got ", offset_px));
    }
    if (offset_px != 0.0f && window_px == 0.0f) {
      return Contradiction(absl::StrCat(name, " is ", offset_px), "match.window_px is 0 (off)",
                           "a window, or an offset of 0");
    }
  }
  ORBSERVE_RETURN_IF_ERROR(CheckBandLimit("match.min_dx", min_dx_px, -kMaxBandPx));
  ORBSERVE_RETURN_IF_ERROR(CheckBandLimit("match.max_dx", max_dx_px, -kMaxBandPx));
  if (min_dx_px > max_dx_px) {
    return Contradiction(absl::StrCat("match.min_dx is ", min_dx_px),
                         absl::StrCat("match.max_dx is ", max_dx_px), "min_dx up to max_dx");
  }
  ORBSERVE_RETURN_IF_ERROR(CheckBandLimit("match.max_dy", max_dy_px, 0.0f));
  ORBSERVE_RETURN_IF_ERROR(CheckBandLimit("match.max_epipolar_px", max_epipolar_px, 0.0f));
  for (const double value : fundamental) {
    if (!std::isfinite(value)) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("match.fundamental must be nine finite numbers; got ", value));
    }
  }
  const bool has_matrix = fundamental != std::array<double, 9>{};
  if (has_matrix && !has_epipolar()) {
    return Contradiction("match.fundamental is given", "match.max_epipolar_px is 0 (off)",
                         "a max_epipolar_px above 0, or no matrix");
  }
  if (!has_matrix && has_epipolar()) {
    return Contradiction(absl::StrCat("match.max_epipolar_px is ", max_epipolar_px),
                         "match.fundamental is none, or zeros only", "both, or neither");
  }
  return absl::OkStatus();
}

absl::Status CheckCoarsePatch(int64_t side_px) {
  if (side_px == 8 || side_px == 16) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("track.coarse_patch_px must be 8 or 16; got ", side_px));
}

absl::Status TrackOptions::Validate() const {
  ORBSERVE_RETURN_IF_ERROR(CheckRange("track.levels", levels, kTrackLevelRange));
  ORBSERVE_RETURN_IF_ERROR(CheckCoarsePatch(coarse_patch_px));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("track.iterations", iterations, kTrackIterationRange));
  ORBSERVE_RETURN_IF_ERROR(CheckReal("track.epsilon_px", epsilon_px, 0.001f, 1.0f));
  ORBSERVE_RETURN_IF_ERROR(CheckReal("track.min_eigen", min_eigen, 0.001f, 1000.0f));
  if (!(max_residual > 0.0f && max_residual <= kMaxTrackResidual)) {  // NaN fails, too
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("track.max_residual must be above 0 and up to ",
                                  kMaxTrackResidual, " (off); got ", max_residual));
  }
  return CheckRange("track.redetect_percent", redetect_percent, kRedetectRange);
}

absl::Status CheckTrackPyramid(const PipelineOptions& pipeline) {
  const PyramidOptions& pyramid = pipeline.pyramid;
  if (pipeline.detect.detector == Detector::kSift) {
    return Contradiction("track is on", "detect.detector is SIFT",
                         "another detector, as in the preset \"odometry\", or no tracks");
  }
  if (pipeline.select.selection == Selection::kOrbSlam3) {
    return Contradiction("track is on", "select.selection is ORB_SLAM3",
                         "another selection, as in the preset \"odometry\", or no tracks");
  }
  if (pyramid.scale_factor == 2.0f && pyramid.source == PyramidSource::kPreviousLevel) {
    return absl::OkStatus();
  }
  return Contradiction(
      "track is on",
      absl::StrCat(
          "pyramid.scale_factor is ", pyramid.scale_factor,
          pyramid.source == PyramidSource::kPreviousLevel ? "" : " with pyramid.source LEVEL_ZERO"),
      "pyramid.scale_factor 2 with pyramid.source PREVIOUS_LEVEL, as in the "
      "preset \"odometry\", or no tracks");
}

absl::Span<const Preset> Presets() { return PresetTable(); }

absl::StatusOr<const Preset*> FindPreset(absl::string_view name) {
  std::vector<absl::string_view> available;
  std::vector<absl::string_view> missing;
  const Preset* found = nullptr;
  for (const Preset& preset : PresetTable()) {
    if (preset.name == name) found = &preset;
    (preset.available ? available : missing).push_back(preset.name);
  }
  if (found != nullptr && found->available) return found;
  const std::string allowed = absl::StrJoin(available, ", ");
  if (found != nullptr) {
    return MakeError(ErrorReason::kUnsupported,
                     absl::StrCat("preset \"", name,
                                  "\" is not available in this version; available are ", allowed));
  }
  const std::string known =
      missing.empty()
          ? std::string()
          : absl::StrCat(" (not available in this version: ", absl::StrJoin(missing, ", "), ")");
  return MakeError(ErrorReason::kBadOptions, absl::StrCat("preset must be one of ", allowed, known,
                                                          "; got \"", name.substr(0, 64), "\""));
}

Descriptor DescriptorOfBytes(int bytes) {
  switch (bytes) {
    case 32:
      return Descriptor::kRBrief256;
    case 4:
      return Descriptor::kRBrief32;
    default:
      return Descriptor::kNone;
  }
}

absl::string_view DescriptorName(Descriptor descriptor) { return EnumName(descriptor); }

int DescriptorBytes(Descriptor descriptor) {
  switch (descriptor) {
    case Descriptor::kNone:
      return 0;
    case Descriptor::kRBrief32:
      return 4;
    case Descriptor::kRBrief256:
    case Descriptor::kBFrost256:
    case Descriptor::kTeblid256:
    case Descriptor::kBeblid256:
      return 32;
    case Descriptor::kTeblid512:
    case Descriptor::kBeblid512:
      return 64;
    case Descriptor::kSift:
    case Descriptor::kRootSift:
    case Descriptor::kL1RootSift:
      return 128;
  }
  return 0;
}

}  // namespace orbserve
