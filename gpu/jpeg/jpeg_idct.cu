// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// IdctKernel (gpu/jpeg/jpeg_kernels.cc): coefficients to pixels.

#include <cstdint>

#include "features/algo/jpeg_idct.h"
#include "features/host_device.h"
#include "gpu/jpeg/jpeg_device.cuh"
#include "gpu/jpeg/jpeg_kernels.h"

namespace orbserve::gpu {
namespace {

constexpr int kIdctThreads = 256;  // 8 for each block of 8 x 8
static_assert(kIdctThreads / 8 == kJpegDcGroup);

// Eight numbers of 16 bits, in one load or store.
union Eight {
  uint4 all;
  int16_t number[8];
  uint16_t unsigned_number[8];
};

// This thread's share of the DC differences before block `first`, which begins a group, since the
// restart interval began.
__device__ __forceinline__ int DcShareBefore(const JpegFileOnDevice& file, int first,
                                             int interval) {
  const int begin = first - first % interval;
  const int first_group = DivUp(begin, kJpegDcGroup);
  const int thread = static_cast<int>(threadIdx.x);
  const int32_t* const dc_sums = JpegWork(file.work, file.pieces).dc_sums;
  int share = 0;
  for (int i = first_group + thread; i < first / kJpegDcGroup; i += kIdctThreads) {
    share += dc_sums[i];
  }
  // The interval may begin within a group.
  const int block = begin + thread;
  if (block < min(first_group * kJpegDcGroup, first)) {
    share += file.coefficients[static_cast<int64_t>(block) * kJpegBlockCoefficients];
  }
  return share;
}

__global__ __launch_bounds__(kIdctThreads) void IdctKernel(
    const __grid_constant__ JpegBatch batch) {
  // Numbers between the passes. A column more than there is, so that all lanes of a warp use
  // different banks.
  __shared__ int32_t numbers_of[kJpegDcGroup][8][9];
  __shared__ int32_t dcs[kJpegDcGroup];                         // differences, then values
  __shared__ int32_t shares_before[kIdctThreads / kWarpLanes];  // [warp]
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const JpegUpload& upload = *file.upload;
  const int block_here = static_cast<int>(threadIdx.x) / 8;
  const int line = static_cast<int>(threadIdx.x) % 8;  // a column, then a row
  const int first = static_cast<int>(blockIdx.x) * kJpegDcGroup;
  if (first >= upload.luma_blocks) return;
  const int block = first + block_here;
  const bool exists = block < upload.luma_blocks;
  const int interval = upload.interval_blocks / file.mcu.blocks * file.mcu.luma_blocks;
  const int mcus_across = upload.mcus_across;
  const int luma_across = upload.luma_across;
  const int luma_down = upload.luma_down;
  const int width_px = upload.width_px;
  const int height_px = upload.height_px;
  uint8_t* const image = upload.image;
  const int64_t pitch_bytes = upload.pitch_bytes;
  Eight quantisers;
  quantisers.all = reinterpret_cast<const uint4*>(upload.quantisers)[line];
  int32_t(&here)[8][9] = numbers_of[block_here];
  int32_t numbers[8];
  Eight coefficients = {};
  AwaitKernelBefore();
  if (exists) {
    coefficients.all = reinterpret_cast<const uint4*>(
        file.coefficients)[static_cast<int64_t>(block) * (kJpegBlockCoefficients / 8) + line];
  }
  if (line == 0) dcs[block_here] = coefficients.number[0];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int share = WarpSum(DcShareBefore(file, first, interval));
  if (lane == 0) shares_before[warp] = share;
  __syncthreads();  // for differences and shares
  if (warp == 0) {
    const int before = WarpSum(lane < kIdctThreads / kWarpLanes ? shares_before[lane] : 0);
    const Sum own = {dcs[lane], (first + lane) % interval == 0 ? 1 : 0};
    dcs[lane] = Joined({before, 0}, SumUpToLane(own, lane)).value;
  }
  __syncthreads();  // for the values
  if (exists) {
    bool decided = true;
    if (line == 0) {
      coefficients.number[0] = static_cast<int16_t>(dcs[block_here]);
      decided = coefficients.number[0] == dcs[block_here];
    }
#pragma unroll
    for (int y = 0; y < 8; ++y) {
      numbers[y] = int32_t{coefficients.number[y]} * quantisers.unsigned_number[y];
      decided = decided && numbers[y] <= kIdctMaxInput && numbers[y] >= -kIdctMaxInput;
    }
    IdctPass(numbers, 1, kIdctColumnShift);
#pragma unroll
    for (int y = 0; y < 8; ++y) {
      decided = decided && numbers[y] <= kIdctMaxInput && numbers[y] >= -kIdctMaxInput;
      here[y][line] = numbers[y];
    }
    if (!decided) *upload.undecided_there = 1;
  }
  __syncwarp();  // for the columns of the block, which are this warp's
  const int luma_in_mcu = luma_across * luma_down;
  const int mcu = block / luma_in_mcu;
  const int in_mcu = block - mcu * luma_in_mcu;
  const int mcu_y = mcu / mcus_across;
  const int mcu_x = mcu - mcu_y * mcus_across;
  const int x = 8 * (mcu_x * luma_across + in_mcu % luma_across);
  const int y = 8 * (mcu_y * luma_down + in_mcu / luma_across) + line;
  if (!exists || x >= width_px || y >= height_px) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) numbers[i] = here[line][i];
  IdctPass(numbers, 1, kIdctRowShift);
  uint32_t packed[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    packed[i / 4] |= static_cast<uint32_t>(Clamp(numbers[i] + 128, 0, 255)) << (8 * (i % 4));
  }
  *reinterpret_cast<uint2*>(image + y * pitch_bytes + x) = make_uint2(packed[0], packed[1]);
}

}  // namespace

absl::Status LaunchJpegIdct(const JpegBatch& batch, cudaStream_t stream) {
  return LaunchForFiles(IdctKernel, "IdctKernel", batch.luma_blocks, kJpegDcGroup, kIdctThreads,
                        /*follows=*/true, batch, stream);
}

}  // namespace orbserve::gpu
