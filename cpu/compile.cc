// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/compile.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

#include "cpu/steps/describe/arc_middle.h"
#include "cpu/steps/describe/bfrost256.h"
#include "cpu/steps/describe/gaussian.h"
#include "cpu/steps/describe/integral.h"
#include "cpu/steps/describe/intensity_centroid.h"
#include "cpu/steps/describe/rbrief256.h"
#include "cpu/steps/describe/rbrief32.h"
#include "cpu/steps/describe/teblid.h"
#include "cpu/steps/detect/cell_bound.h"
#include "cpu/steps/detect/corner_map.h"
#include "cpu/steps/detect/fast.h"
#include "cpu/steps/detect/fast_map.h"
#include "cpu/steps/detect/fast_response.h"
#include "cpu/steps/detect/harris.h"
#include "cpu/steps/detect/quality.h"
#include "cpu/steps/detect/zone_fast.h"
#include "cpu/steps/pyramid.h"
#include "cpu/steps/select/cell_rounds.h"
#include "cpu/steps/select/node_list.h"
#include "cpu/steps/select/quadtree.h"
#include "cpu/steps/select/rank.h"
#include "cpu/steps/select/survivors.h"
#include "cpu/steps/sift.h"
#include "cpu/steps/suppress/cell.h"
#include "cpu/steps/suppress/low_threshold.h"
#include "cpu/steps/suppress/minimum_distance.h"
#include "cpu/steps/suppress/neighbourhood.h"
#include "cpu/steps/suppress/square_distance.h"
#include "features/options.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/reach.h"

namespace orbserve::cpu {
namespace {

using StepMaker = std::unique_ptr<Step> (*)(const StepSetup&);

// The step of each method; null where the pipeline has none. PipelineOptions::Validate() has
// refused methods that do not exist yet.

StepMaker DetectorOf(const PipelineOptions& options) {
  switch (options.detect.detector) {
    case Detector::kFast:
      if (HasZones(options)) return MakeZoneFast;
      if (HasResponseMap(options)) return MakeFastMap;
      return ComparesFastScores(options) ? MakeFast : MakeFastResponse;
    case Detector::kHarris:
    case Detector::kShiTomasi:
      return MakeCornerMap;
    case Detector::kSift:  // CompileSteps() adds its steps
      break;
  }
  return nullptr;
}

// The second threshold is a parameter of a frame. Zones have it in their search.
StepMaker LowThresholdOf(const PipelineOptions& options) {
  if (HasZones(options)) return nullptr;
  return options.detect.detector == Detector::kFast ? MakeLowThreshold : nullptr;
}

// The threshold of candidates, which detectors other than FAST take from the frame.
StepMaker QualityOf(const PipelineOptions& options) {
  return options.detect.detector != Detector::kFast ? MakeQuality : nullptr;
}

// The steps that suppress corners of a response map, as far as the detector does not.
struct SuppressionSteps {
  StepMaker compress = nullptr;
  StepMaker first = nullptr;
  StepMaker rest = nullptr;
};

SuppressionSteps SuppressionOf(const PipelineOptions& options) {
  if (!HasResponseMap(options)) return {};
  if (options.suppress.suppression != Suppression::kMinimumDistance) {
    return {nullptr, MakeNeighbourhood, nullptr};
  }
  if (FrameLists::HasCoarseMaps(options)) {
    return {MakeCoarseMap, MakeFirstSquarePass, MakeSquareDistance};
  }
  return {FrameLists::HasBlocks(options) ? MakeDistanceBlocks : nullptr, MakeFirstDistancePass,
          MakeMinimumDistance};
}

// Scores of survivors, other than the detector's own. Keyed corners have theirs.
StepMaker ScoreOf(const PipelineOptions& options) {
  if (CornerListOf(options) == CornerList::kKeyed) return nullptr;
  switch (options.detect.score) {
    case Score::kHarris:
      return MakeHarris;
    default:
      return nullptr;
  }
}

// The suppression that compares the corners of all levels.
StepMaker CellOf(const PipelineOptions& options) {
  return options.suppress.suppression == Suppression::kCell ? MakeCell : nullptr;
}

StepMaker SelectionOf(const PipelineOptions& options) {
  switch (options.select.selection) {
    case Selection::kLevelQuota:
    case Selection::kBest:
      return MakeRank;
    case Selection::kCell:
      return MakeCellRounds;
    case Selection::kQuadtree:
      return MakeQuadtree;
    case Selection::kOrbSlam3:
      return MakeNodeList;
  }
  return nullptr;
}

StepMaker OrientationOf(const PipelineOptions& options) {
  switch (options.describe.orientation) {
    case Orientation::kIntensityCentroid:
      return MakeIntensityCentroid;
    case Orientation::kArcMiddle:
      return MakeArcMiddle;
    default:
      return nullptr;
  }
}

StepMaker FilterOf(const PipelineOptions& options) {
  return options.describe.descriptor == Descriptor::kRBrief256 ? MakeGaussian : nullptr;
}

// The steps that make integral images.
std::pair<StepMaker, StepMaker> IntegralOf(const PipelineOptions& options) {
  const Descriptor descriptor = options.describe.descriptor;
  if (descriptor != Descriptor::kBFrost256 && !IsOfLevelZero(descriptor)) return {nullptr, nullptr};
  return {MakeIntegralColumns, MakeIntegral};
}

StepMaker DescriptorOf(const PipelineOptions& options) {
  switch (options.describe.descriptor) {
    case Descriptor::kRBrief256:
      return MakeRBrief256;
    case Descriptor::kRBrief32:
      return MakeRBrief32;
    case Descriptor::kBFrost256:
      return MakeBFrost256;
    case Descriptor::kTeblid256:
    case Descriptor::kTeblid512:
    case Descriptor::kBeblid256:
    case Descriptor::kBeblid512:
      return MakeTeblid;
    default:
      return nullptr;
  }
}

// A step that the pipeline does not have.
constexpr int kNone = -1;

// Adds a step to the list; returns its index.
int Add(std::unique_ptr<Step> step, StepList* list) {
  if (step == nullptr) return kNone;
  assert(list->steps.size() < static_cast<size_t>(kMaxSteps));
  list->steps.push_back(std::move(step));
  return static_cast<int>(list->steps.size()) - 1;
}

template <size_t kCount>
std::array<int, kCount> AddAll(std::array<std::unique_ptr<Step>, kCount> steps, StepList* list) {
  std::array<int, kCount> added;
  for (size_t i = 0; i < kCount; ++i) added[i] = Add(std::move(steps[i]), list);
  return added;
}

// Phases of the given steps, without those that the pipeline does not have.
std::vector<Phase> Phases(const StepList& list,
                          std::initializer_list<std::initializer_list<int>> phases) {
  std::vector<Phase> made;
  for (const std::initializer_list<int>& steps : phases) {
    Phase phase;
    for (const int step : steps) {
      if (step == kNone) continue;
      const StepScope scope = list.steps[static_cast<size_t>(step)]->scope();
      assert(phase.steps.empty() || phase.scope == scope);
      phase.scope = scope;
      phase.steps.push_back(step);
    }
    assert(phase.steps.size() <= static_cast<size_t>(kMaxPhaseSteps));
    if (!phase.steps.empty()) made.push_back(std::move(phase));
  }
  return made;
}

}  // namespace

StepList CompileSteps(const StepSetup& setup) {
  const PipelineOptions& options = setup.pipeline.spec.pipeline;
  StepList list;
  const auto add = [&](StepMaker make) {
    return Add(make != nullptr ? make(setup) : nullptr, &list);
  };

  const int pyramid = add(MakePyramid);
  list.pyramid = pyramid;
  if (HasScaleSpace(options)) {
    SiftSteps sift = MakeSift(setup);
    const int first = Add(std::move(sift.first_image), &list);
    const auto [octave0, octave1, octave2] = AddAll(std::move(sift.octaves), &list);
    const auto [features0, features1, features2] = AddAll(std::move(sift.features), &list);
    const int small = Add(std::move(sift.small_octaves), &list);
    const int order = Add(std::move(sift.order), &list);
    const int describe = Add(std::move(sift.describe), &list);
    if (setup.threads == 1) {
      list.detection = Phases(list, {{first},
                                     {octave0},
                                     {features0},
                                     {octave1},
                                     {features1},
                                     {octave2},
                                     {features2},
                                     {small},
                                     {order},
                                     {describe}});
    } else {
      list.detection = Phases(list, {{first},
                                     {octave0},
                                     {features0, octave1},
                                     {features1, octave2},
                                     {features2, small},
                                     {order},
                                     {describe}});
    }
    return list;
  }
  const int detect = add(DetectorOf(options));
  const bool bounds = FrameLists::BoundsLevelZero(setup.pipeline);
  const int bound = add(bounds ? MakeCellBound : nullptr);
  const int detect_rest = add(bounds ? MakeFastResponseOfLevelZero : nullptr);
  const int drop_weak = add(LowThresholdOf(options));
  const int quality = add(QualityOf(options));
  const SuppressionSteps suppression = SuppressionOf(options);
  const int compress = add(suppression.compress);
  const int first_pass = add(suppression.first);
  const int suppress = add(suppression.rest);
  const int survive = add(MakeSurvivors);
  const int score = add(ScoreOf(options));
  const int cell = add(CellOf(options));
  const int select = add(SelectionOf(options));
  const int orient = add(OrientationOf(options));
  const int smooth = add(FilterOf(options));
  const auto [make_columns, make_integral] = IntegralOf(options);
  const int columns = add(make_columns);
  const int integral = add(make_integral);
  const int describe = add(DescriptorOf(options));

  list.detection = Phases(list, {{detect, columns},
                                 {bound},
                                 {detect_rest},
                                 {drop_weak},
                                 {quality},
                                 {compress},
                                 {first_pass},
                                 {suppress},
                                 {survive, integral},
                                 {score},
                                 {cell},
                                 {select},
                                 {smooth, orient},
                                 {describe}});
  list.description = Phases(list, {{smooth, columns}, {integral}, {describe}});
  return list;
}

}  // namespace orbserve::cpu
