// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Four neighbouring pixels of a level, from two rows of another one. Exact-linear resampling in
// fixed point (features/algo/pyramid.h). The kernels that make levels share it.

#ifndef ORBSERVE_GPU_STEPS_RESIZE_TAPS_CUH_
#define ORBSERVE_GPU_STEPS_RESIZE_TAPS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/algo/pyramid.h"
#include "gpu/steps/pyramid.h"

namespace orbserve::gpu {

inline constexpr int kResizeColumns = 4;  // of a thread

// Neighbouring entries in one load.
template <int kCount>
__device__ __forceinline__ void LoadTaps(const ResizeEntry* __restrict__ from,
                                         ResizeEntry (&to)[kCount]) {
  static_assert(kResizeEntryGroup % kCount == 0);
  struct alignas(sizeof(to)) Group {
    ResizeEntry entry[kCount];
  };
  const Group group = *reinterpret_cast<const Group*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = group.entry[i];
}

// algo::ResizeRow for four columns, whatever the scale.
__device__ __forceinline__ void FarSums(const ResizeEntry (&column)[kResizeColumns],
                                        const uint8_t* __restrict__ row,
                                        uint32_t (&sum)[kResizeColumns]) {
#pragma unroll
  for (int i = 0; i < kResizeColumns; ++i) {
    const int left = column[i].first;
    sum[i] = algo::ResizeRow(row[left], row[left + column[i].next], column[i].weight);
  }
}

// Row sums where all samples lie in eight bytes, as they do at scales up to two. The samples are
// read as three aligned words; one permutation picks them and one dot product sums them.
class ColumnTaps {
 public:
  __device__ __forceinline__ explicit ColumnTaps(const ResizeEntry (&column)[kResizeColumns])
      : first_word_(column[0].first & ~3), shift_(static_cast<uint32_t>(column[0].first & 3) * 8) {
    constexpr int kWindow = 8;
    near_ = true;
#pragma unroll
    for (int i = 0; i < kResizeColumns; ++i) {
      const int left = column[i].first - column[0].first;
      const int right = left + column[i].next;
      near_ = near_ && right < kWindow;
      samples_[i] = static_cast<uint32_t>(left | right << 4);
      weights_[i] = (256u - column[i].weight) | static_cast<uint32_t>(column[i].weight) << 16;
    }
  }

  __device__ __forceinline__ bool near() const { return near_; }

  // Reads up to eleven bytes beyond the first sample. `row` is aligned to words.
  __device__ __forceinline__ void NearSums(const uint8_t* __restrict__ row,
                                           uint32_t (&sum)[kResizeColumns]) const {
    const auto* words = reinterpret_cast<const uint32_t*>(row + first_word_);
    const uint32_t word[3] = {words[0], words[1], words[2]};
    const uint32_t low = __funnelshift_r(word[0], word[1], shift_);
    const uint32_t high = __funnelshift_r(word[1], word[2], shift_);
#pragma unroll
    for (int i = 0; i < kResizeColumns; ++i) {
      sum[i] = __dp2a_lo(weights_[i], __byte_perm(low, high, samples_[i]), 0u);
    }
  }

 private:
  int first_word_;
  uint32_t shift_;
  bool near_;
  uint32_t samples_[kResizeColumns];  // of the window, four bits for each of two
  uint32_t weights_[kResizeColumns];  // theirs, 16 bits each
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_RESIZE_TAPS_CUH_
