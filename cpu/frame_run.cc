// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/frame_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cpu/selection.h"
#include "features/algo/order.h"
#include "features/algo/pyramid.h"
#include "features/algo/quota.h"
#include "features/algo/rbrief.h"
#include "features/algo/sincos.h"
#include "features/errors.h"
#include "oneapi/tbb/blocked_range.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 10 to 30 microseconds of work each.
constexpr int kScoreChunk = 192;
constexpr int kOrientChunk = 192;
constexpr int kBlurTilesPerTask = 48;
// Responses scored at a time, on the stack.
constexpr int kScoreBlock = 128;
// Resizing is short beside what can be done meanwhile on the levels that exist; it is divided only
// where many threads wait for it.
constexpr int kResizeDivideThreads = 4;
constexpr int kResizePixelsPerTask = 32 * 1024;

}  // namespace

FrameRun::FrameRun(const CpuPlan& plan, Workspace& workspace, const FrameJob& job)
    : plan_(plan),
      stages_(plan.stages()),
      workspace_(workspace),
      job_(job),
      serial_(plan.threads() == 1) {}

absl::Status FrameRun::Run(Features* features) {
  ORBSERVE_RETURN_IF_ERROR(job_.parameters.Validate());
  const PlanSpec& spec = plan_.spec();
  const ImageView image = job_.input->image;
  if (image.width_px != spec.width_px || image.height_px != spec.height_px) {
    return MakeError(ErrorReason::kInternal,
                     absl::StrCat("a frame of ", image.width_px, " x ", image.height_px,
                                  " in a batch of ", spec.width_px, " x ", spec.height_px));
  }
  features->descriptor_bytes = plan_.descriptor_bytes();
  features->image_width_px = spec.width_px;
  features->image_height_px = spec.height_px;
  features->truncated = false;
  features->source_index.clear();

  if (serial_) {
    return job_.given_keypoints != nullptr ? Describe(*job_.given_keypoints, features)
                                           : Detect(features);
  }
  tbb::task_group tasks;
  tasks_ = &tasks;
  return job_.given_keypoints != nullptr ? Describe(*job_.given_keypoints, features)
                                         : Detect(features);
}

absl::Status FrameRun::Detect(Features* features) {
  const int levels = plan_.detecting_levels();
  if (plan_.selects_by_level()) {
    algo::LevelQuotas(job_.parameters.max_features, plan_.spec().pipeline.pyramid.scale_factor,
                      plan_.spec().pipeline.pyramid.levels, quotas_);
  }
  const bool masked = !job_.input->mask.empty();
  if (masked && workspace_.mask_memory.size() == 0 &&
      !workspace_.mask_memory.Allocate(plan_.mask_bytes())) {
    return MakeError(ErrorReason::kOutOfMemory, "no memory for the pyramid of the mask");
  }
  workspace_.pending_levels.store(levels, std::memory_order_relaxed);
  for (int level = 0; level < levels; ++level) {
    if (level > 0) {
      MakeLevel(level);
      if (masked) MakeMask(level);
    }
    StartCorners(level);
  }
  if (!serial_) tasks_->wait();
  Gather(features);
  return absl::OkStatus();
}

void FrameRun::MakeLevel(int level) {
  const LevelPlan& l = plan_.levels()[level];
  const ImageView source = Image(plan_.source_of(level));
  const MutableImageView image = WritableImage(level);
  const auto resize = [&](int begin, int end) {
    stages_.resize_rows(source, image, l.x_axis, l.y_axis, begin, end,
                        reinterpret_cast<uint16_t*>(Scratch()));
  };
  const int rows_per_task = std::max(1, kResizePixelsPerTask / l.width_px);
  if (plan_.threads() < kResizeDivideThreads || l.height_px <= rows_per_task) {
    resize(0, l.height_px);
    return;
  }
  // Isolated: while it waits here, this thread must not begin other work that the next level would
  // have to wait for.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, l.height_px, rows_per_task),
        [&](const tbb::blocked_range<int>& rows) { resize(rows.begin(), rows.end()); },
        tbb::simple_partitioner());
  });
}

void FrameRun::MakeMask(int level) {
  const LevelPlan& l = plan_.levels()[level];
  const int source = plan_.source_of(level);
  const MutableImageView mask = Mask(level);
  stages_.resize_rows(source == 0 ? job_.input->mask : Mask(source), mask, l.x_axis, l.y_axis, 0,
                      l.height_px, reinterpret_cast<uint16_t*>(Scratch()));
  for (int y = 0; y < l.height_px; ++y) {
    uint8_t* row = mask.Row(y);
    for (int x = 0; x < l.width_px; ++x) row[x] = algo::LevelMask(row[x]);
  }
}

void FrameRun::StartCorners(int level) {
  const LevelPlan& l = plan_.levels()[level];
  Workspace::Level& state = workspace_.levels[level];
  state.candidates = 0;
  state.points = 0;
  if (l.strips == 0) {  // levels above may be large enough still when only one side is small
    CutLevel(level);
    return;
  }
  state.pending.store(l.strips, std::memory_order_relaxed);
  for (int strip = 0; strip < l.strips; ++strip) {
    Fork([this, level, strip] { FindCorners(level, strip); });
  }
}

void FrameRun::FindCorners(int level, int strip) {
  const LevelPlan& l = plan_.levels()[level];
  Region region = l.region;
  region.y_begin += strip * l.strip_rows;
  region.y_end = std::min(region.y_begin + l.strip_rows, l.region.y_end);
  Candidate* candidates = At<Candidate>(l.candidates) + strip * l.strip_candidates;
  int count =
      stages_.fast_corners(Image(level), region, plan_.spec().pipeline.detect.fast_arc_length,
                           job_.parameters.fast_threshold_grey, Scratch(), candidates);
  if (!job_.input->mask.empty()) {
    count = KeepUnmasked(level == 0 ? job_.input->mask : Mask(level), candidates, count);
  }
  At<int32_t>(l.strip_counts)[strip] = count;
  if (workspace_.levels[level].pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    CutCandidates(level);
  }
}

void FrameRun::CutCandidates(int level) {
  const LevelPlan& l = plan_.levels()[level];
  Workspace::Level& state = workspace_.levels[level];
  Candidate* const candidates = At<Candidate>(l.candidates);
  const int32_t* const counts = At<int32_t>(l.strip_counts);

  int lowest_score = 0;
  if (plan_.selects_by_level()) {
    ScoreHistogram histogram;
    histogram.Clear();
    for (int strip = 0; strip < l.strips; ++strip) {
      histogram.Add(candidates + strip * l.strip_candidates, counts[strip]);
    }
    // Harris responses choose the quota from twice as many.
    lowest_score = histogram.CutFor(plan_.scores_harris() ? 2 * quotas_[level] : quotas_[level]);
  }
  int count = 0;
  for (int strip = 0; strip < l.strips; ++strip) {
    count += KeepScores(candidates + strip * l.strip_candidates, counts[strip], lowest_score,
                        candidates + count);
  }
  state.candidates = count;

  if (count == 0) {
    CutLevel(level);
    return;
  }
  state.pending.store(Chunks(count, kScoreChunk), std::memory_order_relaxed);
  ForkChunks(count, kScoreChunk, [this, level](int begin, int end) {
    ScoreCandidates(level, begin, end);
    if (workspace_.levels[level].pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      CutLevel(level);
    }
  });
}

void FrameRun::ScoreCandidates(int level, int begin, int end) {
  const LevelPlan& l = plan_.levels()[level];
  const Candidate* const candidates = At<Candidate>(l.candidates);
  uint64_t* const keys = At<uint64_t>(l.keys);
  if (!plan_.scores_harris()) {
    for (int i = begin; i < end; ++i) {
      keys[i] = algo::RankKey(candidates[i].score, candidates[i].x, candidates[i].y);
    }
    return;
  }
  float responses[kScoreBlock];
  for (int block = begin; block < end; block += kScoreBlock) {
    const int count = std::min(kScoreBlock, end - block);
    stages_.harris_responses(Image(level), candidates + block, count, responses);
    for (int i = 0; i < count; ++i) {
      const Candidate& candidate = candidates[block + i];
      keys[block + i] = algo::RankKey(responses[i], candidate.x, candidate.y);
    }
  }
}

void FrameRun::CutLevel(int level) {
  const LevelPlan& l = plan_.levels()[level];
  Workspace::Level& state = workspace_.levels[level];
  if (plan_.selects_by_level()) {
    state.points = KeepBestKeys(At<uint64_t>(l.keys), state.candidates, quotas_[level]);
    StartPoints(level);
    return;
  }
  if (workspace_.pending_levels.fetch_sub(1, std::memory_order_acq_rel) == 1) CutAllLevels();
}

void FrameRun::CutAllLevels() {
  const int levels = plan_.detecting_levels();
  std::array<absl::Span<const uint64_t>, kMaxLevels> runs;
  int64_t total = 0;
  for (int level = 0; level < levels; ++level) {
    const int count = workspace_.levels[level].candidates;
    runs[level] = absl::MakeConstSpan(At<uint64_t>(plan_.levels()[level].keys), count);
    total += count;
  }
  const int64_t wanted = job_.parameters.max_features;
  uint32_t last = ~0u;
  if (total > wanted) last = LastKeptOrder(absl::MakeConstSpan(runs.data(), levels), wanted);
  for (int level = 0; level < levels; ++level) {
    Workspace::Level& state = workspace_.levels[level];
    state.points = KeepUpTo(At<uint64_t>(plan_.levels()[level].keys), state.candidates, last);
    StartPoints(level);
  }
}

void FrameRun::StartPoints(int level) {
  const LevelPlan& l = plan_.levels()[level];
  Workspace::Level& state = workspace_.levels[level];
  if (state.points == 0) return;
  uint64_t* const keys = At<uint64_t>(l.keys);
  std::sort(keys, keys + state.points);
  state.candidates = state.points;  // Gather() counts what the capacity cut away
  state.points = std::min(state.points, l.max_points);
  LevelPoint* const points = At<LevelPoint>(l.points);
  for (int i = 0; i < state.points; ++i) {
    points[i] = {static_cast<int16_t>(algo::RankKeyX(keys[i])),
                 static_cast<int16_t>(algo::RankKeyY(keys[i])), algo::RankKeyResponse(keys[i]),
                 -1.0f};
  }

  int orient_tasks = 0;
  if (plan_.orients()) orient_tasks = Chunks(state.points, kOrientChunk);
  int smooth_tasks = 0;
  if (plan_.descriptor_bytes() > 0) {
    std::memset(At<uint8_t>(l.tile_marks), 0, static_cast<size_t>(l.tile_columns) * l.tile_rows);
    for (int i = 0; i < state.points; ++i) MarkTiles(level, points[i].x, points[i].y);
    smooth_tasks = CollectBlurRuns(level);
  }
  if (orient_tasks + smooth_tasks == 0) return;
  state.pending.store(orient_tasks + smooth_tasks, std::memory_order_relaxed);
  const auto end_of_task = [this, level] {
    if (workspace_.levels[level].pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      StartDescriptors(level);
    }
  };
  if (smooth_tasks > 0) {
    const int runs = state.blur_runs;
    for (int i = 0; i < smooth_tasks; ++i) {
      const int begin = static_cast<int>(static_cast<int64_t>(runs) * i / smooth_tasks);
      const int end = static_cast<int>(static_cast<int64_t>(runs) * (i + 1) / smooth_tasks);
      Fork([this, level, begin, end, end_of_task] {
        Smooth(level, begin, end);
        end_of_task();
      });
    }
  }
  if (orient_tasks > 0) {
    ForkChunks(state.points, kOrientChunk, [this, level, end_of_task](int begin, int end) {
      Orient(level, begin, end);
      end_of_task();
    });
  }
}

void FrameRun::Orient(int level, int begin, int end) {
  stages_.intensity_centroid_angles(
      Image(level), At<LevelPoint>(plan_.levels()[level].points) + begin, end - begin);
}

void FrameRun::MarkTiles(int level, int x, int y) {
  const LevelPlan& l = plan_.levels()[level];
  uint8_t* const marks = At<uint8_t>(l.tile_marks);
  constexpr int kReach = algo::kRBriefRadiusPx;
  const int column_begin = std::max(x - kReach, 0) / kBlurTileWidthPx;
  const int column_end = std::min(x + kReach, l.width_px - 1) / kBlurTileWidthPx;
  const int row_begin = std::max(y - kReach, 0) / kBlurTileHeightPx;
  const int row_end = std::min(y + kReach, l.height_px - 1) / kBlurTileHeightPx;
  for (int column = column_begin; column <= column_end; ++column) {
    std::memset(marks + static_cast<ptrdiff_t>(column) * l.tile_rows + row_begin, 1,
                static_cast<size_t>(row_end - row_begin + 1));
  }
}

int FrameRun::CollectBlurRuns(int level) {
  const LevelPlan& l = plan_.levels()[level];
  BlurRun* const runs = At<BlurRun>(l.blur_runs);
  const int count = MakeBlurRuns(At<uint8_t>(l.tile_marks), l.tile_columns, l.tile_rows, runs);
  workspace_.levels[level].blur_runs = count;
  if (count == 0 || serial_) return std::min(count, 1);
  int64_t tiles = 0;
  for (int i = 0; i < count; ++i) tiles += runs[i].Tiles();
  return static_cast<int>(std::clamp<int64_t>(DivUp<int64_t>(tiles, kBlurTilesPerTask), 1, count));
}

void FrameRun::Smooth(int level, int run_begin, int run_end) {
  const LevelPlan& l = plan_.levels()[level];
  const BlurRun* const runs = At<BlurRun>(l.blur_runs);
  float* const scratch = reinterpret_cast<float*>(Scratch());
  for (int i = run_begin; i < run_end; ++i) {
    const Region region = {runs[i].column_begin * kBlurTileWidthPx,
                           runs[i].row_begin * kBlurTileHeightPx,
                           std::min(runs[i].column_end * kBlurTileWidthPx, l.width_px),
                           std::min(runs[i].row_end * kBlurTileHeightPx, l.height_px)};
    stages_.blur(Image(level), Blurred(level), region, scratch);
  }
}

void FrameRun::StartDescriptors(int level) {
  if (plan_.descriptor_bytes() == 0) return;
  ForkChunks(workspace_.levels[level].points, kDescribeChunk,
             [this, level](int begin, int end) { DescribePoints(level, begin, end); });
}

void FrameRun::DescribePoints(int level, int begin, int end) {
  const LevelPlan& l = plan_.levels()[level];
  stages_.describe_rbrief256(
      Blurred(level), At<LevelPoint>(l.points) + begin, end - begin,
      At<uint8_t>(l.descriptors) + static_cast<ptrdiff_t>(begin) * plan_.descriptor_bytes());
}

void FrameRun::Gather(Features* features) {
  const int levels = plan_.detecting_levels();
  const size_t capacity = static_cast<size_t>(plan_.spec().pipeline.select.capacity);
  size_t found = 0;
  for (int level = 0; level < levels; ++level) {
    const Workspace::Level& state = workspace_.levels[level];
    if (state.points > 0) found += static_cast<size_t>(state.candidates);
  }
  features->truncated = found > capacity;
  features->Resize(std::min(found, capacity));
  size_t row = 0;
  for (int level = 0; level < levels && row < features->count(); ++level) {
    const LevelPlan& l = plan_.levels()[level];
    const LevelPoint* const points = At<LevelPoint>(l.points);
    const size_t count = std::min<size_t>(static_cast<size_t>(workspace_.levels[level].points),
                                          features->count() - row);
    for (size_t i = 0; i < count; ++i) {
      features->x[row + i] = static_cast<float>(points[i].x) * l.scale;
      features->y[row + i] = static_cast<float>(points[i].y) * l.scale;
      features->size[row + i] = l.patch_size_px;
      features->angle_deg[row + i] = points[i].angle_deg;
      features->response[row + i] = points[i].response;
      features->octave[row + i] = level;
    }
    if (plan_.descriptor_bytes() > 0 && count > 0) {
      const size_t bytes = static_cast<size_t>(plan_.descriptor_bytes());
      std::memcpy(features->descriptors.data() + row * bytes, At<uint8_t>(l.descriptors),
                  count * bytes);
    }
    row += count;
  }
}

int FrameRun::Chunks(int count, int chunk) const {
  if (serial_) return std::min(count, 1);
  return DivUp(count, chunk);
}

ImageView FrameRun::Image(int level) const {
  return level == 0 ? ImageView(job_.input->image) : ImageView(WritableImage(level));
}

MutableImageView FrameRun::WritableImage(int level) const {
  const LevelPlan& l = plan_.levels()[level];
  return {At<uint8_t>(l.image), l.width_px, l.height_px, l.pitch_bytes};
}

MutableImageView FrameRun::Mask(int level) const {
  const LevelPlan& l = plan_.levels()[level];
  return {workspace_.mask_memory.data() + l.mask, l.width_px, l.height_px, l.pitch_bytes};
}

MutableImageView FrameRun::Blurred(int level) const {
  const LevelPlan& l = plan_.levels()[level];
  return {At<uint8_t>(l.blurred), l.width_px, l.height_px, l.pitch_bytes};
}

uint8_t* FrameRun::Scratch() const {
  return plan_.Scratch(tbb::this_task_arena::current_thread_index());
}

}  // namespace orbserve::cpu
