// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/work.h"

namespace orbserve::cpu {
namespace {

// Most bytes of the idle pyramids of a plan: 150 of 640 x 480 pixels, none above 49 megapixels.
constexpr size_t kMaxIdlePyramidBytes = size_t{16} << 20;
// Expected time of a frame on all threads from which on it is large. A small frame waits until the
// frames before it are done, but passes large ones. Frames at 30 a second with a deadline of 30 ms
// can wait for a few of 4 ms, and for hardly two of 10 ms. Frames of orb are large from 1280 x 720
// pixels on with one thread, 1920 x 1080 with two, 3840 x 2160 with up to nine; those of 640 x 480
// (2 ms) never are.
constexpr double kLargeFrameNs = 4e6;

}  // namespace

absl::StatusOr<std::shared_ptr<CpuPlan>> CpuPlan::Create(const PlanSpec& spec,
                                                         const KernelTarget& target, int threads,
                                                         PlanMemory memory) {
  ORBSERVE_ASSIGN_OR_RETURN(CompiledPipeline pipeline, CompilePipeline(spec));
  std::shared_ptr<CpuPlan> plan(
      new CpuPlan(std::move(pipeline), target, threads, std::move(memory)));
  ORBSERVE_RETURN_IF_ERROR(plan->CheckFrameBytes(/*has_mask=*/false));
  if (!plan->scratch_.Allocate(plan->layout_.scratch_bytes(), threads)) {
    return MakeError(
        ErrorReason::kOutOfMemory,
        absl::StrCat("no memory for the scratch of ", spec.width_px, " x ", spec.height_px, ": ",
                     plan->layout_.scratch_bytes(), " bytes a thread"));
  }
  plan->table_bytes_ = plan->TableBytes();
  plan->own_bytes_.Set(plan->scratch_.size() + plan->table_bytes_);
  return plan;
}

absl::StatusOr<size_t> CpuPlan::FrameBytesOf(const PlanSpec& spec, const KernelTarget& target,
                                             int threads) {
  ORBSERVE_ASSIGN_OR_RETURN(CompiledPipeline pipeline, CompilePipeline(spec));
  return CpuPlan(std::move(pipeline), target, threads, {}).frame_bytes(/*has_mask=*/false);
}

CpuPlan::CpuPlan(CompiledPipeline pipeline, const KernelTarget& target, int threads,
                 PlanMemory memory)
    : pipeline_(std::move(pipeline)),
      threads_(threads),
      is_large_(FrameWork(pipeline_.spec, FrameParameters()) >= kLargeFrameNs * threads),
      workspace_memory_(std::make_shared<MemoryCount>(std::move(memory.workspaces))),
      state_memory_(std::move(memory.states)),
      max_frame_bytes_(memory.max_frame_bytes),
      steps_(CompileSteps({pipeline_, target, threads})),
      own_bytes_(std::move(memory.tables)),
      workspaces_(std::make_shared<RecyclingPool<Workspace>>()),
      pyramids_(std::make_shared<RecyclingPool<KeptPyramid>>(kMaxIdlePyramidBytes)) {
  lists_ = FrameLists::Declare(pipeline_, threads, &layout_);
  for (const std::unique_ptr<Step>& step : steps_.steps) step->Declare(&layout_);
}

size_t CpuPlan::TableBytes() const {
  size_t bytes = sizeof(*this);
  for (const auto* levels : {&pipeline_.pyramid.levels, &pipeline_.pyramid.track_levels}) {
    for (const LevelGeometry& level : *levels) {
      bytes += sizeof(level) +
               (level.x_taps.capacity() + level.y_taps.capacity()) * sizeof(algo::ResizeTap);
    }
  }
  for (const std::unique_ptr<Step>& step : steps_.steps) bytes += step->table_bytes();
  return bytes;
}

absl::Status CpuPlan::CheckFrameBytes(bool has_mask) const {
  const size_t needed = frame_bytes(has_mask);
  if (needed <= static_cast<uint64_t>(max_frame_bytes_)) return absl::OkStatus();
  return MakeError(
      ErrorReason::kTooLarge,
      absl::StrCat("a frame of ", spec().width_px, " x ", spec().height_px,
                   has_mask ? " with a mask" : "", " needs ", needed,
                   " bytes of workspace; this server has room for ", max_frame_bytes_));
}

std::shared_ptr<Workspace> CpuPlan::LeaseWorkspace(bool has_mask) const {
  std::shared_ptr<Workspace> leased = workspaces_->Lease([&]() -> std::unique_ptr<Workspace> {
    if (!workspace_memory_->Fits(frame_bytes(has_mask))) return nullptr;
    auto workspace = std::make_unique<Workspace>(ArenaSlots(threads_), workspace_memory_);
    if (!workspace->memory.Allocate(std::max<size_t>(layout_.bytes(), 1))) return nullptr;
    layout_.WatchGaps(workspace->memory.data());
    workspace->CountBytes();
    return workspace;
  });
  if (leased != nullptr && has_mask && !AddMaskMemory(leased.get())) return nullptr;
  return leased;
}

std::shared_ptr<KeptPyramid> CpuPlan::LeasePyramid() const {
  return pyramids_->Lease([this]() -> std::unique_ptr<KeptPyramid> {
    auto kept = std::make_unique<KeptPyramid>(state_memory_);
    if (!kept->pyramid.Allocate(pipeline_.pyramid.track_levels)) return nullptr;
    kept->CountBytes();
    return kept;
  });
}

bool CpuPlan::AddMaskMemory(Workspace* workspace) const {
  if (workspace->mask_memory.size() > 0) return true;
  if (!workspace_memory_->Fits(layout_.mask_bytes())) return false;
  if (!workspace->mask_memory.Allocate(std::max<size_t>(layout_.mask_bytes(), 1))) return false;
  workspace->CountBytes();
  return true;
}

}  // namespace orbserve::cpu
