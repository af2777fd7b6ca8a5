// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: keyed corners of the levels of each frame. Out: the best of every cell of one grid for all
// levels, as algo::CellKey() (features/algo/cell.h).
// Source: B. Nagy, P. Foehn & D. Scaramuzza, "Faster than FAST: GPU-accelerated frontend for
// high-speed VIO", IROS 2020, sec. II-C.
//
// A thread takes one corner and offers its key to its cell by an atomic minimum. Keys differ, so
// the winner does not depend on the order of arrival.

#include "gpu/steps/suppress/cell.h"

#include "features/algo/order.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/level_share.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarpsPerBlock = 8;

__global__ __launch_bounds__(kWarpsPerBlock* kWarpLanes) void CellKernel(
    const __grid_constant__ CellParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  if (params.frames.params[frame_index].mode != FrameMode::kDetect) return;
  const FrameCounters& counters = params.frames.counters[frame_index];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  // Lane l knows level l.
  const int corners = lane < params.keys.levels ? counters.corners[lane] : 0;
  const ScaledGrid& cells = params.winners.cells;
  auto* const winners = reinterpret_cast<unsigned long long*>(params.winners.key) +
                        static_cast<int64_t>(frame_index) * cells.grid.count();
  const uint64_t* __restrict__ frame_keys = params.keys.key + frame_index * params.keys.stride;
  const LevelShare share = ShareOfLevel(DivUp(corners, kWarpLanes));
  const int step = static_cast<int>(gridDim.x) * kWarpsPerBlock;
  for (int i = static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp; i < share.total; i += step) {
    const int l = LevelOf(share, i);
    const int count = __shfl_sync(kFullWarp, corners, l);
    const int mine = (i - __shfl_sync(kFullWarp, share.begin, l)) * kWarpLanes + lane;
    if (mine >= count) continue;
    const uint64_t key = frame_keys[params.keys.offset[l] + mine];
    const int x = algo::RankKeyX(key);
    const int y = algo::RankKeyY(key);
    const float scale = cells.scale[l];
    atomicMin(winners + algo::CellOf(cells.grid, x, y, scale),
              static_cast<unsigned long long>(
                  algo::CellKey(cells.grid, algo::RankKeyResponse(key), l, x, y, scale)));
  }
}

}  // namespace

ScaledGrid ScaledGrid::Of(const CompiledPipeline& pipeline) {
  const SuppressOptions& suppress = pipeline.spec.pipeline.suppress;
  ScaledGrid cells = {};
  cells.grid = algo::CellGridOf(pipeline.spec.width_px, pipeline.spec.height_px,
                                suppress.cell_width_px, suppress.cell_height_px);
  for (int l = 0; l < pipeline.level_count(); ++l) cells.scale[l] = pipeline.level(l).scale;
  return cells;
}

CellWinnerBuffers::CellWinnerBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout)
    : cells_(ScaledGrid::Of(pipeline)),
      winners_(layout->Add("cell winners",
                           static_cast<size_t>(cells_.grid.count()) * sizeof(uint64_t))) {}

absl::Status LaunchCells(const CellParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  // 32 warps a multiprocessor, all at once; the loop takes the rest. Frames of a large batch get at
  // least half a block per multiprocessor.
  const int blocks = Max(4 * params.multiprocessors / frames, DivUp(params.multiprocessors, 2));
  const dim3 grid(blocks, frames);
  CellKernel<<<grid, kWarpsPerBlock * kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("CellKernel");
}

absl::Status CellStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (offered_ && SearchOffersToCells(context.kind)) return absl::OkStatus();
  return LaunchCells(
      {context.frames, keys_.At(context), winners_.At(context), context.tables->multiprocessors},
      stream);
}

}  // namespace orbserve::gpu
