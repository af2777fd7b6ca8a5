// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corner maps: the twin of features/algo/corner_map.h.
//
// A tile of columns is done row by row. Each row of gradients enters the sums of its columns over
// seven rows and the row seven rows above leaves them, both by one multiply-add of pairs:
//
//   (new, old) . (new, -old) = new^2 - old^2
//
// Interleaving works within blocks of 16 bytes, so gradients are first put into the order in which
// its results are columns in their natural order. Seven neighbouring sums of columns make the sums
// of a pixel. Responses need more than 32 bits:
//
//   HARRIS      25 * (A * B - C^2) - (A + B)^2 in 64-bit integers. A double holds 53 bits, so the
//               lowest bits of large values are first replaced by one that says whether they held
//               any ("sticky"); rounding to single precision then gives what rounding once does.
//   SHI_TOMASI  (A - B)^2 + 4 * C^2 is below 2^52 and exact in doubles; the integer part of its
//               rounded root is the integer root.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/corner_map_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/detect/corner_map.h"
#include "features/algo/corner_map.h"
#include "features/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::ScalableTag<int32_t>;
using DU32 = hn::ScalableTag<uint32_t>;
using D64 = hn::ScalableTag<int64_t>;
using DU64 = hn::ScalableTag<uint64_t>;
using DF32 = hn::ScalableTag<float>;
using DF64 = hn::ScalableTag<double>;
using DHalf32 = hn::Half<D32>;
using DHalfF32 = hn::Half<DF32>;
using DHalfU32 = hn::Half<DU32>;
using D8For16 = hn::Rebind<uint8_t, D16>;
using D8For32 = hn::Rebind<uint8_t, DU32>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
using VU32 = hn::Vec<DU32>;
constexpr int kLanes16 = static_cast<int>(hn::MaxLanes(D16()));
constexpr int kLanes32 = static_cast<int>(hn::MaxLanes(D32()));
constexpr int kWindow = algo::kCornerMapWindowPx;
constexpr int kRadius = kWindow / 2;
constexpr uint32_t kSign = 0x80000000u;

// Columns of a tile in the scratch memory of the kernel.
struct Columns {
  int32_t* xx;
  int32_t* yy;
  int32_t* xy;
  int16_t* gradients;  // [row % kWindow][x or y][column]

  int16_t* Gradients(int row, int component) const {
    return gradients +
           static_cast<ptrdiff_t>(row % kWindow * 2 + component) * kCornerMapScratchColumns;
  }
};

HWY_INLINE Columns ColumnsIn(uint8_t* scratch) {
  Columns columns;
  columns.xx = reinterpret_cast<int32_t*>(scratch);
  columns.yy = columns.xx + kCornerMapScratchColumns;
  columns.xy = columns.yy + kCornerMapScratchColumns;
  columns.gradients = reinterpret_cast<int16_t*>(columns.xy + kCornerMapScratchColumns);
  return columns;
}

// The order for InterleaveLower() and InterleaveUpper(): four columns of the lower half, then four
// of the upper half in each block.
HWY_INLINE hn::Vec<D16> OrderForInterleaving(V16 v) {
  constexpr int kBlocks = kLanes16 / 8;
  if constexpr (kBlocks == 1) {
    return v;
  } else {
    alignas(64) int32_t order[kLanes32];
    for (int b = 0; b < kBlocks; ++b) {
      order[4 * b] = 2 * b;
      order[4 * b + 1] = 2 * b + 1;
      order[4 * b + 2] = 2 * (kBlocks + b);
      order[4 * b + 3] = 2 * (kBlocks + b) + 1;
    }
    const D32 d;
    return hn::BitCast(D16(),
                       hn::TableLookupLanes(hn::BitCast(d, v), hn::SetTableIndices(d, order)));
  }
}

// Adds what the pair products of (a, b) and (c, d), interleaved, come to.
HWY_INLINE void AddPairs(V16 a, V16 b, V16 c, V16 d, int32_t* sums) {
  const D16 d16;
  const D32 d32;
  const V32 lower = SumPairProducts(hn::InterleaveLower(a, b), hn::InterleaveLower(c, d));
  const V32 upper = SumPairProducts(hn::InterleaveUpper(d16, a, b), hn::InterleaveUpper(d16, c, d));
  hn::Store(hn::Add(hn::Load(d32, sums), lower), d32, sums);
  hn::Store(hn::Add(hn::Load(d32, sums + kLanes32), upper), d32, sums + kLanes32);
}

// Takes row `row` of gradients into the sums of columns, and row `row` - kWindow out of them.
// `pixels`: the first column's pixel of that row.
HWY_INLINE void AddRow(const uint8_t* pixels, ptrdiff_t pitch, int row, int count,
                       const Columns& columns) {
  const D16 d;
  const D8For16 d8;
  int16_t* const gradients_x = columns.Gradients(row, 0);
  int16_t* const gradients_y = columns.Gradients(row, 1);
  for (int i = 0; i < count; i += kLanes16) {
    const uint8_t* const p = pixels + i;
    const auto load = [&](const uint8_t* at) { return hn::PromoteTo(d, hn::LoadU(d8, at)); };
    const V16 above_left = load(p - pitch - 1);
    const V16 above_right = load(p - pitch + 1);
    const V16 below_left = load(p + pitch - 1);
    const V16 below_right = load(p + pitch + 1);
    const V16 left = hn::Add(hn::Add(above_left, below_left), load(p - 1));
    const V16 right = hn::Add(hn::Add(above_right, below_right), load(p + 1));
    const V16 above = hn::Add(hn::Add(above_left, above_right), load(p - pitch));
    const V16 below = hn::Add(hn::Add(below_left, below_right), load(p + pitch));
    const V16 gx = OrderForInterleaving(hn::Sub(right, left));
    const V16 gy = OrderForInterleaving(hn::Sub(below, above));
    const V16 old_x = hn::Load(d, gradients_x + i);
    const V16 old_y = hn::Load(d, gradients_y + i);
    hn::Store(gx, d, gradients_x + i);
    hn::Store(gy, d, gradients_y + i);
    const V16 minus_x = hn::Neg(old_x);
    const V16 minus_y = hn::Neg(old_y);
    AddPairs(gx, old_x, gx, minus_x, columns.xx + i);
    AddPairs(gy, old_y, gy, minus_y, columns.yy + i);
    AddPairs(gx, old_x, gy, minus_y, columns.xy + i);
  }
}

HWY_INLINE V32 SumOfWindow(const int32_t* sums) {
  const D32 d;
  const V32 a = hn::Add(hn::LoadU(d, sums), hn::LoadU(d, sums + 1));
  const V32 b = hn::Add(hn::LoadU(d, sums + 2), hn::LoadU(d, sums + 3));
  const V32 c = hn::Add(hn::LoadU(d, sums + 4), hn::LoadU(d, sums + 5));
  return hn::Add(hn::Add(a, b), hn::Add(c, hn::LoadU(d, sums + 6)));
}

// OrderedBits() of values above 0, else 0.
HWY_INLINE VU32 OrderOf(hn::Vec<DF32> value) {
  const DF32 d;
  const DU32 du;
  const auto bits = hn::Or(hn::BitCast(du, value), hn::Set(du, kSign));
  return hn::IfThenElseZero(hn::RebindMask(du, hn::Gt(value, hn::Zero(d))), bits);
}

// Each 64-bit integer of at most 55 bits to single precision, in the lower half of its lane. Values
// below 0 keep their sign.
HWY_INLINE VU32 ToFloat(hn::Vec<D64> value) {
  const DU32 du;
  const DU64 du64;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return hn::BitCast(
      du, hn::Vec<DU64>{_mm512_cvtepu32_epi64(_mm256_castps_si256(_mm512_cvtepi64_ps(value.raw)))});
#else
  const D64 d;
  constexpr int64_t kDropped = 0xff;
  const auto low = hn::And(value, hn::Set(d, kDropped));
  const auto sticky = hn::And(hn::Add(low, hn::Set(d, kDropped)), hn::Set(d, kDropped + 1));
  const auto rounded = hn::Or(hn::AndNot(hn::Set(d, kDropped), value), sticky);
  const auto large = hn::Gt(value, hn::Set(d, int64_t{1} << 40));
  const auto exact = hn::ConvertTo(DF64(), hn::IfThenElse(large, rounded, value));
  const auto single = hn::DemoteTo(DHalfF32(), exact);
  return hn::BitCast(du, hn::PromoteTo(du64, hn::BitCast(DHalfU32(), single)));
#endif
}

struct HarrisResponse {
  // 25 * (xx * yy - xy^2) - (xx + yy)^2 of the even lanes.
  static HWY_INLINE hn::Vec<D64> Even(V32 xx, V32 yy, V32 xy, V32 trace) {
    const auto determinant = hn::Sub(hn::MulEven(xx, yy), hn::MulEven(xy, xy));
    const auto times_24 = hn::Add(hn::ShiftLeft<4>(determinant), hn::ShiftLeft<3>(determinant));
    return hn::Sub(hn::Add(times_24, determinant), hn::MulEven(trace, trace));
  }
  static HWY_INLINE V32 OddToEven(V32 v) {
    return hn::BitCast(D32(), hn::ShiftRight<32>(hn::BitCast(DU64(), v)));
  }
  static HWY_INLINE VU32 Order(V32 xx, V32 yy, V32 xy) {
    const DU32 du;
    const V32 trace = hn::Add(xx, yy);
    const VU32 even = ToFloat(Even(xx, yy, xy, trace));
    const VU32 odd = ToFloat(Even(OddToEven(xx), OddToEven(yy), OddToEven(xy), OddToEven(trace)));
    const auto odd_up = hn::BitCast(du, hn::ShiftLeft<32>(hn::BitCast(DU64(), odd)));
    return OrderOf(hn::BitCast(DF32(), hn::Or(even, odd_up)));
  }
};

struct ShiTomasiResponse {
  static HWY_INLINE hn::Vec<DHalf32> Root(hn::Vec<DHalf32> difference, hn::Vec<DHalf32> twice_xy) {
    const DF64 d;
    const auto a = hn::PromoteTo(d, difference);
    const auto b = hn::PromoteTo(d, twice_xy);
    return hn::DemoteTo(DHalf32(), hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b))));
  }
  static HWY_INLINE VU32 Order(V32 xx, V32 yy, V32 xy) {
    const D32 d;
    const DHalf32 half;
    const V32 difference = hn::Sub(xx, yy);
    const V32 twice_xy = hn::Add(xy, xy);
    const auto lower = Root(hn::LowerHalf(half, difference), hn::LowerHalf(half, twice_xy));
    const auto upper = Root(hn::UpperHalf(half, difference), hn::UpperHalf(half, twice_xy));
    const V32 twice = hn::Sub(hn::Add(xx, yy), hn::Combine(d, upper, lower));
    return OrderOf(hn::Mul(hn::ConvertTo(DF32(), twice), hn::Set(DF32(), 0.5f)));
  }
};

// Lanes of the columns [x, x + kLanes32) that lie in [begin, end).
HWY_INLINE hn::Mask<D32> ColumnsWithin(int x, int begin, int end) {
  const D32 d;
  const V32 column = hn::Iota(d, x);
  return hn::And(hn::Gt(column, hn::Set(d, begin - 1)), hn::Lt(column, hn::Set(d, end)));
}

template <typename Response>
uint32_t CornerMapOf(const CornerMapTask& task, uint8_t* scratch) {
  const D32 d32;
  const DU32 du;
  const Region& part = task.part;
  if (part.empty()) return 0;
  const ptrdiff_t pixel_pitch = task.image.pitch_bytes;
  const Columns columns = ColumnsIn(scratch);
  VU32 top = hn::Zero(du);
  for (int begin = part.x_begin; begin < part.x_end; begin += kCornerMapTilePx) {
    const int end = std::min(begin + kCornerMapTilePx, part.x_end);
    const int count = end - begin + kWindow - 1;  // columns of gradients
    std::memset(scratch, 0, kCornerMapScratchBytes);
    for (int row = part.y_begin - kRadius; row < part.y_end + kRadius; ++row) {
      AddRow(task.image.Row(row) + begin - kRadius, pixel_pitch, row, count, columns);
      const int y = row - kRadius;
      if (y < part.y_begin) continue;
      uint32_t* const out = task.map + y * task.pitch;
      const uint8_t* const mask = task.mask.empty() ? nullptr : task.mask.Row(y);
      const bool is_counted = y >= task.counted.y_begin && y < task.counted.y_end;
      for (int x = begin; x < end; x += kLanes32) {
        const int i = x - begin;
        VU32 order = Response::Order(SumOfWindow(columns.xx + i), SumOfWindow(columns.yy + i),
                                     SumOfWindow(columns.xy + i));
        if (mask != nullptr) {
          const auto pixels = hn::PromoteTo(du, hn::LoadU(D8For32(), mask + x));
          order = hn::IfThenZeroElse(hn::Eq(pixels, hn::Zero(du)), order);
        }
        if (x + kLanes32 <= end) {
          hn::StoreU(order, du, out + x);
        } else {
          hn::BlendedStore(order, hn::FirstN(du, static_cast<size_t>(end - x)), du, out + x);
        }
        if (!is_counted) continue;
        const int counted_end = std::min(end, task.counted.x_end);
        if (x < task.counted.x_begin || x + kLanes32 > counted_end) {
          order = hn::IfThenElseZero(
              hn::RebindMask(du, ColumnsWithin(x, task.counted.x_begin, counted_end)), order);
        }
        top = hn::Max(top, order);
      }
    }
  }
  return hn::GetLane(hn::MaxOfLanes(du, top));
}

uint32_t HarrisMap(const CornerMapTask& task, uint8_t* scratch) {
  return CornerMapOf<HarrisResponse>(task, scratch);
}

uint32_t ShiTomasiMap(const CornerMapTask& task, uint8_t* scratch) {
  return CornerMapOf<ShiTomasiResponse>(task, scratch);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {
namespace {

CornerMapKernel HarrisMapFor(int64_t target){
    ORBSERVE_SIMD_SELECT(HarrisMap, ReferenceHarrisMap, target)}

CornerMapKernel ShiTomasiMapFor(int64_t target) {
  ORBSERVE_SIMD_SELECT(ShiTomasiMap, ReferenceShiTomasiMap, target)
}

}  // namespace

CornerMapKernel CornerMapKernelFor(Detector detector, const KernelTarget& target) {
  return detector == Detector::kHarris ? HarrisMapFor(target.simd_target)
                                       : ShiTomasiMapFor(target.simd_target);
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
