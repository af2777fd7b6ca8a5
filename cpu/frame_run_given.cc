// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The part of FrameRun that describes keypoints given by the caller (docs/determinism.md).

#include <algorithm>
#include <cstring>

#include "cpu/frame_run.h"
#include "features/algo/pyramid.h"
#include "features/errors.h"
#include "features/given_keypoints.h"

namespace orbserve::cpu {

absl::Status FrameRun::Describe(const GivenKeypoints& given, Features* features) {
  ORBSERVE_RETURN_IF_ERROR(
      PlaceGivenKeypoints(given, plan_.spec(), static_cast<int>(plan_.levels().size()), features));
  const size_t count = features->count();
  const int bytes = plan_.descriptor_bytes();
  if (bytes == 0 || count == 0) return absl::OkStatus();

  int levels = 0;
  for (size_t i = 0; i < count; ++i) levels = std::max(levels, features->octave[i] + 1);

  // Points by level, in the caller's order inside each. Those whose samples could leave their level
  // are described one by one.
  workspace_.given_points.resize(count);
  workspace_.given_rows.resize(count);
  workspace_.given_descriptors.resize(count * static_cast<size_t>(bytes));
  int next = 0;
  for (int level = 0; level < levels; ++level) {
    const LevelPlan& l = plan_.levels()[level];
    if (level > 0) MakeLevel(level);
    std::memset(At<uint8_t>(l.tile_marks), 0, static_cast<size_t>(l.tile_columns) * l.tile_rows);
    const int first = next;
    int last = static_cast<int>(count);  // of those near the border, which fill up from behind
    for (size_t row = 0; row < count; ++row) {
      if (features->octave[row] != level) continue;
      const LevelPoint point = {
          static_cast<int16_t>(RoundToInt(features->x[row] * l.inverse_scale)),
          static_cast<int16_t>(RoundToInt(features->y[row] * l.inverse_scale)), 0.0f,
          features->angle_deg[row]};
      MarkTiles(level, point.x, point.y);
      constexpr int kBorder = 22;  // what describe_rbrief256 asks for
      const bool inside = point.x >= kBorder && point.x < l.width_px - kBorder &&
                          point.y >= kBorder && point.y < l.height_px - kBorder;
      const int place = inside ? next++ : --last;
      workspace_.given_points[static_cast<size_t>(place)] = point;
      workspace_.given_rows[static_cast<size_t>(place)] = static_cast<uint32_t>(row);
    }
    const int smooth_tasks = CollectBlurRuns(level);
    const int runs = workspace_.levels[level].blur_runs;
    for (int i = 0; i < smooth_tasks; ++i) {
      const int begin = static_cast<int>(static_cast<int64_t>(runs) * i / smooth_tasks);
      const int end = static_cast<int>(static_cast<int64_t>(runs) * (i + 1) / smooth_tasks);
      Fork([this, level, begin, end] { Smooth(level, begin, end); });
    }
    if (!serial_) tasks_->wait();
    ForkChunks(next - first, kDescribeChunk, [this, level, first, bytes](int begin, int end) {
      stages_.describe_rbrief256(
          Blurred(level), workspace_.given_points.data() + first + begin, end - begin,
          workspace_.given_descriptors.data() + static_cast<ptrdiff_t>(first + begin) * bytes);
    });
    for (int place = last; place < static_cast<int>(count); ++place) {
      DescribeNearBorder(
          level, workspace_.given_points[static_cast<size_t>(place)],
          features->descriptors.data() + static_cast<size_t>(workspace_.given_rows[place]) * bytes);
    }
    if (!serial_) tasks_->wait();
  }
  for (int place = 0; place < next; ++place) {
    std::memcpy(
        features->descriptors.data() + static_cast<size_t>(workspace_.given_rows[place]) * bytes,
        workspace_.given_descriptors.data() + static_cast<size_t>(place) * bytes,
        static_cast<size_t>(bytes));
  }
  return absl::OkStatus();
}

// A point of a high level can lie so near its border that samples fall outside. OpenCV keeps a
// frame of mirrored pixels round each level, filled before the level is smoothed: what lies outside
// is read unsmoothed. The neighbourhood is put together accordingly and described as a small level.
void FrameRun::DescribeNearBorder(int level, const LevelPoint& point, uint8_t* descriptor) {
  constexpr int kReach = 22;
  constexpr int kSide = 2 * kReach + 1;
  constexpr int kPitch = 64;
  alignas(64) uint8_t memory[kImagePaddingBytes + kSide * kPitch + kImagePaddingBytes] = {};
  const MutableImageView patch = {memory + kImagePaddingBytes, kSide, kSide, kPitch};
  const ImageView image = Image(level);
  const ImageView blurred = Blurred(level);
  for (int v = 0; v < kSide; ++v) {
    const int y = point.y + v - kReach;
    const bool row_inside = y >= 0 && y < image.height_px;
    const uint8_t* const plain = image.Row(algo::Reflect101(y, image.height_px));
    for (int u = 0; u < kSide; ++u) {
      const int x = point.x + u - kReach;
      patch.Row(v)[u] = row_inside && x >= 0 && x < image.width_px
                            ? blurred.Row(y)[x]
                            : plain[algo::Reflect101(x, image.width_px)];
    }
  }
  const LevelPoint centre = {kReach, kReach, 0.0f, point.angle_deg};
  stages_.describe_rbrief256(patch, &centre, 1, descriptor);
}

}  // namespace orbserve::cpu
