// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/pyramid.h"
#include "features/errors.h"
#include "features/input_limits.h"
#include "gpu/kernels/describe.h"
#include "gpu/kernels/harris.h"
#include "gpu/kernels/pyramid.h"
#include "gpu/kernels/rank.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kArenaGranule = size_t{16} << 20;

size_t Reserve(size_t bytes, size_t* end) {
  return std::exchange(*end, *end + RoundUp(bytes, kAlignment));
}

void AppendTaps(int source_side, int destination_side, std::vector<ResizeEntry>* table) {
  for (int i = 0; i < RoundUp(destination_side, kResizeEntryGroup); ++i) {
    const algo::ResizeTap tap =
        algo::ResizeTapOf(source_side, destination_side, std::min(i, destination_side - 1));
    ResizeEntry entry;
    entry.first = static_cast<uint16_t>(tap.first);
    entry.weight = static_cast<uint16_t>(tap.weight);
    entry.next = tap.first + 1 < source_side ? 1 : 0;
    table->push_back(entry);
  }
}

}  // namespace

int ClassOfFrames(int frames) {
  int batch_class = 0;
  while (FramesOfClass(batch_class) < frames) ++batch_class;
  return batch_class;
}

size_t ArenaBytes(size_t needed, size_t limit) {
  return std::max(needed, std::min(RoundUp(needed, kArenaGranule), limit));
}

GpuPlan::GpuPlan(const PlanSpec& spec)
    : spec_(spec),
      slot_(SlotLayout::For(spec.width_px, spec.height_px)),
      descriptor_bytes_(DescriptorBytes(spec.pipeline.describe.descriptor)) {}

absl::StatusOr<std::shared_ptr<GpuPlan>> GpuPlan::Create(const PlanSpec& spec,
                                                         const Limits& limits) {
  const TraceRange trace("make plan");
  ORBSERVE_RETURN_IF_ERROR(spec.pipeline.Validate());
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(spec.width_px, spec.height_px));
  std::shared_ptr<GpuPlan> plan(new GpuPlan(spec));
  std::vector<ResizeEntry> table;
  plan->LayOutLevels(&table);

  // Any frame may come with a mask.
  const auto needed = [&](int batch_class) {
    return plan->Layout({batch_class, /*masks=*/true}).total;
  };
  int batch_class = ClassOfFrames(limits.max_batch_frames);
  while (batch_class > 0 && needed(batch_class) > limits.arena_bytes) --batch_class;
  if (needed(batch_class) > limits.arena_bytes) {
    return MakeError(ErrorReason::kOutOfMemory,
                     absl::StrCat("a frame of ", spec.width_px, " x ", spec.height_px,
                                  " with its mask needs ", needed(batch_class),
                                  " bytes of device memory; a lane may have ", limits.arena_bytes));
  }
  plan->max_batch_frames_ = std::min(limits.max_batch_frames, FramesOfClass(batch_class));

  for (size_t i = 0; i < limits.devices.size(); ++i) {
    ORBSERVE_RETURN_IF_ERROR(UseDevice(limits.devices[i]));
    ORBSERVE_ASSIGN_OR_RETURN(
        DeviceBuffer taps,
        DeviceBuffer::CreateCopyOf(
            limits.devices[i],
            {reinterpret_cast<const uint8_t*>(table.data()), table.size() * sizeof(table[0])},
            limits.budgets[i]));
    plan->taps_.push_back(std::move(taps));
  }
  plan->lane_graphs_.resize(limits.devices.size() * static_cast<size_t>(limits.lanes_per_device));
  return plan;
}

void GpuPlan::LayOutLevels(std::vector<ResizeEntry>* table) {
  const PipelineOptions& pipeline = spec_.pipeline;
  const int border = pipeline.select.border_px;
  BatchView& view = geometry_;
  view.border_px = border;
  int64_t pyramid_bytes = kImagePaddingBytes;
  int64_t corners = 0;
  for (int l = 0; l < pipeline.pyramid.levels; ++l) {
    LevelGeometry level;
    level.scale = algo::LevelScale(pipeline.pyramid.scale_factor, l);
    level.inverse_scale = 1.0f / level.scale;
    level.patch_size_px = 31.0f * level.scale;
    level.width_px = algo::LevelSide(spec_.width_px, level.scale);
    level.height_px = algo::LevelSide(spec_.height_px, level.scale);
    if (level.width_px == 0 || level.height_px == 0) break;

    LevelLayout& layout = view.level[l];
    layout = {};
    layout.width_px = level.width_px;
    layout.height_px = level.height_px;
    layout.scale = level.scale;
    layout.pitch_bytes = l == 0 ? slot_.pitch_bytes : RoundUp(level.width_px, kRowAlignmentBytes);
    if (l > 0) {
      layout.image_offset = pyramid_bytes;
      pyramid_bytes +=
          static_cast<int64_t>(layout.pitch_bytes) * level.height_px + kImagePaddingBytes;
      const LevelGeometry& source =
          pipeline.pyramid.source == PyramidSource::kLevelZero ? levels_[0] : levels_.back();
      layout.x_taps = static_cast<int32_t>(table->size());
      AppendTaps(source.width_px, level.width_px, table);
      layout.y_taps = static_cast<int32_t>(table->size());
      AppendTaps(source.height_px, level.height_px, table);
    }
    if (level.width_px > 2 * border && level.height_px > 2 * border) {
      layout.detect = 1;
      layout.corner_capacity =
          (level.width_px - 2 * border + 1) / 2 * ((level.height_px - 2 * border + 1) / 2);
      detecting_levels_ = l + 1;
    }
    layout.corner_offset = corners;
    corners += RoundUp(layout.corner_capacity, 8);  // four scores are read at a time
    levels_.push_back(level);
  }
  view.levels = detecting_levels_;
  view.pyramid_stride = RoundUp<int64_t>(pyramid_bytes, kAlignment);
  view.corner_stride = corners;
}

// Tall tiles look at fewer rows twice; low ones fill a device with little work: the tallest of
// which there are eight for each multiprocessor of the largest devices, as measured on an H200.
int GpuPlan::TileRows(int frames) const {
  constexpr int64_t kEnoughTiles = int64_t{8} * 132;
  constexpr int kFewestRows = 6;
  for (int rows = kMaxFastTileRows; rows > kFewestRows; rows -= 8) {
    BatchView view = geometry_;
    LayOutFastTiles(rows, &view);
    if (static_cast<int64_t>(view.tiles_per_frame) * frames >= kEnoughTiles) return rows;
  }
  return kFewestRows;
}

ArenaLayout GpuPlan::Layout(const GraphKind& kind) const {
  const auto frames = static_cast<size_t>(FramesOfClass(kind.batch_class));
  const auto corners = static_cast<size_t>(geometry_.corner_stride);
  ArenaLayout layout;
  size_t end = 0;
  layout.params = Reserve(frames * sizeof(FrameParams), &end);
  layout.counters = Reserve(frames * sizeof(FrameCounters), &end);
  layout.input = Reserve(frames * slot_.image_bytes * (kind.masks ? 2 : 1), &end);
  layout.pyramid = Reserve(frames * static_cast<size_t>(geometry_.pyramid_stride), &end);
  if (kind.masks) {
    layout.mask_pyramid = Reserve(frames * static_cast<size_t>(geometry_.pyramid_stride), &end);
  }
  layout.corner_position = Reserve(frames * corners * sizeof(uint32_t), &end);
  layout.corner_score = Reserve(frames * corners, &end);
  layout.survivors = Reserve(frames * corners * sizeof(uint64_t), &end);
  layout.ranked = Reserve(frames * kMaxLevels * kMaxRanked * sizeof(uint64_t), &end);
  layout.total = end;
  return layout;
}

BatchView GpuPlan::View(const GraphKind& kind, size_t device, uint8_t* arena) const {
  const ArenaLayout layout = Layout(kind);
  BatchView view = geometry_;
  view.params = reinterpret_cast<const FrameParams*>(arena + layout.params);
  view.counters = reinterpret_cast<FrameCounters*>(arena + layout.counters);
  view.input = arena + layout.input;
  view.pyramid = arena + layout.pyramid;
  view.mask_pyramid = kind.masks ? arena + layout.mask_pyramid : nullptr;
  view.corner_position = reinterpret_cast<uint32_t*>(arena + layout.corner_position);
  view.corner_score = arena + layout.corner_score;
  view.survivors = reinterpret_cast<uint64_t*>(arena + layout.survivors);
  view.ranked = reinterpret_cast<uint64_t*>(arena + layout.ranked);
  view.taps = reinterpret_cast<const ResizeEntry*>(taps_[device].data());
  view.frame_count = FramesOfClass(kind.batch_class);
  LayOutFastTiles(TileRows(view.frame_count), &view);
  return view;
}

absl::Status GpuPlan::Enqueue(const GraphKind& kind, size_t device, const DeviceTables& tables,
                              uint8_t* arena, const Streams& streams) const {
  const PipelineOptions& pipeline = spec_.pipeline;
  const BatchView view = View(kind, device, arena);
  const int last_level = LastLevel(kind);

  FastParams fast = {};
  fast.batch = view;
  fast.arc_length = pipeline.detect.fast_arc_length;
  switch (pipeline.detect.candidate_test) {
    case CandidateTest::kAutomatic:
      fast.test = tables.default_test;
      break;
    case CandidateTest::kBinaryEncoding:
      fast.test = CornerTest::kBinaryEncoding;
      break;
    case CandidateTest::kBitTable:
      fast.test = CornerTest::kBitTable;
      break;
  }
  fast.bit_table = tables.bit_tables + (fast.arc_length - 9) * kBitTableWords;

  // Level 0 is searched while the pyramid is made.
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventRecord(streams.forked, streams.main));
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(streams.side, streams.forked, 0));
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(view.counters, 0,
                      static_cast<size_t>(view.frame_count) * sizeof(FrameCounters), streams.side));
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventRecord(streams.cleared, streams.side));
  if (detecting_levels_ > 0) {
    fast.first_level = 0;
    fast.last_level = 0;
    ORBSERVE_RETURN_IF_ERROR(LaunchFastCorners(fast, streams.side));
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventRecord(streams.joined, streams.side));

  for (const bool masks : {false, true}) {
    if (masks && !kind.masks) break;
    ResizeParams resize = {};
    resize.batch = view;
    resize.masks = masks;
    if (pipeline.pyramid.source == PyramidSource::kLevelZero) {
      resize.source_level = 0;
      resize.first_level = 1;
      resize.last_level = last_level;
      ORBSERVE_RETURN_IF_ERROR(LaunchResize(resize, streams.main));
    } else {
      for (int l = 1; l <= last_level; ++l) {
        resize.source_level = l - 1;
        resize.first_level = l;
        resize.last_level = l;
        ORBSERVE_RETURN_IF_ERROR(LaunchResize(resize, streams.main));
      }
    }
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(streams.main, streams.cleared, 0));
  if (detecting_levels_ > 1) {
    fast.first_level = 1;
    fast.last_level = detecting_levels_ - 1;
    ORBSERVE_RETURN_IF_ERROR(LaunchFastCorners(fast, streams.main));
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(streams.main, streams.joined, 0));
  if (detecting_levels_ > 0) {
    ORBSERVE_RETURN_IF_ERROR(LaunchSurvivors({view, harris()}, streams.main));
    ORBSERVE_RETURN_IF_ERROR(LaunchRank({view, !selects_by_level()}, streams.main));
  }
  DescribeParams describe = {};
  describe.batch = view;
  describe.pattern = tables.pattern;
  describe.orient = orients();
  describe.describe = descriptor_bytes_ > 0;
  return LaunchDescribe(describe, streams.main);
}

size_t GpuPlan::size_bytes() const {
  size_t bytes = 0;
  for (const DeviceBuffer& taps : taps_) bytes += taps.size_bytes();
  return bytes;
}

}  // namespace orbserve::gpu
