// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Harris responses: the twin of features/algo/corner.h.
//
// A vector holds one block of 16 bytes per point, so AVX-512 does four points at a time. Of each of
// the nine pixel rows a byte shuffle makes the left, middle and right neighbours of seven columns
// as 16-bit lanes (the eighth is 0 and adds nothing); Sobel's two passes and the sums are lane by
// lane. Each lane of a block then computes the response of its point.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/harris_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/detect/harris.h"
#include "features/algo/corner.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<uint8_t>;
using D16 = hn::Repartition<int16_t, D8>;
using D32 = hn::Repartition<int32_t, D8>;
using DF = hn::Repartition<float, D8>;
constexpr int kBlocks = static_cast<int>(hn::MaxLanes(D8())) / 16;
constexpr int kPrefetchPoints = 8;  // ahead
constexpr int kRows = 2 * algo::kHarrisRadiusPx + 1;

// 16 bytes from each of kBlocks addresses.
HWY_INLINE hn::Vec<D8> LoadBlocks(const uint8_t* const* at, ptrdiff_t offset) {
#if HWY_TARGET <= HWY_AVX3
  __m512i v =
      _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at[0] + offset)));
  v = _mm512_inserti32x4(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[1] + offset)), 1);
  v = _mm512_inserti32x4(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[2] + offset)), 2);
  v = _mm512_inserti32x4(v, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[3] + offset)), 3);
  return hn::Vec<D8>{v};
#elif HWY_TARGET == HWY_AVX2
  const hn::Half<D8> dh;
  return hn::Combine(D8(), hn::LoadU(dh, at[1] + offset), hn::LoadU(dh, at[0] + offset));
#else
  return hn::LoadU(D8(), at[0] + offset);
#endif
}

// Sum of the four lanes of each block, in all of them.
HWY_INLINE hn::Vec<D32> SumOfBlock(hn::Vec<D32> v) {
  v = hn::Add(v, hn::Shuffle1032(v));
  return hn::Add(v, hn::Shuffle2301(v));
}

// Responses of kBlocks points, each in the four lanes of its block; `corner` is the top left pixel
// that each reads.
HWY_INLINE hn::Vec<DF> Responses(const uint8_t* const* corner, ptrdiff_t pitch) {
  alignas(16) static constexpr uint8_t kLeft[16] = {0, 128, 1, 128, 2, 128, 3,   128,
                                                    4, 128, 5, 128, 6, 128, 128, 128};
  alignas(16) static constexpr uint8_t kMiddle[16] = {1, 128, 2, 128, 3, 128, 4,   128,
                                                      5, 128, 6, 128, 7, 128, 128, 128};
  alignas(16) static constexpr uint8_t kRight[16] = {2, 128, 3, 128, 4, 128, 5,   128,
                                                     6, 128, 7, 128, 8, 128, 128, 128};
  const D8 d8;
  const D16 d16;
  const D32 d32;
  const auto left_index = hn::LoadDup128(d8, kLeft);
  const auto middle_index = hn::LoadDup128(d8, kMiddle);
  const auto right_index = hn::LoadDup128(d8, kRight);
  // The two halves of sums that the multiply-add may keep apart.
  auto xx = hn::Zero(d32), xx2 = hn::Zero(d32);
  auto yy = hn::Zero(d32), yy2 = hn::Zero(d32);
  auto xy = hn::Zero(d32), xy2 = hn::Zero(d32);
  hn::Vec<D16> difference[kRows];  // right - left
  hn::Vec<D16> smooth[kRows];      // left + 2 * middle + right
  for (int row = 0; row < kRows; ++row) {
    const auto bytes = LoadBlocks(corner, row * pitch);
    const auto left = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, left_index));
    const auto middle = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, middle_index));
    const auto right = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, right_index));
    difference[row] = hn::Sub(right, left);
    smooth[row] = hn::Add(hn::Add(left, right), hn::Add(middle, middle));
    if (row < 2) continue;
    const auto twice = hn::Add(difference[row - 1], difference[row - 1]);
    const auto ix = hn::Add(hn::Add(difference[row - 2], difference[row]), twice);
    const auto iy = hn::Sub(smooth[row], smooth[row - 2]);
    xx = hn::ReorderWidenMulAccumulate(d32, ix, ix, xx, xx2);
    yy = hn::ReorderWidenMulAccumulate(d32, iy, iy, yy, yy2);
    xy = hn::ReorderWidenMulAccumulate(d32, ix, iy, xy, xy2);
  }
  // algo::HarrisResponse(), operation by operation.
  const DF df;
  const auto a = hn::ConvertTo(df, SumOfBlock(hn::Add(xx, xx2)));
  const auto b = hn::ConvertTo(df, SumOfBlock(hn::Add(yy, yy2)));
  const auto c = hn::ConvertTo(df, SumOfBlock(hn::Add(xy, xy2)));
  const auto trace = hn::Add(a, b);
  const auto determinant = hn::Sub(hn::Mul(a, b), hn::Mul(c, c));
  const auto penalty = hn::Mul(hn::Mul(hn::Set(df, algo::kHarrisSensitivity), trace), trace);
  return hn::Mul(hn::Sub(determinant, penalty), hn::Set(df, algo::kHarrisScale));
}

// kFarApart: points on different pages, which are asked for beforehand.
template <bool kFarApart>
HWY_INLINE void ResponsesOf(const ImageView& image, const Corner* corners, int count,
                            float* responses) {
  for (int i = 0; i < count; i += kBlocks) {
    const uint8_t* corner[kBlocks];
    for (int k = 0; k < kBlocks; ++k) {
      if (kFarApart) {
        const Corner& next = corners[std::min(i + k + kPrefetchPoints, count - 1)];
        PrefetchSquare(image, next.x, next.y, algo::kHarrisRadiusPx);
      }
      const Corner& at = corners[std::min(i + k, count - 1)];
      corner[k] = image.Row(at.y - algo::kHarrisRadiusPx) + at.x - algo::kHarrisRadiusPx;
    }
    HWY_ALIGN float lanes[4 * kBlocks];
    hn::Store(Responses(corner, image.pitch_bytes), DF(), lanes);
    for (int k = 0; k < std::min(kBlocks, count - i); ++k) responses[i + k] = lanes[4 * k];
  }
}

void HarrisResponses(const ImageView& image, const Corner* corners, int count,
                     const SegmentTest& /*test*/, float* responses) {
  ResponsesOf<true>(image, corners, count, responses);
}

void DenseHarrisResponses(const ImageView& image, const Corner* corners, int count,
                          const SegmentTest& /*test*/, float* responses) {
  ResponsesOf<false>(image, corners, count, responses);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

ResponseKernel HarrisKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(HarrisResponses, ReferenceResponses<Score::kHarris>, target.simd_target)
}

template <>
ResponseKernel ResponseKernelOf<Score::kHarris>(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(DenseHarrisResponses, ReferenceResponses<Score::kHarris>, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
