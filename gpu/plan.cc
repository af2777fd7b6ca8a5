// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/pyramid.h"
#include "features/errors.h"
#include "features/work.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// A frame is large from so many pixels of all levels on, for each multiprocessor: about two
// milliseconds of a device that has nothing else to do. So are 4000 x 3000 pixels of orb on an
// H200, and 1920 x 1080 on a device of 16 multiprocessors.
constexpr double kLargePixelsPerMultiprocessor = 250'000.0;

// Bytes of the geometry, with its resize taps.
size_t HostBytes(const CompiledPipeline& pipeline) {
  size_t bytes = sizeof(pipeline);
  for (const auto* levels : {&pipeline.pyramid.levels, &pipeline.pyramid.track_levels}) {
    bytes += levels->capacity() * sizeof(LevelGeometry);
    for (const LevelGeometry& level : *levels) {
      bytes += (level.x_taps.capacity() + level.y_taps.capacity()) * sizeof(algo::ResizeTap);
    }
  }
  return bytes;
}

}  // namespace

GpuPlan::GpuPlan(CompiledPipeline pipeline, const Limits& limits)
    : id_(NextId()),
      pipeline_(std::move(pipeline)),
      slot_(SlotLayout::For(pipeline_.spec.width_px, pipeline_.spec.height_px)),
      track_pyramid_(TrackPyramid::For(pipeline_.spec.width_px, pipeline_.spec.height_px,
                                       pipeline_.spec.track_levels)),
      reads_in_place_(limits.reads_in_place),
      compiled_(CompileSteps(pipeline_, reads_in_place_)),
      max_batch_frames_(limits.max_batch_frames),
      is_large_(PixelsOf(pipeline_.spec) >=
                kLargePixelsPerMultiprocessor * limits.multiprocessors) {}

absl::StatusOr<std::shared_ptr<GpuPlan>> GpuPlan::OnNoDevice(const PlanSpec& spec,
                                                             const Limits& limits) {
  ORBSERVE_ASSIGN_OR_RETURN(CompiledPipeline pipeline, CompilePipeline(spec));
  return std::shared_ptr<GpuPlan>(new GpuPlan(std::move(pipeline), limits));
}

absl::StatusOr<size_t> GpuPlan::FrameBytesOf(const PlanSpec& spec, const Limits& limits) {
  ORBSERVE_ASSIGN_OR_RETURN(const std::shared_ptr<GpuPlan> plan, OnNoDevice(spec, limits));
  return plan->LargestArenaBytes({ClassOfFrames(1), /*masks=*/true});
}

absl::StatusOr<std::shared_ptr<GpuPlan>> GpuPlan::Create(const PlanSpec& spec,
                                                         const Limits& limits) {
  const TraceRange trace("make plan");
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<GpuPlan> plan, OnNoDevice(spec, limits));

  // Any frame may come with a mask.
  const auto needed = [&](int batch_class) {
    return plan->LargestArenaBytes({batch_class, /*masks=*/true});
  };
  int batch_class = ClassOfFrames(limits.max_batch_frames);
  while (batch_class > 0 && needed(batch_class) > limits.arena_bytes) --batch_class;
  if (needed(batch_class) > limits.arena_bytes) {
    return MakeError(ErrorReason::kTooLarge,
                     absl::StrCat("a frame of ", spec.width_px, " x ", spec.height_px,
                                  " with its mask needs ", needed(batch_class),
                                  " bytes of device memory; a lane may have ", limits.arena_bytes));
  }
  plan->max_batch_frames_ = std::min(limits.max_batch_frames, FramesOfClass(batch_class));

  for (size_t i = 0; i < limits.devices.size(); ++i) {
    ORBSERVE_RETURN_IF_ERROR(UseDevice(limits.devices[i]));
    for (const StepList::PlacedStep& placed : plan->compiled_.list.steps()) {
      ORBSERVE_RETURN_IF_ERROR(placed.step->AddDevice(limits.devices[i], limits.budgets[i]));
    }
  }
  return plan;
}

size_t GpuPlan::LargestArenaBytes(const GraphKind& kind) const {
  return ArenaBytesFor(
      kind, static_cast<size_t>(kind.frames()) * FrameRoom::Largest(pipeline_).list_bytes());
}

size_t GpuPlan::ArenaBytesWanting(const GraphKind& kind, int max_features) const {
  FrameParameters parameters;
  parameters.max_features = max_features;
  const FrameRoom room =
      FrameRoom::ForDetection(pipeline_, parameters, pipeline_.CutsFor(parameters));
  return ArenaBytesFor(kind, static_cast<size_t>(kind.frames()) * room.list_bytes());
}

StepContext GpuPlan::ContextFor(const GraphKind& kind, size_t device, const DeviceTables& tables,
                                uint8_t* arena) const {
  StepContext context;
  context.kind = kind;
  context.layout = &compiled_.layout;
  context.arena = arena;
  context.tables = &tables;
  context.device_index = device;
  // In a large batch, blocks that wait take room from those that could run. Events of a timed graph
  // lie between kernels.
  context.overlaps = tables.overlaps_kernels && kind.batch_class == 0 && !kind.timed;
  context.frames = {reinterpret_cast<const FrameParams*>(context.At(compiled_.params)),
                    reinterpret_cast<FrameCounters*>(context.At(compiled_.counters)), 0,
                    kind.frames()};
  return context;
}

size_t GpuPlan::size_bytes() const {
  size_t bytes = HostBytes(pipeline_) +
                 static_cast<size_t>(graph_meter_->device_bytes() + graph_meter_->host_bytes());
  for (const StepList::PlacedStep& placed : compiled_.list.steps()) {
    bytes += placed.step->device_bytes() + placed.step->host_bytes();
  }
  return bytes;
}

}  // namespace orbserve::gpu
