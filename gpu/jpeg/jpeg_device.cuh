// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The kernels that decode JPEG files share this: places in a file, its tables, sums over a warp.
// With JpegBatch::overlaps they overlap: each loads tables and data of the file before it awaits
// the one before it.

#ifndef ORBSERVE_GPU_JPEG_JPEG_DEVICE_CUH_
#define ORBSERVE_GPU_JPEG_JPEG_DEVICE_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "gpu/jpeg/jpeg_kernels.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {

__device__ __forceinline__ bool IsFirst(uint32_t begin) { return (begin & kJpegFirstPiece) != 0; }
__device__ __forceinline__ uint32_t BitOf(uint32_t begin) { return (begin & ~kJpegFirstPiece) * 8; }

// Keeps a value in registers that the compiler would load from the arguments again and again.
// Pointers lead to global memory.
__device__ __forceinline__ uint32_t InRegister(uint32_t value) {
  asm("" : "+r"(value));
  return value;
}
template <typename T>
__device__ __forceinline__ T* InRegister(T* value) {
  asm("" : "+l"(value));
  __builtin_assume(__isGlobal(value));
  return value;
}
__device__ __forceinline__ JpegMcu InRegister(const JpegMcu& mcu) {
  const uint32_t blocks = InRegister(uint32_t{mcu.blocks});
  const uint32_t pairs = InRegister(uint32_t{mcu.pairs});
  return {static_cast<uint8_t>(blocks), mcu.luma_blocks, static_cast<uint16_t>(pairs)};
}

__device__ __forceinline__ const uint32_t* BeginsOf(const JpegFileOnDevice& file) {
  return reinterpret_cast<const uint32_t*>(file.upload) + file.begins_offset;
}
__device__ __forceinline__ const uint32_t* WordsOf(const JpegFileOnDevice& file) {
  return reinterpret_cast<const uint32_t*>(file.upload) + file.words_offset;
}

// Words as WalkJpeg() and JpegBits ask for them.
struct WordsInGlobal {
  const uint32_t* all;
  __device__ __forceinline__ uint32_t operator()(uint32_t word) const { return all[word]; }
};

// Copies the first `kBytes` of the tables to shared memory. __syncthreads() must come before their
// use.
template <int kThreads, size_t kBytes>
__device__ __forceinline__ void LoadTables(const JpegUpload& file, void* tables) {
  static_assert(kBytes % sizeof(uint4) == 0);
  const auto* const from = reinterpret_cast<const uint4*>(&file.tables);
  auto* const to = reinterpret_cast<uint4*>(tables);
  constexpr int kWords = kBytes / sizeof(uint4);
  constexpr int kRounds = (kWords + kThreads - 1) / kThreads;
#pragma unroll
  for (int i = 0; i < kRounds; ++i) {
    const int word = i * kThreads + static_cast<int>(threadIdx.x);
    if (word < kWords) to[word] = from[word];
  }
}

__device__ __forceinline__ JpegExit ExitOf(const JpegPlace& place, uint32_t end_bit) {
  return static_cast<JpegExit>((place.bit - end_bit) << 4 | place.block);
}
__device__ __forceinline__ JpegPlace PlaceOf(JpegExit exit, uint32_t end_bit) {
  return {end_bit + (exit >> 4), exit & 15u};
}

// A sum that begins anew at some of its values.
struct Sum {
  int value;   // since the last such value
  int begins;  // number of such values so far
};
__device__ __forceinline__ Sum Joined(const Sum& before, const Sum& own) {
  return {own.value + (own.begins > 0 ? 0 : before.value), own.begins + before.begins};
}
__device__ __forceinline__ Sum SumUpToLane(Sum own, int lane) {
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const Sum before = {__shfl_up_sync(kFullWarp, own.value, distance),
                        __shfl_up_sync(kFullWarp, own.begins, distance)};
    if (lane >= distance) own = Joined(before, own);
  }
  return own;
}

__device__ __forceinline__ Sum SumBeforeLane(const Sum& up_to, int lane) {
  const Sum before = {__shfl_up_sync(kFullWarp, up_to.value, 1),
                      __shfl_up_sync(kFullWarp, up_to.begins, 1)};
  return lane == 0 ? Sum{0, 0} : before;
}

// Copies a row of `kBytes` between global and shared memory.
template <int kBytes>
__device__ __forceinline__ void CopyRow(const void* from, void* to) {
#pragma unroll
  for (int i = 0; i < kBytes / static_cast<int>(sizeof(uint4)); ++i) {
    static_cast<uint4*>(to)[i] = static_cast<const uint4*>(from)[i];
  }
}

// Launches a kernel of a batch: a block of `threads` for each `work_in_block` of the largest file,
// and for each file. `follows`: the kernel may begin while the one before it in the stream ends.
inline absl::Status LaunchForFiles(void (*kernel)(JpegBatch), const char* name, int work,
                                   int work_in_block, int threads, bool follows,
                                   const JpegBatch& batch, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(DivUp(work, work_in_block)),
                  static_cast<unsigned>(batch.count));
  return LaunchKernel(kernel, name, grid, static_cast<unsigned>(threads), follows && batch.overlaps,
                      batch, stream);
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_JPEG_JPEG_DEVICE_CUH_
