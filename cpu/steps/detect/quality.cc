// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/quality.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "features/algo/corner_map.h"
#include "features/algo/order.h"

namespace orbserve::cpu {
namespace {

class Quality final : public Step {
 public:
  absl::string_view name() const override { return "quality"; }
  StageSet stages() const override { return Stage::kDetect; }
  StepScope scope() const override { return StepScope::kFrame; }

  int Begin(FrameContext& frame, int /*level*/) const override {
    uint32_t top = 0;
    for (int l = 0; l < frame.pipeline.pyramid.detecting_levels; ++l) {
      const int strips = frame.lists.strips[static_cast<size_t>(l)].count;
      if (strips == 0) continue;
      const uint32_t* const tops = frame.At(frame.lists.strip_tops, l);
      top = std::max(top, *std::max_element(tops, tops + strips));
    }
    // Entries of the maps are 0 or belong to responses above 0. The threshold keeps the order of
    // responses: r > t exactly if OrderedBits(r) > OrderedBits(t).
    *frame.At(frame.lists.candidate_threshold) =
        top == 0 ? std::numeric_limits<uint32_t>::max()
                 : algo::OrderedBits(algo::QualityThreshold(frame.job.parameters.quality_level,
                                                            algo::ValueOfOrderedBits(top)));
    return 0;
  }

  void Run(FrameContext& /*frame*/, int /*level*/, int /*task*/) const override {}
};

}  // namespace

std::unique_ptr<Step> MakeQuality(const StepSetup& /*setup*/) {
  return std::make_unique<Quality>();
}

}  // namespace orbserve::cpu
