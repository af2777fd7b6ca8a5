// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One table of stages per target.

#include "cpu/simd/targets.h"
#include "hwy/targets.h"

#include <cstdint>
#include <vector>

#include "cpu/stages.h"

namespace orbserve::cpu {
namespace {

Stages MakeStages(int64_t target) {
  return {.name = hwy::TargetName(target),
          .resize_rows = SimdResizeRows(target),
          .fast_corners = SimdFastCorners(target),
          .harris_responses = SimdHarrisResponses(target),
          .intensity_centroid_angles = SimdIntensityCentroidAngles(target),
          .blur = SimdBlur(target),
          .describe_rbrief256 = SimdDescribeRBrief256(target)};
}

// Tables of the targets that were compiled and that this processor has, the fastest first: lower
// target bits are better. Never destroyed, as threads may use them until the end.
const std::vector<Stages>& Tables() {
  static const std::vector<Stages>* const tables = [] {
    auto* made = new std::vector<Stages>;
    uint64_t targets = static_cast<uint64_t>(hwy::SupportedTargets() & ORBSERVE_SIMD_TARGETS);
    for (; targets != 0; targets &= targets - 1) {
      made->push_back(MakeStages(static_cast<int64_t>(targets & (~targets + 1))));
    }
    return made;
  }();
  return *tables;
}

}  // namespace

std::vector<const Stages*> AllSimdStages() {
  std::vector<const Stages*> all;
  for (const Stages& stages : Tables()) all.push_back(&stages);
  return all;
}

const Stages& SimdStages() { return Tables().empty() ? ReferenceStages() : Tables().front(); }

}  // namespace orbserve::cpu
