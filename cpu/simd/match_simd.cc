// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force matching: bit_match-inl.h has strings of bits by Hamming distance, vector_match-inl.h
// vectors of bytes.
//
// In a window few pairs are admissible. The train set is then sorted by place
// (cpu/matching/place_strips.h), and the admissible rows are measured one by one.

#define HWY_WANT_AVX3_DL 1
// Vectors of a length unknown to the compiler cannot be kept in arrays, and NEON runs on the same
// processors; processors with SSSE3 and no SSE4 are gone.
#if !defined(HWY_DISABLED_TARGETS)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_SSSE3)
#endif

#include "cpu/matching/match_descriptors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/match_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "features/algo/metric.h"

#ifndef ORBSERVE_CPU_SIMD_MATCH_SIMD_ONCE_
#define ORBSERVE_CPU_SIMD_MATCH_SIMD_ONCE_

namespace orbserve::cpu {
namespace {

// Highway target of a set of kernels, and the kernels.
struct TargetKernels {
  int64_t target;
  MatchKernels kernels;
};

// Puts `candidate` in its place; the last of the k entries drops out.
inline void Insert(Neighbour candidate, int k, Neighbour* list) {
  int i = k - 1;
  for (; i > 0 && list[i - 1] > candidate; --i) list[i] = list[i - 1];
  list[i] = candidate;
}

}  // namespace
}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_SIMD_MATCH_SIMD_ONCE_

// After Insert(), which they call.
#include "cpu/simd/bit_match-inl.h"
#include "cpu/simd/vector_match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Exact distance of two rows.
template <int kDescriptorBytes>
HWY_INLINE uint32_t RowDistance(const uint8_t* a, const uint8_t* b) {
  if constexpr (kDescriptorBytes == kVectorBytes) return VectorDistance(a, b);
  return BitDistance<kDescriptorBytes>(a, b);
}

// ---- In a window: the place decides first

// First of the ascending `values` [begin, end) that is at most `half_side_px` below `centre`.
// Branch-free: which half is taken cannot be foreseen.
HWY_INLINE int FirstInWindow(const float* HWY_RESTRICT values, int begin, int end, float centre,
                             float half_side_px) {
  int count = end - begin;
  while (count > 0) {
    const int half = (count + 1) / 2;
    begin += values[begin + half - 1] - centre < -half_side_px ? half : 0;
    count -= half;
  }
  return begin;
}

// Calls take(row) for the keypoints of [begin, end), part of a strip, that lie in the window. None
// of them lies left of it.
template <typename Take>
HWY_INLINE void ForEachInWindow(const PlaceStrips& strips, int begin, int end, float x, float y,
                                float half_side_px, const Take& take) {
  const hn::CappedTag<float, PlaceStrips::kPadding> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto most = hn::Set(d, half_side_px);
  const auto least = hn::Set(d, -half_side_px);
  const auto centre_x = hn::Set(d, x);
  const auto centre_y = hn::Set(d, y);
  for (int i = begin; i < end; i += lanes) {
    const auto dx = hn::Sub(hn::LoadU(d, strips.x.data() + i), centre_x);
    const auto dy = hn::Sub(hn::LoadU(d, strips.y.data() + i), centre_y);
    const auto not_right = hn::Le(dx, most);
    // Behind the end the next strip begins.
    const auto in_strip = hn::FirstN(d, static_cast<size_t>(std::min(end - i, lanes)));
    const auto in_window =
        hn::And(hn::And(not_right, in_strip), hn::And(hn::Le(dy, most), hn::Ge(dy, least)));
    uint8_t mask_bytes[8] = {};
    hn::StoreMaskBits(d, in_window, mask_bytes);
    uint64_t mask;
    std::memcpy(&mask, mask_bytes, sizeof(mask));
    for (; mask != 0; mask &= mask - 1) {
      const int lane = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(mask));
      take(strips.index[static_cast<size_t>(i + lane)]);
    }
    if (!hn::AllTrue(d, not_right)) return;
  }
}

template <int kDescriptorBytes>
HWY_INLINE void NearestInWindowOfSize(const WindowSearch& search, int query_begin, int query_end,
                                      int k, Neighbour* nearest) {
  const PlaceStrips& strips = *search.strips;
  const float half_side_px = search.half_side_px;
  const int strip_count = strips.strips();
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    const uint8_t* const row = search.query.rows + static_cast<ptrdiff_t>(q) * kDescriptorBytes;
    const float x = search.query.x[q];
    const float y = search.query.y[q];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;  // such a window is empty
    int strip = FirstInWindow(strips.most_y.data(), 0, strip_count, y, half_side_px);
    for (; strip < strip_count && strips.least_y[static_cast<size_t>(strip)] - y <= half_side_px;
         ++strip) {
      const int end = strips.end(strip);
      const int begin = FirstInWindow(strips.x.data(), strips.begin(strip), end, x, half_side_px);
      ForEachInWindow(strips, begin, end, x, y, half_side_px, [&](uint32_t index) HWY_ATTR {
        const uint32_t distance = RowDistance<kDescriptorBytes>(
            row, search.train.rows + static_cast<ptrdiff_t>(index) * kDescriptorBytes);
        const Neighbour candidate = MakeNeighbour(distance, index);
        if (candidate < list[k - 1]) Insert(candidate, k, list);
      });
    }
  }
}

void NearestInWindow(const WindowSearch& search, int query_begin, int query_end, int k,
                     Neighbour* nearest) {
  switch (search.descriptor_bytes) {
    case 4:
      NearestInWindowOfSize<4>(search, query_begin, query_end, k, nearest);
      break;
    case 8:
      NearestInWindowOfSize<8>(search, query_begin, query_end, k, nearest);
      break;
    case 16:
      NearestInWindowOfSize<16>(search, query_begin, query_end, k, nearest);
      break;
    case 32:
      NearestInWindowOfSize<32>(search, query_begin, query_end, k, nearest);
      break;
    case 64:
      NearestInWindowOfSize<64>(search, query_begin, query_end, k, nearest);
      break;
    default:
      assert(search.descriptor_bytes == kVectorBytes);
      NearestInWindowOfSize<kVectorBytes>(search, query_begin, query_end, k, nearest);
      break;
  }
}

void PrepareTrain(const uint8_t* train, int train_count, int descriptor_bytes, uint8_t* scratch) {
  if (descriptor_bytes == kVectorBytes) {
    PrepareVectors(train, train_count, scratch);
  } else {
    PrepareBits(train, train_count, descriptor_bytes, scratch);
  }
}

void Nearest(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
             int train_count, int descriptor_bytes, int k, const uint8_t* scratch,
             Neighbour* nearest) {
  if (descriptor_bytes == kVectorBytes) {
    NearestVectors(query, query_begin, query_end, train, train_count, k, scratch, nearest);
  } else {
    NearestBits(query, query_begin, query_end, train, train_count, descriptor_bytes, k, scratch,
                nearest);
  }
}

const TargetKernels& Kernels() {
  static const TargetKernels kKernels = {
      HWY_TARGET, {hwy::TargetName(HWY_TARGET), PrepareTrain, Nearest, NearestInWindow}};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace orbserve::cpu {

std::vector<const MatchKernels*> AllSimdMatchKernels() {
  // Every target of this binary, the fastest first; null where one was not compiled.
  using KernelsFunction = const TargetKernels& (*)();
  static constexpr KernelsFunction kTargets[] = {HWY_CHOOSE_TARGET_LIST(Kernels),
                                                 HWY_CHOOSE_FALLBACK(Kernels)};
  const int64_t supported = hwy::SupportedTargets();
  std::vector<const MatchKernels*> all;
  for (const KernelsFunction function : kTargets) {
    if (function == nullptr) continue;
    const TargetKernels& target = function();
    // Without a portable fallback the last entry is the baseline, which is in the list already.
    const bool listed = std::find(all.begin(), all.end(), &target.kernels) != all.end();
    const bool portable = (target.target & (HWY_SCALAR | HWY_EMU128)) != 0;
    if (!listed && (portable || (target.target & supported) != 0)) {
      all.push_back(&target.kernels);
    }
  }
  return all;
}

const MatchKernels& SimdMatchKernels() {
  static const MatchKernels& fastest = *AllSimdMatchKernels().front();
  return fastest;
}

}  // namespace orbserve::cpu

#endif  // HWY_ONCE
