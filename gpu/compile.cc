// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Lists the steps of a pipeline on a device, in their order, with their branches. Fusion is decided
// here: a step may carry out several stages, and a pipeline that needs them apart lists other
// steps.

#include "gpu/compile.h"

#include <memory>
#include <optional>
#include <utility>

#include "features/pipeline/detection.h"
#include "features/pipeline/reach.h"
#include "gpu/steps/clear_counters.h"
#include "gpu/steps/describe/bfrost256.h"
#include "gpu/steps/describe/integral.h"
#include "gpu/steps/describe/orient.h"
#include "gpu/steps/describe/rbrief256.h"
#include "gpu/steps/describe/rbrief32.h"
#include "gpu/steps/describe/teblid.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/detect/corner_map.h"
#include "gpu/steps/detect/corner_sink.h"
#include "gpu/steps/detect/fast.h"
#include "gpu/steps/detect/fast_keys.h"
#include "gpu/steps/detect/fast_map.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/detect/zone_fast.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/pyramid.h"
#include "gpu/steps/select/cell_rounds.h"
#include "gpu/steps/select/key_survivors.h"
#include "gpu/steps/select/node_list.h"
#include "gpu/steps/select/quadtree.h"
#include "gpu/steps/select/rank.h"
#include "gpu/steps/select/survivors.h"
#include "gpu/steps/sift/descriptors.h"
#include "gpu/steps/sift/directions.h"
#include "gpu/steps/sift/extrema.h"
#include "gpu/steps/sift/order.h"
#include "gpu/steps/sift/scale_space.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "gpu/steps/suppress/cell.h"
#include "gpu/steps/suppress/low_threshold.h"
#include "gpu/steps/suppress/minimum_distance.h"
#include "gpu/steps/suppress/neighbourhood.h"
#include "gpu/steps/track_pyramid.h"

namespace orbserve::gpu {
namespace {

// The step from response maps to the corners that the selection begins with.
std::unique_ptr<Step> SuppressMaps(const CompiledPipeline& pipeline,
                                   const LevelImageBuffers& images, const ResponseMapBuffers& maps,
                                   const std::optional<FastCornerListBuffers>& corners,
                                   const std::optional<KeyListBuffers>& keys, ArenaLayout* layout) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  const CornerSinkBuffers sink = corners.has_value()
                                     ? CornerSinkBuffers(*corners, options.detect.fast_arc_length)
                                     : CornerSinkBuffers(*keys);
  if (options.suppress.suppression == Suppression::kMinimumDistance &&
      options.suppress.minimum_distance_px > 1) {
    return std::make_unique<MinimumDistanceStep>(pipeline, images, maps, sink, layout);
  }
  return std::make_unique<NeighbourhoodStep>(pipeline, images, maps, sink);
}

// Adds the steps from keyed corners to ranked lists.
template <typename AddStep>
void AddKeySelection(const CompiledPipeline& pipeline, const KeyListBuffers& keys,
                     const std::optional<CellWinnerBuffers>& winners, const AddStep& add) {
  if (winners.has_value()) {
    const bool searches_keys = !HasResponseMap(pipeline.spec.pipeline);
    add(std::make_unique<CellStep>(keys, *winners, searches_keys));
  }
  add(std::make_unique<KeySurvivorsStep>(pipeline, keys, winners));
  switch (pipeline.spec.pipeline.select.selection) {
    case Selection::kLevelQuota:
    case Selection::kBest:
      add(std::make_unique<RankStep>(pipeline, keys));
      break;
    case Selection::kCell:
      add(std::make_unique<CellRoundsStep>(pipeline, keys));
      break;
    case Selection::kQuadtree:
      add(std::make_unique<QuadtreeStep>(pipeline, keys));
      add(std::make_unique<RankStep>(pipeline, keys));
      break;
    case Selection::kOrbSlam3:  // its node list takes the corners as they are
      break;
  }
}

// Adds the steps of the detector SIFT, which is one method from the frame to the descriptors.
void AddSift(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
             CompiledSteps* compiled) {
  const SiftBuffers buffers(pipeline, &compiled->layout);
  StepList& list = compiled->list;
  const StepList::Id clear = list.Add(
      Branch::kSide, std::make_unique<ClearCountersStep>(/*has_histograms=*/false, std::nullopt));
  list.Add(Branch::kMain, std::make_unique<SiftScaleSpaceStep>(images, buffers));
  list.Add(Branch::kMain, std::make_unique<SiftExtremaStep>(buffers), {clear});
  list.Add(Branch::kMain, std::make_unique<SiftDirectionsStep>(buffers));
  list.Add(Branch::kMain, std::make_unique<SiftOrderStep>(buffers));
  list.Add(Branch::kMain, std::make_unique<SiftDescriptorsStep>(pipeline, buffers));
}

}  // namespace

CompiledSteps CompileSteps(const CompiledPipeline& pipeline, bool reads_in_place) {
  CompiledSteps compiled;
  ArenaLayout& layout = compiled.layout;
  compiled.params = layout.Add("parameters", sizeof(FrameParams));
  compiled.counters = layout.Add("counters", sizeof(FrameCounters));

  // Data between the steps.
  const PipelineOptions& options = pipeline.spec.pipeline;
  const LevelImageBuffers images(pipeline, reads_in_place, &layout);
  compiled.input = images.input();
  if (HasScaleSpace(options)) {
    AddSift(pipeline, images, &compiled);
    return compiled;
  }
  std::optional<ResponseMapBuffers> maps;
  if (HasResponseMap(options) || HasZones(options)) maps.emplace(pipeline, &layout);
  std::optional<FastCornerListBuffers> corners;
  std::optional<KeyListBuffers> keys;
  if (CornerListOf(options) == CornerList::kScored) {
    corners.emplace(pipeline, &layout);
  } else {
    keys.emplace(pipeline, &layout);
  }
  std::optional<CellWinnerBuffers> winners;
  if (options.suppress.suppression == Suppression::kCell) winners.emplace(pipeline, &layout);

  // The search for corners on some levels.
  const auto search = [&](int first_level, int last_level) -> std::unique_ptr<Step> {
    if (options.detect.detector != Detector::kFast) {
      return std::make_unique<CornerMapStep>(pipeline, images, *maps, first_level, last_level);
    }
    if (maps.has_value()) {
      return std::make_unique<FastMapStep>(pipeline, images, *maps, first_level, last_level);
    }
    if (keys.has_value()) {
      return std::make_unique<FastKeysStep>(pipeline, images, *keys, winners, first_level,
                                            last_level);
    }
    return std::make_unique<FastStep>(pipeline, images, *corners, first_level, last_level);
  };

  // Level 0 is searched beside the pyramid. Both searches need clear counters.
  const int last_level = pipeline.pyramid.detecting_levels - 1;
  StepList& list = compiled.list;
  const StepList::Id clear =
      list.Add(Branch::kSide, std::make_unique<ClearCountersStep>(corners.has_value(), winners));
  StepList::Id side_end = clear;
  if (last_level >= 0) {
    side_end = list.Add(Branch::kSide, search(0, 0));
  }
  const bool has_pyramid = pipeline.level_count() > 1;
  StepList::Id pyramid = 0;
  if (has_pyramid) {
    pyramid = list.Add(Branch::kMain, std::make_unique<PyramidStep>(pipeline, images));
  }
  if (last_level >= 1) {
    list.Add(Branch::kMain, search(1, last_level), {clear});
  }
  if (last_level >= 0) {
    // The first of these steps waits for the side branch.
    bool joined = false;
    const auto add = [&](std::unique_ptr<Step> step) {
      if (joined) {
        list.Add(Branch::kMain, std::move(step));
      } else {
        list.Add(Branch::kMain, std::move(step), {side_end});
      }
      joined = true;
    };
    if (options.detect.detector == Detector::kFast && !HasZones(options)) {
      add(std::make_unique<LowThresholdStep>(pipeline, images, corners, keys, maps, &layout));
    }
    if (HasZones(options)) {
      add(std::make_unique<ZoneFastStep>(pipeline, *maps, *keys));
    } else if (maps.has_value()) {
      add(SuppressMaps(pipeline, images, *maps, corners, keys, &layout));
    }
    if (corners.has_value()) {
      add(std::make_unique<SurvivorsStep>(pipeline, images, *corners));
      add(std::make_unique<RankStep>(pipeline));
    } else if (options.select.selection == Selection::kOrbSlam3) {
      add(std::make_unique<NodeListStep>(pipeline, *keys));
    } else {
      AddKeySelection(pipeline, *keys, winners, add);
    }
  }

  // Nothing on the device waits for the pyramids that states keep, so they are made beside the
  // selection.
  if (pipeline.spec.track_levels > 0) {
    side_end = list.Add(Branch::kSide, std::make_unique<TrackPyramidStep>(pipeline, images));
  }

  // The last step describes and writes records, also those of keypoints without a descriptor.
  const Descriptor descriptor = pipeline.spec.pipeline.describe.descriptor;
  if (descriptor == Descriptor::kBFrost256) {
    // The integral images are made beside the selection.
    const IntegralBuffers integrals(pipeline, pipeline.level_count(), &layout);
    auto integral = std::make_unique<IntegralStep>(images, integrals);
    const StepList::Id integrated = has_pyramid
                                        ? list.Add(Branch::kSide, std::move(integral), {pyramid})
                                        : list.Add(Branch::kSide, std::move(integral));
    list.Add(Branch::kMain, std::make_unique<BFrost256Step>(pipeline, images, integrals),
             {integrated});
  } else if (IsOfLevelZero(descriptor)) {
    const IntegralBuffers integrals(pipeline, /*levels=*/1, &layout);
    const StepList::Id integrated =
        list.Add(Branch::kSide, std::make_unique<IntegralStep>(images, integrals));
    list.Add(Branch::kMain, std::make_unique<TeblidStep>(pipeline, images, integrals),
             {integrated});
  } else {
    std::unique_ptr<Step> describe;
    if (descriptor == Descriptor::kNone) {
      describe = std::make_unique<OrientStep>(pipeline, images);
    } else if (descriptor == Descriptor::kRBrief32) {
      describe = std::make_unique<RBrief32Step>(pipeline, images);
    } else {
      describe = std::make_unique<RBrief256Step>(pipeline, images);
    }
    // Steps before have waited for the search.
    if (last_level >= 0 && pipeline.spec.track_levels == 0) {
      list.Add(Branch::kMain, std::move(describe));
    } else {
      list.Add(Branch::kMain, std::move(describe), {side_end});
    }
  }
  return compiled;
}

}  // namespace orbserve::gpu
