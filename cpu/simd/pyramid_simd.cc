// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rows of a pyramid level: the twin of features/algo/pyramid.h, and that of
// features/algo/linear_resize.h.
//
// A source row is resampled once, kept as 16 bits per pixel, and serves the two destination rows
// that may lie around it. Modulo 2^16, in which the sum fits,
//   a * (256 - w) + b * w = (a << 8) + (b - a) * w.
// The pairs (a, b) come from byte shuffles over a window of the source row: as wide as a vector
// where shuffles cross 16-byte blocks (AVX3_DL), else one window of 16 bytes per 8 pixels. Where
// the scale is too large for the window, pixels are done one by one. Columns: results less 2^15 fit
// into int16, and pairs times (256 - v, v) are summed in int32.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/pyramid_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/pyramid.h"
#include "features/algo/linear_resize.h"
#include "features/algo/pyramid.h"
#include "features/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kPrefetchRows = 3;    // of the source, ahead
constexpr uint16_t kBias = 0x8000;  // taken off row results so that they fit into int16

HWY_INLINE void ResizePixels(const uint8_t* src, const ResizeAxis& axis, int begin, int end,
                             uint16_t* out) {
  for (int i = begin; i < end; ++i) {
    const uint8_t* at = src + axis.taps[i].first;
    out[i] = static_cast<uint16_t>(
        algo::ResizeRow(at[0], at[1], static_cast<uint32_t>(axis.taps[i].weight)) - kBias);
  }
}

#if HWY_TARGET == HWY_AVX3_DL

// A row of `width` pixels, written up to the next multiple of 32, less kBias.
void ResizeRow(const uint8_t* src, ptrdiff_t pitch, const ResizeAxis& axis, int width,
               uint16_t* out) {
  constexpr __mmask64 kLowBytes = 0x5555'5555'5555'5555;  // zero-extends bytes to 16 bits
  const __m512i one = _mm512_set1_epi16(1);
  const __m512i bias = _mm512_set1_epi16(static_cast<int16_t>(kBias));
  for (int i = 0; i < width; i += 32) {
    hwy::Prefetch(src + axis.taps[i].first + kPrefetchRows * pitch);
    if (axis.offset_in_32[i + 31] > 62) {
      ResizePixels(src, axis, i, std::min(i + 32, width), out);
      continue;
    }
    const __m512i window = _mm512_loadu_si512(src + axis.taps[i].first);
    const __m512i index = _mm512_loadu_si512(axis.offset_in_32.data() + i);
    const __m512i weight = _mm512_loadu_si512(axis.padded_weight.data() + i);
    const __m512i a = _mm512_maskz_permutexvar_epi8(kLowBytes, index, window);
    const __m512i b =
        _mm512_maskz_permutexvar_epi8(kLowBytes, _mm512_add_epi16(index, one), window);
    const __m512i step = _mm512_mullo_epi16(_mm512_sub_epi16(b, a), weight);
    const __m512i base = _mm512_xor_si512(_mm512_slli_epi16(a, 8), bias);
    _mm512_store_si512(out + i, _mm512_add_epi16(base, step));
  }
}

#else

using D16 = hn::CappedTag<uint16_t, 16>;
using D8 = hn::Repartition<uint8_t, D16>;
constexpr int kRowLanes = static_cast<int>(hn::MaxLanes(D16()));

// 16 bytes for each group of 8 destination pixels from i.
HWY_INLINE hn::Vec<D8> LoadWindows(const uint8_t* src, const ResizeAxis& axis, int i, int width) {
#if HWY_TARGET <= HWY_AVX2
  const hn::Half<D8> dh;
  const int upper = std::min(i + 8, width - 1);
  return hn::Combine(D8(), hn::LoadU(dh, src + axis.taps[upper].first),
                     hn::LoadU(dh, src + axis.taps[i].first));
#else
  (void)width;
  return hn::LoadU(D8(), src + axis.taps[i].first);
#endif
}

// A row of `width` pixels, written up to the next multiple of kRowLanes, less kBias.
void ResizeRow(const uint8_t* src, ptrdiff_t pitch, const ResizeAxis& axis, int width,
               uint16_t* out) {
  const D16 d16;
  const D8 d8;
  const auto zero_high = hn::Set(d16, uint16_t{0x8000});  // shuffles write 0 for such an index
  const auto one = hn::Set(d16, uint16_t{1});
  const auto bias = hn::Set(d16, kBias);
  for (int i = 0; i < width; i += kRowLanes) {
    hwy::Prefetch(src + axis.taps[i].first + kPrefetchRows * pitch);
    if (std::max(axis.offset_in_8[i + 7], axis.offset_in_8[i + kRowLanes - 1]) > 14) {
      ResizePixels(src, axis, i, std::min(i + kRowLanes, width), out);
      continue;
    }
    const auto window = LoadWindows(src, axis, i, width);
    const auto index = hn::Or(hn::LoadU(d16, axis.offset_in_8.data() + i), zero_high);
    const auto weight = hn::LoadU(d16, axis.padded_weight.data() + i);
    const auto a = hn::BitCast(d16, hn::TableLookupBytesOr0(window, hn::BitCast(d8, index)));
    const auto b =
        hn::BitCast(d16, hn::TableLookupBytesOr0(window, hn::BitCast(d8, hn::Add(index, one))));
    const auto step = hn::Mul(hn::Sub(b, a), weight);
    const auto base = hn::Xor(hn::ShiftLeft<8>(a), bias);
    hn::Store(hn::Add(base, step), d16, out + i);
  }
}

#endif  // HWY_TARGET == HWY_AVX3_DL

using DS16 = hn::ScalableTag<int16_t>;
using DS32 = hn::RepartitionToWide<DS16>;
constexpr int kColumnLanes = static_cast<int>(hn::MaxLanes(DS16()));

// kColumnLanes pixels between two rows of results.
HWY_INLINE void ResizeColumns(const int16_t* top, const int16_t* bottom, hn::Vec<DS16> weights,
                              uint8_t* out) {
  const DS16 d16;
  const DS32 d32;
  const hn::Rebind<uint8_t, DS16> d8;
  // Rounding, and what kBias took off: kBias * 256.
  const auto correction = hn::Set(d32, 32768 + (1 << 23));
  const auto a = hn::LoadU(d16, top);
  const auto b = hn::LoadU(d16, bottom);
  const auto lower = SumPairProducts(hn::InterleaveLower(d16, a, b), weights);
  const auto upper = SumPairProducts(hn::InterleaveUpper(d16, a, b), weights);
  // Both interleave and this demotion work within blocks of 16 bytes: the order is restored.
  const auto grey = hn::ReorderDemote2To(d16, hn::ShiftRight<16>(hn::Add(lower, correction)),
                                         hn::ShiftRight<16>(hn::Add(upper, correction)));
  hn::StoreU(hn::DemoteTo(d8, grey), d8, out);
}

void ResizeRows(const ImageView& src, const MutableImageView& dst, const ResizeAxis& x_axis,
                absl::Span<const algo::ResizeTap> y_taps, int row_begin, int row_end,
                uint16_t* scratch) {
  const DS16 d16;
  const DS32 d32;
  const int width = dst.width_px;
  uint16_t* top = scratch;
  uint16_t* bottom = scratch + RoundUp(width, 64);
  int top_row = -1;  // source rows that the two hold
  int bottom_row = -1;
  for (int y = row_begin; y < row_end; ++y) {
    const int first = y_taps[static_cast<size_t>(y)].first;
    const int second = std::min(first + 1, src.height_px - 1);
    if (top_row != first) {
      std::swap(top, bottom);
      std::swap(top_row, bottom_row);
    }
    if (top_row != first) {
      ResizeRow(src.Row(first), src.pitch_bytes, x_axis, width, top);
      top_row = first;
    }
    if (bottom_row != second) {
      ResizeRow(src.Row(second), src.pitch_bytes, x_axis, width, bottom);
      bottom_row = second;
    }
    const auto weight = static_cast<uint32_t>(y_taps[static_cast<size_t>(y)].weight);
    const auto weights =
        hn::BitCast(d16, hn::Set(d32, static_cast<int32_t>(256 - weight + (weight << 16))));
    const int16_t* a = reinterpret_cast<const int16_t*>(top);
    const int16_t* b = reinterpret_cast<const int16_t*>(bottom);
    uint8_t* out = dst.Row(y);
    int x = 0;
    for (; x + kColumnLanes <= width; x += kColumnLanes) {
      ResizeColumns(a + x, b + x, weights, out + x);
    }
    if (x < width && width >= kColumnLanes) {
      x = width - kColumnLanes;  // again a few pixels that are done
      ResizeColumns(a + x, b + x, weights, out + x);
    } else if (x < width) {
      uint8_t last[kColumnLanes];
      ResizeColumns(a, b, weights, last);
      std::memcpy(out, last, static_cast<size_t>(width));
    }
  }
}

// --- Linear: results of a row fit into int16 as they are, and products are summed in pairs.

HWY_INLINE void LinearPixels(const uint8_t* src, const ResizeAxis& axis, int begin, int end,
                             uint16_t* out) {
  for (int i = begin; i < end; ++i) {
    const uint8_t* at = src + axis.taps[i].first;
    out[i] = static_cast<uint16_t>(algo::LinearRow(at[0], at[1],
                                                   axis.padded_first_weight[static_cast<size_t>(i)],
                                                   axis.padded_weight[static_cast<size_t>(i)]));
  }
}

#if HWY_TARGET == HWY_AVX3_DL

// A row of `width` pixels, written up to the next multiple of 32.
void LinearResizeRow(const uint8_t* src, ptrdiff_t pitch, const ResizeAxis& axis, int width,
                     uint16_t* out) {
  constexpr __mmask64 kLowBytes = 0x5555'5555'5555'5555;  // zero-extends bytes to 16 bits
  const __m512i one = _mm512_set1_epi16(1);
  for (int i = 0; i < width; i += 32) {
    hwy::Prefetch(src + axis.taps[i].first + kPrefetchRows * pitch);
    if (axis.offset_in_32[i + 31] > 62) {
      LinearPixels(src, axis, i, std::min(i + 32, width), out);
      continue;
    }
    const __m512i window = _mm512_loadu_si512(src + axis.taps[i].first);
    const __m512i index = _mm512_loadu_si512(axis.offset_in_32.data() + i);
    const __m512i a = _mm512_maskz_permutexvar_epi8(kLowBytes, index, window);
    const __m512i b =
        _mm512_maskz_permutexvar_epi8(kLowBytes, _mm512_add_epi16(index, one), window);
    const __m512i left = _mm512_loadu_si512(axis.padded_first_weight.data() + i);
    const __m512i right = _mm512_loadu_si512(axis.padded_weight.data() + i);
    const __m512i lower =
        _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), _mm512_unpacklo_epi16(left, right));
    const __m512i upper =
        _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), _mm512_unpackhi_epi16(left, right));
    // Both unpacking and packing work within blocks of 16 bytes: the order is restored.
    _mm512_storeu_si512(
        out + i, _mm512_packs_epi32(_mm512_srli_epi32(lower, 4), _mm512_srli_epi32(upper, 4)));
  }
}

#else

using DRow16 = hn::Repartition<int16_t, D8>;
using DRow32 = hn::RepartitionToWide<DRow16>;

// SumPairProducts() of vectors of a row.
HWY_INLINE hn::Vec<DRow32> SumRowPairs(hn::Vec<DRow16> a, hn::Vec<DRow16> b) {
#if HWY_ARCH_X86
  return hn::Vec<DRow32>{_mm256_madd_epi16(a.raw, b.raw)};
#else
  return SumPairProducts(a, b);
#endif
}

// A row of `width` pixels, written up to the next multiple of kRowLanes.
void LinearResizeRow(const uint8_t* src, ptrdiff_t pitch, const ResizeAxis& axis, int width,
                     uint16_t* out) {
  const D16 d16;
  const D8 d8;
  const DRow16 d;
  const auto zero_high = hn::Set(d16, uint16_t{0x8000});  // shuffles write 0 for such an index
  const auto one = hn::Set(d16, uint16_t{1});
  for (int i = 0; i < width; i += kRowLanes) {
    hwy::Prefetch(src + axis.taps[i].first + kPrefetchRows * pitch);
    if (std::max(axis.offset_in_8[i + 7], axis.offset_in_8[i + kRowLanes - 1]) > 14) {
      LinearPixels(src, axis, i, std::min(i + kRowLanes, width), out);
      continue;
    }
    const auto window = LoadWindows(src, axis, i, width);
    const auto index = hn::Or(hn::LoadU(d16, axis.offset_in_8.data() + i), zero_high);
    const auto a = hn::BitCast(d, hn::TableLookupBytesOr0(window, hn::BitCast(d8, index)));
    const auto b =
        hn::BitCast(d, hn::TableLookupBytesOr0(window, hn::BitCast(d8, hn::Add(index, one))));
    const auto left = hn::BitCast(d, hn::LoadU(d16, axis.padded_first_weight.data() + i));
    const auto right = hn::BitCast(d, hn::LoadU(d16, axis.padded_weight.data() + i));
    const auto lower =
        SumRowPairs(hn::InterleaveLower(d, a, b), hn::InterleaveLower(d, left, right));
    const auto upper =
        SumRowPairs(hn::InterleaveUpper(d, a, b), hn::InterleaveUpper(d, left, right));
    // Both interleave and this demotion work within blocks of 16 bytes: the order is restored.
    const auto row = hn::ReorderDemote2To(d, hn::ShiftRight<4>(lower), hn::ShiftRight<4>(upper));
    hn::StoreU(hn::BitCast(d16, row), d16, out + i);
  }
}

#endif  // HWY_TARGET == HWY_AVX3_DL

void LinearResizeRows(const ImageView& src, const MutableImageView& dst, const ResizeAxis& x_axis,
                      absl::Span<const algo::ResizeTap> y_taps, int row_begin, int row_end,
                      uint16_t* scratch) {
  const DS16 d16;
  const hn::Rebind<uint8_t, DS16> d8;
  const auto two = hn::Set(d16, int16_t{2});
  const int width = dst.width_px;
  uint16_t* top = scratch;
  uint16_t* bottom = scratch + RoundUp(width, 64);
  int top_row = -1;  // source rows that the two hold
  int bottom_row = -1;
  for (int y = row_begin; y < row_end; ++y) {
    const algo::ResizeTap& tap = y_taps[static_cast<size_t>(y)];
    const int second = std::min(tap.first + 1, src.height_px - 1);
    if (top_row != tap.first) {
      std::swap(top, bottom);
      std::swap(top_row, bottom_row);
    }
    if (top_row != tap.first) {
      LinearResizeRow(src.Row(tap.first), src.pitch_bytes, x_axis, width, top);
      top_row = tap.first;
    }
    if (bottom_row != second) {
      LinearResizeRow(src.Row(second), src.pitch_bytes, x_axis, width, bottom);
      bottom_row = second;
    }
    const auto top_weight = hn::Set(d16, static_cast<int16_t>(tap.first_weight));
    const auto bottom_weight = hn::Set(d16, static_cast<int16_t>(tap.weight));
    const auto* a = reinterpret_cast<const int16_t*>(top);
    const auto* b = reinterpret_cast<const int16_t*>(bottom);
    uint8_t* out = dst.Row(y);
    for (int x = 0; x < width; x += kColumnLanes) {
      const auto sum = hn::Add(hn::MulHigh(hn::LoadU(d16, a + x), top_weight),
                               hn::MulHigh(hn::LoadU(d16, b + x), bottom_weight));
      const auto grey = hn::DemoteTo(d8, hn::ShiftRight<2>(hn::Add(sum, two)));
      if (x + kColumnLanes <= width) {
        hn::StoreU(grey, d8, out + x);
      } else {
        uint8_t last[kColumnLanes];
        hn::StoreU(grey, d8, last);
        std::memcpy(out + x, last, static_cast<size_t>(width - x));
      }
    }
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

ResizeKernel ResizeKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(ResizeRows, ReferenceResize, target.simd_target)}

ResizeKernel LinearResizeKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(LinearResizeRows, ReferenceLinearResize, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
