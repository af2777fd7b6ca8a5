// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/frame/given_points.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"

namespace orbserve::cpu {

int PlaceGivenPoints(FrameContext& frame, const Features& features) {
  const size_t count = features.count();
  const auto bytes = static_cast<size_t>(features.descriptor_bytes);
  Workspace& workspace = frame.workspace();
  workspace.given_points.resize(count);
  workspace.given_rows.resize(count);
  const bool of_level_zero = IsOfLevelZero(frame.pipeline.spec.pipeline.describe.descriptor);
  if (of_level_zero) workspace.given_patches.resize(count);
  workspace.given_descriptors.resize(count * bytes);

  std::array<size_t, kMaxLevels + 1> end{};  // of each level's places, found by counting
  for (const int32_t octave : features.octave) ++end[static_cast<size_t>(octave) + 1];
  int levels = 0;
  for (int l = 0; l < kMaxLevels; ++l) {
    const auto i = static_cast<size_t>(l);
    if (end[i + 1] > 0) levels = l + 1;
    Workspace::Level& level = frame.level(l);
    level.points = absl::MakeSpan(workspace.given_points.data() + end[i], end[i + 1]);
    level.descriptors = workspace.given_descriptors.data() + end[i] * bytes;
    end[i + 1] += end[i];
  }
  // end[l] is where level l begins, and becomes where it ends.
  for (size_t row = 0; row < count; ++row) {
    const PlacedKeypoint placed = PlacedKeypointAt(frame.pipeline, features, row);
    const size_t place = end[static_cast<size_t>(placed.level)]++;
    workspace.given_points[place] = {static_cast<int16_t>(placed.x), static_cast<int16_t>(placed.y),
                                     0.0f, placed.angle_deg};
    workspace.given_rows[place] = static_cast<uint32_t>(row);
    if (of_level_zero) {
      workspace.given_patches[place] = {features.x[row], features.y[row],
                                        frame.pipeline.reach.patch_factor * features.size[row],
                                        features.angle_deg[row]};
    }
  }
  return levels;
}

void GatherGivenDescriptors(const FrameContext& frame, Features* features) {
  const Workspace& workspace = frame.workspace();
  const auto bytes = static_cast<size_t>(features->descriptor_bytes);
  for (size_t place = 0; place < workspace.given_rows.size(); ++place) {
    std::memcpy(features->descriptors.data() + workspace.given_rows[place] * bytes,
                workspace.given_descriptors.data() + place * bytes, bytes);
  }
}

}  // namespace orbserve::cpu
