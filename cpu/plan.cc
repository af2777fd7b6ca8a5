// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/pyramid.h"
#include "features/errors.h"
#include "features/input_limits.h"

namespace orbserve::cpu {
namespace {

// Corner detection: some 20 to 40 microseconds a task, far above the cost of a task.
constexpr int kStripPixels = 48 * 1024;
constexpr int kMinStripRows = 16;
// Entries that fast_corners may write beyond the bound.
constexpr int64_t kCandidateSlack = 64;

constexpr size_t Aligned(size_t bytes) { return RoundUp<size_t>(bytes, AlignedBuffer::kAlignment); }

ptrdiff_t PitchFor(int width_px) {
  ptrdiff_t pitch = RoundUp(width_px, kRowAlignmentBytes);
  // Rows a multiple of 1 KiB apart would share few sets of the first cache, and stages read seven
  // or more rows at a time.
  if (pitch % 1024 == 0) pitch += kRowAlignmentBytes;
  return pitch;
}

// Reserves memory for an image of the level behind `*end`; returns where its first pixel lies. One
// row more than it has: resampling reads below a clamped end.
size_t ReserveImage(const LevelPlan& level, size_t* end) {
  const size_t first = *end + kImagePaddingBytes;
  *end = first + static_cast<size_t>(level.pitch_bytes) * (level.height_px + 1) +
         Aligned(kImagePaddingBytes);
  return first;
}

size_t Reserve(size_t bytes, size_t* end) { return std::exchange(*end, *end + Aligned(bytes)); }

ResizeAxis MakeAxis(int source_side, int destination_side) {
  ResizeAxis axis;
  axis.first.resize(destination_side);
  axis.weight.resize(destination_side);
  for (int i = 0; i < destination_side; ++i) {
    const algo::ResizeTap tap = algo::ResizeTapOf(source_side, destination_side, i);
    axis.first[i] = tap.first;
    axis.weight[i] = static_cast<uint16_t>(tap.weight);
  }
  FinishResizeAxis(&axis);
  return axis;
}

}  // namespace

absl::StatusOr<std::shared_ptr<CpuPlan>> CpuPlan::Create(const PlanSpec& spec, const Stages& stages,
                                                         int threads) {
  ORBSERVE_RETURN_IF_ERROR(spec.pipeline.Validate());
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(spec.width_px, spec.height_px));
  std::shared_ptr<CpuPlan> plan(new CpuPlan(spec, stages, threads));
  plan->LayOutLevels();
  plan->LayOutMemory();
  // oneTBB gives an arena two slots at least: in one of a single thread, the worker that takes
  // enqueued tasks has index 1.
  const size_t slots = static_cast<size_t>(std::max(threads, 2));
  // The first workspace now, so that a size that does not fit is refused here and not in a batch.
  if (!plan->scratch_.Allocate(plan->scratch_stride_ * slots) ||
      plan->LeaseWorkspace() == nullptr) {
    return MakeError(ErrorReason::kOutOfMemory,
                     absl::StrCat("no memory for the workspace of ", spec.width_px, " x ",
                                  spec.height_px, ": ", plan->workspace_bytes_, " bytes a frame"));
  }
  return plan;
}

CpuPlan::CpuPlan(const PlanSpec& spec, const Stages& stages, int threads)
    : spec_(spec),
      stages_(stages),
      threads_(threads),
      descriptor_bytes_(DescriptorBytes(spec.pipeline.describe.descriptor)),
      workspaces_(std::make_shared<RecyclingPool<Workspace>>()) {}

void CpuPlan::LayOutLevels() {
  const PipelineOptions& pipeline = spec_.pipeline;
  const int border = pipeline.select.border_px;
  for (int l = 0; l < pipeline.pyramid.levels; ++l) {
    LevelPlan level;
    level.scale = algo::LevelScale(pipeline.pyramid.scale_factor, l);
    level.inverse_scale = 1.0f / level.scale;
    level.patch_size_px = 31.0f * level.scale;
    level.width_px = algo::LevelSide(spec_.width_px, level.scale);
    level.height_px = algo::LevelSide(spec_.height_px, level.scale);
    if (level.width_px == 0 || level.height_px == 0) break;
    level.pitch_bytes = PitchFor(level.width_px);
    if (l > 0) {
      const LevelPlan& source = levels_[source_of(l)];
      level.x_axis = MakeAxis(source.width_px, level.width_px);
      level.y_axis = MakeAxis(source.height_px, level.height_px);
    }
    if (level.width_px > 2 * border && level.height_px > 2 * border) {
      level.region = {border, border, level.width_px - border, level.height_px - border};
      const int rows = level.region.y_end - level.region.y_begin;
      // Each strip scores a row more on either side, so a single thread has one.
      level.strip_rows =
          threads_ == 1 ? rows
                        : std::clamp(kStripPixels / (level.region.x_end - level.region.x_begin),
                                     std::min(kMinStripRows, rows), rows);
      level.strips = DivUp(rows, level.strip_rows);
      level.strip_candidates =
          MaxCandidates({0, 0, level.region.x_end - level.region.x_begin, level.strip_rows}) +
          kCandidateSlack;
      level.max_points = static_cast<int>(
          std::min<int64_t>(pipeline.select.capacity, level.strip_candidates * level.strips));
      detecting_levels_ = l + 1;
    }
    level.tile_columns = DivUp(level.width_px, kBlurTileWidthPx);
    level.tile_rows = DivUp(level.height_px, kBlurTileHeightPx);
    levels_.push_back(std::move(level));
  }
}

void CpuPlan::LayOutMemory() {
  size_t end = 0;
  size_t mask_end = 0;
  size_t scratch = 0;
  for (size_t l = 0; l < levels_.size(); ++l) {
    LevelPlan& level = levels_[l];
    if (l > 0) {
      level.image = ReserveImage(level, &end);
      level.mask = ReserveImage(level, &mask_end);
      scratch =
          std::max<size_t>(scratch, (2 * RoundUp(level.width_px, 64) + 64) * sizeof(uint16_t));
    }
    if (descriptor_bytes_ > 0) {
      level.blurred = ReserveImage(level, &end);
      const size_t tiles = static_cast<size_t>(level.tile_columns) * level.tile_rows;
      level.tile_marks = Reserve(tiles, &end);
      level.blur_runs = Reserve(tiles * sizeof(BlurRun), &end);
      const Region largest = {0, 0, kMaxBlurRunColumns * kBlurTileWidthPx,
                              std::min(kMaxBlurRunTiles, level.tile_rows) * kBlurTileHeightPx};
      scratch = std::max<size_t>(scratch, BlurScratchFloats(largest) * sizeof(float));
    }
    if (level.strips > 0) {
      const size_t candidates = static_cast<size_t>(level.strip_candidates) * level.strips;
      level.strip_counts = Reserve(level.strips * sizeof(int32_t), &end);
      level.candidates = Reserve(candidates * sizeof(Candidate), &end);
      level.keys = Reserve(candidates * sizeof(uint64_t), &end);
      level.points = Reserve(level.max_points * sizeof(LevelPoint), &end);
      level.descriptors = Reserve(static_cast<size_t>(level.max_points) * descriptor_bytes_, &end);
      scratch = std::max<size_t>(scratch, FastScratchBytes(level.region));
    }
  }
  workspace_bytes_ = std::max<size_t>(end, 1);
  mask_bytes_ = std::max<size_t>(mask_end, 1);
  scratch_stride_ = Aligned(scratch) + AlignedBuffer::kAlignment;
}

size_t CpuPlan::size_bytes() const {
  return scratch_.size() + workspaces_->made() * workspace_bytes_;
}

std::shared_ptr<Workspace> CpuPlan::LeaseWorkspace() const {
  return workspaces_->Lease([this]() -> std::unique_ptr<Workspace> {
    auto workspace = std::make_unique<Workspace>();
    if (!workspace->memory.Allocate(workspace_bytes_)) return nullptr;
    return workspace;
  });
}

}  // namespace orbserve::cpu
