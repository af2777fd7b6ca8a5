// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/random_options.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "absl/strings/str_cat.h"

namespace orbserve::testing {
namespace {

// The distributions of the standard library differ between platforms; a remainder does not.
int Between(std::mt19937& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
}
bool OneIn(std::mt19937& random, int times) { return Between(random, 1, times) == 1; }

template <typename T>
T OneOf(std::mt19937& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

PyramidOptions RandomPyramid(std::mt19937& random) {
  PyramidOptions pyramid;
  pyramid.levels = OneIn(random, 3) ? 1 : OneIn(random, 12) ? kMaxLevels : Between(random, 2, 8);
  pyramid.scale_factor = OneIn(random, 4)
                             ? 1.01f + static_cast<float>(Between(random, 0, 2990)) / 1000.0f
                             : OneOf(random, {kMinScaleFactor, 1.1f, 1.2f, 1.2f, 1.3f, 1.5f, 2.0f,
                                              2.0f, 2.0f, 3.0f, kMaxScaleFactor});
  pyramid.source = OneOf(random, {PyramidSource::kPreviousLevel, PyramidSource::kLevelZero});
  return pyramid;
}

DetectOptions RandomDetector(std::mt19937& random) {
  DetectOptions detect;
  detect.detector = OneOf(random, {Detector::kFast, Detector::kFast, Detector::kFast,
                                   Detector::kFast, Detector::kHarris, Detector::kShiTomasi});
  detect.fast_arc_length = Between(random, kFastArcLengthRange.low, kFastArcLengthRange.high);
  detect.candidate_test = OneOf(random, {CandidateTest::kAutomatic, CandidateTest::kBinaryEncoding,
                                         CandidateTest::kBitTable});
  // The scores of cv::ORB come twice as often as each other one.
  constexpr auto kScores = AllOf<Score>();
  const size_t place = random() % (kScores.size() + 2);
  detect.score = kScores[place < 4 ? place / 2 : place - 2];
  return detect;
}

SuppressOptions RandomSuppression(const DetectOptions& detect, std::mt19937& random) {
  SuppressOptions suppress;
  suppress.suppression = OneOf(random, {Suppression::kNeighbourhood, Suppression::kNeighbourhood,
                                        Suppression::kCell, Suppression::kMinimumDistance});
  suppress.compare = OneOf(random, {Compare::kFast, Compare::kFast, Compare::kScore});
  if (NeedsCompareScore(detect.score)) suppress.compare = Compare::kScore;
  suppress.window_px = OneOf(random, {3, 3, 3, 5, 7, 9});
  suppress.cell_width_px = 32 * (OneIn(random, 2) ? 1 : Between(random, 1, 16));
  suppress.cell_height_px = 8 * (OneIn(random, 2) ? Between(random, 1, 4) : Between(random, 1, 64));
  suppress.minimum_distance_px = OneIn(random, 3) ? Between(random, 1, 64) : Between(random, 1, 12);
  suppress.distance_shape = OneOf(random, {DistanceShape::kSquare, DistanceShape::kDisc});
  suppress.cornerness_compression =
      suppress.distance_shape == DistanceShape::kSquare && OneIn(random, 3);
  suppress.max_passes = OneIn(random, 2) ? 0 : OneOf(random, {1, 1, 2, 3, 5, kPassRange.high});
  return suppress;
}

Selection RandomSelection(const SuppressOptions& suppress, std::mt19937& random) {
  const int first = suppress.suppression == Suppression::kCell ? 1 : 0;
  constexpr Selection kSelections[] = {Selection::kLevelQuota, Selection::kBest, Selection::kCell,
                                       Selection::kQuadtree};
  return kSelections[Between(random, first, 3)];
}

DescribeOptions RandomDescription(const DetectOptions& detect, std::mt19937& random) {
  DescribeOptions describe;
  describe.descriptor = OneOf(
      random, {Descriptor::kNone, Descriptor::kNone, Descriptor::kRBrief256, Descriptor::kRBrief32,
               Descriptor::kRBrief32, Descriptor::kBFrost256, Descriptor::kTeblid256,
               Descriptor::kTeblid512, Descriptor::kBeblid256, Descriptor::kBeblid512});
  const bool turns =
      describe.descriptor == Descriptor::kRBrief256 || describe.descriptor == Descriptor::kRBrief32;
  const bool has_arc = detect.detector == Detector::kFast;
  describe.orientation = OneIn(random, 2) && has_arc ? Orientation::kArcMiddle
                         : turns || OneIn(random, 2) ? Orientation::kIntensityCentroid
                                                     : Orientation::kNone;
  return describe;
}

const char* EnumName(CandidateTest test) {
  constexpr const char* kNames[] = {"AUTOMATIC", "BINARY_ENCODING", "BIT_TABLE"};
  return kNames[static_cast<size_t>(test)];
}

}  // namespace

static_assert(static_cast<int>(CandidateTest::kBitTable) == 2);
static_assert(static_cast<int>(Score::kFast) == 0 && static_cast<int>(Score::kHarris) == 1);

PipelineOptions RandomPipeline(std::mt19937& random) {
  PipelineOptions pipeline;
  pipeline.pyramid = RandomPyramid(random);
  pipeline.detect = RandomDetector(random);
  pipeline.suppress = RandomSuppression(pipeline.detect, random);
  pipeline.select.selection = RandomSelection(pipeline.suppress, random);
  pipeline.select.capacity =
      OneIn(random, 2) ? kMaxFeatures : OneOf(random, {1, 2, 7, 20, 60, 200, 900});
  pipeline.describe = RandomDescription(pipeline.detect, random);
  const IntRange border = BorderRange(pipeline);
  pipeline.select.border_px = OneIn(random, 2)   ? border.low
                              : OneIn(random, 8) ? Between(random, border.low, border.high)
                                                 : border.low + Between(random, 0, 12);
  return pipeline;
}

FrameParameters RandomParameters(const PipelineOptions& pipeline, std::mt19937& random) {
  FrameParameters parameters;
  parameters.max_features =
      OneIn(random, 3) ? Between(random, 1, 40)
                       : OneOf(random, {1, 2, 50, 100, 128, 300, 500, 1000, 3000, kMaxFeatures});
  const int highest = kFastThresholdRange.high;
  parameters.fast_threshold_grey = OneIn(random, 10)   ? Between(random, 1, highest)
                                   : OneIn(random, 20) ? OneOf(random, {1, highest})
                                                       : Between(random, 4, 60);
  if (pipeline.detect.detector == Detector::kFast && OneIn(random, 2)) {
    parameters.fast_threshold_low_grey = OneIn(random, 8)
                                             ? parameters.fast_threshold_grey
                                             : Between(random, 1, parameters.fast_threshold_grey);
  }
  parameters.quality_level = OneIn(random, 6)
                                 ? OneOf(random, {1e-7f, 0.5f, 0.999f})
                                 : static_cast<float>(Between(random, 1, 100)) / 1000.0f;
  return parameters;
}

TrackOptions RandomTrackOptions(std::mt19937& random) {
  TrackOptions options;
  options.levels = Between(random, 1, 11);
  options.coarse_patch_px = OneOf(random, {8, 16});
  options.iterations = OneOf(random, {1, 5, 30, 30, 100});
  options.epsilon_px = OneOf(random, {0.001f, 0.005f, 0.03f, 0.03f, 1.0f});
  options.min_eigen = OneOf(random, {0.001f, 0.1f, 0.1f, 1.0f, 5.0f, 100.0f, 1000.0f});
  options.max_residual = OneOf(random, {128.0f, 128.0f, 128.0f, 10.0f, 1.0f, 0.125f});
  options.illumination = OneOf(random, {Illumination::kNone, Illumination::kOffset,
                                        Illumination::kGain, Illumination::kBoth});
  options.track_template = OneOf(random, {TrackTemplate::kPrevious, TrackTemplate::kFirst});
  options.redetect_percent = OneOf(random, {0, 30, 30, 60, 100});
  return options;
}

TestImage RandomImage(int width_px, int height_px, std::mt19937& random) {
  const uint32_t seed = static_cast<uint32_t>(random());
  switch (Between(random, 0, 11)) {
    case 0:
    case 1:
    case 2:
      return NoiseImage(width_px, height_px, seed);
    case 3:
      return DotLattice(width_px, height_px, Between(random, 4, 20));
    case 4:
      return Checkerboard(width_px, height_px);
    case 5:
      return TestImage(width_px, height_px);
    default:
      return SceneImage(width_px, height_px, seed);
  }
}

TestImage RandomFrameMask(int width_px, int height_px, std::mt19937& random) {
  if (OneIn(random, 10)) return TestImage(width_px, height_px);
  TestImage mask = RandomMask(width_px, height_px, static_cast<uint32_t>(random()));
  if (OneIn(random, 10)) {
    for (int y = 0; y < height_px; ++y) {
      for (int x = 0; x < width_px; ++x) mask.At(x, y) = 255;
    }
  }
  return mask;
}

std::string Printed(const PipelineOptions& pipeline) {
  const auto& [pyramid, detect, suppress, select, describe, sift] = pipeline;
  if (detect.detector == Detector::kSift) {
    return absl::StrCat("detector SIFT layers ", sift.octave_layers, " contrast ",
                        sift.contrast_threshold, " edge ", sift.edge_threshold, " sigma ",
                        sift.sigma, " first octave ", sift.first_octave, " capacity ",
                        select.capacity, " descriptor ", DescriptorName(describe.descriptor));
  }
  std::string text =
      absl::StrCat("pyramid ", pyramid.levels, " levels of ", pyramid.scale_factor, " from ",
                   EnumName(pyramid.source), "; detector ", EnumName(detect.detector));
  if (detect.detector == Detector::kFast) {
    absl::StrAppend(&text, " arc ", detect.fast_arc_length, " test ",
                    EnumName(detect.candidate_test), " score ", EnumName(detect.score), " compare ",
                    suppress.compare == Compare::kFast ? "FAST" : "SCORE");
  }
  switch (suppress.suppression) {
    case Suppression::kNeighbourhood:
      absl::StrAppend(&text, "; NEIGHBOURHOOD window ", suppress.window_px);
      break;
    case Suppression::kCell:
      absl::StrAppend(&text, "; CELL window ", suppress.window_px);
      break;
    case Suppression::kMinimumDistance:
      absl::StrAppend(&text, "; MINIMUM_DISTANCE ", suppress.minimum_distance_px,
                      suppress.distance_shape == DistanceShape::kDisc ? " DISC" : " SQUARE",
                      suppress.cornerness_compression ? " compressed" : "", " max_passes ",
                      suppress.max_passes);
      break;
  }
  if (suppress.suppression == Suppression::kCell || select.selection == Selection::kCell) {
    absl::StrAppend(&text, " cells ", suppress.cell_width_px, "x", suppress.cell_height_px);
  }
  absl::StrAppend(&text, "; selection ", EnumName(select.selection), " capacity ", select.capacity,
                  " border ", select.border_px, "; orientation ", EnumName(describe.orientation),
                  " descriptor ", DescriptorName(describe.descriptor));
  return text;
}

std::string Printed(const FrameParameters& parameters) {
  return absl::StrCat("max_features ", parameters.max_features, " fast_threshold ",
                      parameters.fast_threshold_grey, " low ", parameters.fast_threshold_low_grey,
                      " quality ", parameters.quality_level);
}

}  // namespace orbserve::testing
