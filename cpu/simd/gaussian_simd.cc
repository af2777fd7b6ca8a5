// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// 7x7 Gaussian: the twin of features/algo/gaussian.h, operation for operation. At the end that of
// features/algo/fixed_gaussian.h.
//
// Pixels are kept in four planes, plane k with pixels k, k + 4, k + 8, ... of a row, because a
// vector of bytes seen as 32-bit lanes falls into them by shift and mask, and results fold back
// into bytes the same way. A tap is then a plane at a lane offset of 0, 1 or 2: of the ten vectors
// that seven taps of four planes need, four are aligned. Row results are kept for eight rows of a
// strip narrow enough for the first-level cache.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/gaussian_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/describe/gaussian.h"
#include "features/algo/fixed_gaussian.h"
#include "features/algo/gaussian.h"
#include "features/algo/pyramid.h"
#include "features/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI32 = hn::RebindToSigned<DF>;
using DU32 = hn::RebindToUnsigned<DF>;
using D8 = hn::Repartition<uint8_t, DF>;
using VF = hn::Vec<DF>;

constexpr int kRadius = algo::kGaussianRadiusPx;
constexpr int kTaps = 2 * kRadius + 1;
constexpr int kPlanes = 4;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF()));
constexpr int kBlockPx = kPlanes * kLanes;
constexpr int kStripPx = 256;
constexpr int kRingRows = 8;      // kTaps, rounded up so that a row's place is a mask
constexpr int kLeadPx = kPlanes;  // pixels in the planes before the strip, >= kRadius
constexpr int kPlanePx = kStripPx / kPlanes + kLanes;
constexpr int kPrefetchRows = 6;  // ahead: rows of a strip lie on different pages, which hardware
                                  // does not foresee

struct StripRows {
  alignas(64) float planes[kPlanes][kPlanePx];
  alignas(64) float rows[kRingRows][kStripPx];  // by block, plane, lane
};

// Pixels [x - kLeadPx, ...) of a row into planes, blocks + 1 blocks of them; mirrored at the
// image's ends where a tap will look there.
HWY_INLINE void SplitRow(const uint8_t* row, int width, int x, int end, int blocks,
                         StripRows* work) {
  const DF df;
  const DI32 di;
  const DU32 du;
  const D8 d8;
  const auto low = hn::Set(du, 0xFFu);
  for (int block = 0; block <= blocks; ++block) {
    const int from = x - kLeadPx + block * kBlockPx;
    if (from > width) break;  // more than padding would be read, for nothing
    const auto bytes = hn::BitCast(du, hn::LoadU(d8, row + from));
    const auto split0 = hn::And(bytes, low);
    const auto split1 = hn::And(hn::ShiftRight<8>(bytes), low);
    const auto split2 = hn::And(hn::ShiftRight<16>(bytes), low);
    const auto split3 = hn::ShiftRight<24>(bytes);
    const int at = block * kLanes;
    hn::Store(hn::ConvertTo(df, hn::BitCast(di, split0)), df, work->planes[0] + at);
    hn::Store(hn::ConvertTo(df, hn::BitCast(di, split1)), df, work->planes[1] + at);
    hn::Store(hn::ConvertTo(df, hn::BitCast(di, split2)), df, work->planes[2] + at);
    hn::Store(hn::ConvertTo(df, hn::BitCast(di, split3)), df, work->planes[3] + at);
  }
  for (int i = std::max(width, x - kRadius); i < end + kRadius; ++i) {
    const int at = i - x + kLeadPx;
    work->planes[at % kPlanes][at / kPlanes] = row[algo::Reflect101(i, width)];
  }
  for (int i = x - kRadius; i < 0; ++i) {
    const int at = i - x + kLeadPx;
    work->planes[at % kPlanes][at / kPlanes] = row[algo::Reflect101(i, width)];
  }
}

// Row results of `blocks` blocks from the planes.
HWY_INLINE void FilterRow(const StripRows& work, int blocks, float* out) {
  const DF d;
  const VF tap[kRadius + 1] = {hn::Set(d, algo::GaussianTap(0)), hn::Set(d, algo::GaussianTap(1)),
                               hn::Set(d, algo::GaussianTap(2)), hn::Set(d, algo::GaussianTap(3))};
  for (int block = 0; block < blocks; ++block) {
    // pixel[i]: the pixels i - 3 to the right of plane 0's; kLeadPx = 4 of them precede the strip.
    VF pixel[kTaps + kPlanes - 1];
    for (int i = 0; i < kTaps + kPlanes - 1; ++i) {
      const int at = i + kLeadPx - kRadius;
      pixel[i] = hn::LoadU(d, work.planes[at % kPlanes] + block * kLanes + at / kPlanes);
    }
    for (int plane = 0; plane < kPlanes; ++plane) {
      // The reference begins with fma(pixel, tap, 0), which is the rounded product.
      VF sum = hn::Mul(pixel[plane], tap[3]);
      sum = hn::MulAdd(pixel[plane + 1], tap[2], sum);
      sum = hn::MulAdd(pixel[plane + 2], tap[1], sum);
      sum = hn::MulAdd(pixel[plane + 3], tap[0], sum);
      sum = hn::MulAdd(pixel[plane + 4], tap[1], sum);
      sum = hn::MulAdd(pixel[plane + 5], tap[2], sum);
      sum = hn::MulAdd(pixel[plane + 6], tap[3], sum);
      hn::Store(sum, d, out + block * kBlockPx + plane * kLanes);
    }
  }
}

// Grey levels of one block from seven rows of results. No result leaves [0, 255]: all operations
// are monotonous, and seven rows of 255 give 255 (tests/cpu/simd/describe_kernels_test.cc).
HWY_INLINE hn::Vec<D8> FilterColumn(const float* const (&row)[kTaps], int block) {
  const DF d;
  const VF tap[kRadius + 1] = {hn::Set(d, algo::GaussianTap(0)), hn::Set(d, algo::GaussianTap(1)),
                               hn::Set(d, algo::GaussianTap(2)), hn::Set(d, algo::GaussianTap(3))};
  VecI32 grey[kPlanes];
  for (int plane = 0; plane < kPlanes; ++plane) {
    const int at = block * kBlockPx + plane * kLanes;
    VF sum = hn::Mul(tap[0], hn::Load(d, row[3] + at));
    sum = hn::MulAdd(tap[1], hn::Add(hn::Load(d, row[4] + at), hn::Load(d, row[2] + at)), sum);
    sum = hn::MulAdd(tap[2], hn::Add(hn::Load(d, row[5] + at), hn::Load(d, row[1] + at)), sum);
    sum = hn::MulAdd(tap[3], hn::Add(hn::Load(d, row[6] + at), hn::Load(d, row[0] + at)), sum);
    grey[plane] = RoundToInt32(sum);
  }
  const auto lower = hn::Or(grey[0], hn::ShiftLeft<8>(grey[1]));
  const auto upper = hn::Or(hn::ShiftLeft<16>(grey[2]), hn::ShiftLeft<24>(grey[3]));
  return hn::BitCast(D8(), hn::Or(lower, upper));
}

// Asks for the pixels [x, end) of the rows that come kPrefetchRows after those being made of y.
HWY_INLINE void PrefetchRows(const ImageView& src, const MutableImageView& dst, int x, int end,
                             int y, int y_end) {
  constexpr int kCacheLine = 64;
  const int in = y + kPrefetchRows;
  const int out = in - kRadius;
  if (in >= 0 && in < std::min(y_end + kRadius, src.height_px)) {
    for (int i = x; i < end; i += kCacheLine) hwy::Prefetch(src.Row(in) + i);
  }
  if (out >= 0 && out < y_end) {
    for (int i = x; i < end; i += kCacheLine) hwy::Prefetch(dst.Row(out) + i);
  }
}

void SmoothStrip(const ImageView& src, const MutableImageView& dst, int x, int end, int y_begin,
                 int y_end, StripRows* work) {
  const D8 d8;
  const int blocks = DivUp(end - x, kBlockPx);
  const int whole_blocks = (end - x) / kBlockPx;
  for (int y = y_begin - kRadius; y < y_end + kRadius; ++y) {
    PrefetchRows(src, dst, x, end, y, y_end);
    SplitRow(src.Row(algo::Reflect101(y, src.height_px)), src.width_px, x, end, blocks, work);
    FilterRow(*work, blocks, work->rows[y & (kRingRows - 1)]);
    const int out_y = y - kRadius;
    if (out_y < y_begin) continue;
    const float* row[kTaps];
    for (int i = 0; i < kTaps; ++i) {
      row[i] = work->rows[(out_y + i - kRadius) & (kRingRows - 1)];
    }
    uint8_t* out = dst.Row(out_y) + x;
    for (int block = 0; block < whole_blocks; ++block) {
      hn::StoreU(FilterColumn(row, block), d8, out + block * kBlockPx);
    }
    if (whole_blocks < blocks) {
      alignas(64) uint8_t last[kBlockPx];
      hn::Store(FilterColumn(row, whole_blocks), d8, last);
      std::memcpy(out + whole_blocks * kBlockPx, last,
                  static_cast<size_t>(end - x - whole_blocks * kBlockPx));
    }
  }
}

void Smooth(const ImageView& src, const MutableImageView& dst, const Region& region,
            float* /*scratch*/) {
  StripRows work;
  for (int x = region.x_begin; x < region.x_end; x += kStripPx) {
    SmoothStrip(src, dst, x, std::min(x + kStripPx, region.x_end), region.y_begin, region.y_end,
                &work);
  }
}

// --- Fixed point: row sums as 16 bits less 2^15, so that products with them are summed in pairs.

using D16 = hn::ScalableTag<int16_t>;
using DFixed8 = hn::Rebind<uint8_t, D16>;
constexpr int kFixedLanes = static_cast<int>(hn::MaxLanes(D16()));
constexpr uint16_t kFixedBias = 0x8000;

struct FixedStripRows {
  alignas(64) uint8_t pixels[kLeadPx + kStripPx + 2 * kFixedLanes];
  alignas(64) int16_t rows[kRingRows][kStripPx + kFixedLanes];
};

// Row sums, less kFixedBias, of the pixels [x, end) of a row, and of some beyond them.
HWY_INLINE void FilterFixedRow(const uint8_t* row, int width, int x, int end, uint8_t* pixels,
                               int16_t* out) {
  const D16 d;
  const DFixed8 d8;
  const hn::RebindToUnsigned<D16> du;
  // The pixels from three before the strip on, mirrored at the image's ends.
  const int from = std::max(x - kRadius, 0);
  const int to = std::min(end + kRadius, width);
  std::memcpy(pixels + (from - (x - kRadius)), row + from, static_cast<size_t>(to - from));
  for (int i = x - kRadius; i < 0; ++i) pixels[i - (x - kRadius)] = row[algo::Reflect101(i, width)];
  for (int i = width; i < end + kRadius; ++i) {
    pixels[i - (x - kRadius)] = row[algo::Reflect101(i, width)];
  }
  for (int i = 0; i < end - x; i += kFixedLanes) {
    const auto pixel = [&](int tap) { return hn::PromoteTo(du, hn::LoadU(d8, pixels + i + tap)); };
    auto sum = hn::Mul(pixel(kRadius), hn::Set(du, uint16_t{algo::FixedGaussianTap(0)}));
    sum = hn::Add(sum, hn::Mul(hn::Add(pixel(2), pixel(4)),
                               hn::Set(du, uint16_t{algo::FixedGaussianTap(1)})));
    sum = hn::Add(sum, hn::Mul(hn::Add(pixel(1), pixel(5)),
                               hn::Set(du, uint16_t{algo::FixedGaussianTap(2)})));
    sum = hn::Add(sum, hn::Mul(hn::Add(pixel(0), pixel(6)),
                               hn::Set(du, uint16_t{algo::FixedGaussianTap(3)})));
    hn::Store(hn::BitCast(d, hn::Xor(sum, hn::Set(du, kFixedBias))), d, out + i);
  }
}

// Grey levels of kFixedLanes columns from seven rows of sums.
HWY_INLINE hn::Vec<DFixed8> FilterFixedColumns(const int16_t* const (&row)[kTaps], int x) {
  const D16 d;
  const DI32 d32;
  const DFixed8 d8;
  const auto weights = [&](int first, int second) {
    return hn::BitCast(
        d, hn::Set(d32, algo::FixedGaussianTap(first) | algo::FixedGaussianTap(second) << 16));
  };
  const auto in = [&](int tap) { return hn::Load(d, row[tap] + x); };
  // Rounding, and what the bias took off: 2^15 * 256.
  const auto correction = hn::Set(d32, 32768 + (1 << 23));
  const auto zero = hn::Zero(d);
  const auto sum_of = [&](auto interleave) {
    auto sum = hn::Add(correction, SumPairProducts(interleave(in(0), in(1)), weights(3, 2)));
    sum = hn::Add(sum, SumPairProducts(interleave(in(2), in(3)), weights(1, 0)));
    sum = hn::Add(sum, SumPairProducts(interleave(in(4), in(5)), weights(1, 2)));
    return hn::ShiftRight<16>(
        hn::Add(sum, SumPairProducts(interleave(in(6), zero), weights(3, 3))));
  };
  const auto lower = sum_of([&](auto a, auto b) { return hn::InterleaveLower(d, a, b); });
  const auto upper = sum_of([&](auto a, auto b) { return hn::InterleaveUpper(d, a, b); });
  // Both interleave and this demotion work within blocks of 16 bytes: the order is restored.
  return hn::DemoteTo(d8, hn::ReorderDemote2To(d, lower, upper));
}

void SmoothFixedStrip(const ImageView& src, const MutableImageView& dst, int x, int end,
                      int y_begin, int y_end, FixedStripRows* work) {
  const DFixed8 d8;
  for (int y = y_begin - kRadius; y < y_end + kRadius; ++y) {
    PrefetchRows(src, dst, x, end, y, y_end);
    FilterFixedRow(src.Row(algo::Reflect101(y, src.height_px)), src.width_px, x, end, work->pixels,
                   work->rows[y & (kRingRows - 1)]);
    const int out_y = y - kRadius;
    if (out_y < y_begin) continue;
    const int16_t* row[kTaps];
    for (int i = 0; i < kTaps; ++i) {
      row[i] = work->rows[(out_y + i - kRadius) & (kRingRows - 1)];
    }
    uint8_t* const out = dst.Row(out_y) + x;
    for (int i = 0; i < end - x; i += kFixedLanes) {
      const auto grey = FilterFixedColumns(row, i);
      if (i + kFixedLanes <= end - x) {
        hn::StoreU(grey, d8, out + i);
      } else {
        uint8_t last[kFixedLanes];
        hn::StoreU(grey, d8, last);
        std::memcpy(out + i, last, static_cast<size_t>(end - x - i));
      }
    }
  }
}

void SmoothFixed(const ImageView& src, const MutableImageView& dst, const Region& region,
                 float* /*scratch*/) {
  FixedStripRows work;
  for (int x = region.x_begin; x < region.x_end; x += kStripPx) {
    SmoothFixedStrip(src, dst, x, std::min(x + kStripPx, region.x_end), region.y_begin,
                     region.y_end, &work);
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

GaussianKernel GaussianKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(Smooth, ReferenceGaussian, target.simd_target)}

GaussianKernel FixedGaussianKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(SmoothFixed, ReferenceFixedGaussian, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
