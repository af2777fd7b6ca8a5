// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// ResolveKernel (gpu/jpeg/jpeg_kernels.cc): follows the links between walks.

#include <cstdint>

#include "gpu/jpeg/jpeg_device.cuh"
#include "gpu/jpeg/jpeg_kernels.h"

namespace orbserve::gpu {
namespace {

constexpr int kResolveThreads = kJpegChunkPieces;

__global__ __launch_bounds__(kResolveThreads) void ResolveKernel(
    const __grid_constant__ JpegBatch batch) {
  // At first [piece][walk of the piece before]: the walk of this piece that it becomes. Then
  // [piece][walk that enters the run]: the walk that enters the piece.
  alignas(16) __shared__ uint8_t links[kResolveThreads][kJpegWalks];
  alignas(16) __shared__ uint16_t sums[kResolveThreads][kJpegWalks];
  __shared__ JpegRunWalks runs[kJpegChunkRuns];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const JpegWork work(file.work, file.pieces);
  const int chunk = static_cast<int>(blockIdx.x);
  if (chunk * kJpegChunkPieces >= file.pieces) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  const int warp = thread / kWarpLanes;
  const int piece = chunk * kJpegChunkPieces + thread;
  const bool exists = piece < file.pieces;
  const uint32_t begin = exists ? BeginsOf(file)[piece] : 0;
  const uint32_t begin_of_next = exists ? BeginsOf(file)[piece + 1] : 0;
  BeginNextKernel();
  AwaitKernelBefore();
  if (exists) {
    const int64_t row = static_cast<int64_t>(piece) * kJpegWalks;
    CopyRow<kJpegWalks>(work.links + row, links[thread]);
    CopyRow<kJpegWalks * sizeof(uint16_t)>(work.sums + row, sums[thread]);
  }
  const uint32_t firsts = __ballot_sync(kFullWarp, IsFirst(begin));
  const uint32_t lasts = __ballot_sync(kFullWarp, IsFirst(begin_of_next));
  const int run_pieces = __popc(__ballot_sync(kFullWarp, exists));
  __syncwarp();  // for the rows of the run, which are this warp's
  int walk = lane;
  int blocks = 0;
  for (int i = 0; i < run_pieces; ++i) {
    const int row = warp * kJpegRunPieces + i;
    if ((firsts >> i & 1) != 0) walk = blocks = 0;
    if (walk != kJpegNoWalk && (lasts >> i & 1) == 0) blocks += sums[row][walk];
    const int behind = links[row][walk] & kJpegNoWalk;
    __syncwarp();  // until all have read the row
    links[row][lane] = static_cast<uint8_t>(walk);
    walk = behind;
  }
  JpegRunWalks* const run = &runs[warp];
  run->behind[lane] = static_cast<uint8_t>(walk);
  run->blocks[lane] = blocks;
  if (lane == 0) run->intervals = __popc(firsts);
  __syncwarp();  // for the run and its rows
  if (exists) {
    CopyRow<kJpegWalks>(links[thread], work.links + static_cast<int64_t>(piece) * kJpegWalks);
  }
  constexpr int kRecordWords = sizeof(JpegRunWalks) / sizeof(uint4);
  if (run_pieces > 0 && lane < kRecordWords) {
    reinterpret_cast<uint4*>(&work.runs[chunk * kJpegChunkRuns + warp])[lane] =
        reinterpret_cast<const uint4*>(run)[lane];
  }
  __syncthreads();  // for the runs
  if (warp == 0) {
    const int run_count =
        DivUp(min(file.pieces - chunk * kJpegChunkPieces, kJpegChunkPieces), kJpegRunPieces);
    JpegRunWalks* const whole = &work.chunks[chunk];
    Sum sum = {0, 0};
    walk = lane;
    for (int i = 0; i < run_count; ++i) {
      sum = Joined(sum, {runs[i].blocks[walk], runs[i].intervals});
      walk = runs[i].behind[walk];
    }
    whole->behind[lane] = static_cast<uint8_t>(walk);
    whole->blocks[lane] = sum.value;
    if (lane == 0) whole->intervals = sum.begins;
  }
}

}  // namespace

absl::Status LaunchJpegResolving(const JpegBatch& batch, cudaStream_t stream) {
  return LaunchForFiles(ResolveKernel, "ResolveKernel", batch.pieces, kJpegChunkPieces,
                        kResolveThreads, /*follows=*/true, batch, stream);
}

}  // namespace orbserve::gpu
