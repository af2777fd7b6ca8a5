// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Which steps a pipeline runs on a device, in which order, and on which branch. Fusion is decided
// here: a step may carry out several stages, and a pipeline that needs them apart lists other
// steps.

#include "gpu/compile.h"

#include <memory>

#include "gpu/steps/clear_counters.h"
#include "gpu/steps/corner_lists.h"
#include "gpu/steps/fast.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/pyramid.h"
#include "gpu/steps/rank.h"
#include "gpu/steps/rbrief256.h"
#include "gpu/steps/survivors.h"

namespace orbserve::gpu {
CompiledSteps CompileSteps(const CompiledPipeline& pipeline) {
  CompiledSteps compiled;
  ArenaLayout& layout = compiled.layout;
  compiled.params = layout.Add("parameters", sizeof(FrameParams));
  compiled.counters = layout.Add("counters", sizeof(FrameCounters));

  // Data between the steps.
  const LevelImageBuffers images(pipeline, &layout);
  const FastCornerListBuffers corners(pipeline, &layout);
  compiled.input = images.input();

  // Level 0 is searched beside the pyramid. Both searches need clear counters.
  const int last_level = pipeline.pyramid.detecting_levels - 1;
  StepList& list = compiled.list;
  const StepList::Id clear = list.Add(Branch::kSide, std::make_unique<ClearCountersStep>());
  StepList::Id side_end = clear;
  if (last_level >= 0) {
    side_end = list.Add(Branch::kSide, std::make_unique<FastStep>(pipeline, images, corners, 0, 0));
  }
  if (pipeline.level_count() > 1) {
    list.Add(Branch::kMain, std::make_unique<PyramidStep>(pipeline, images));
  }
  if (last_level >= 1) {
    list.Add(Branch::kMain, std::make_unique<FastStep>(pipeline, images, corners, 1, last_level),
             {clear});
  }
  if (last_level >= 0) {
    list.Add(Branch::kMain, std::make_unique<SurvivorsStep>(pipeline, images, corners), {side_end});
    list.Add(Branch::kMain, std::make_unique<RankStep>(pipeline));
    list.Add(Branch::kMain, std::make_unique<RBrief256Step>(pipeline, images));
  } else {
    list.Add(Branch::kMain, std::make_unique<RBrief256Step>(pipeline, images), {side_end});
  }
  return compiled;
}

}  // namespace orbserve::gpu
