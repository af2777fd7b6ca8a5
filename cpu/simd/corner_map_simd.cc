// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corner maps: the twin of features/algo/corner_map.h.
//
// A tile of columns is done row by row. Each row of gradients enters the sums of its columns over
// seven rows and the row seven rows above leaves them:
//
//   new^2 - old^2 = (new - old) * (new + old)
//
// Multiply-adds of neighbouring lanes make sums of pairs of columns, from an even one on; with the
// odd lanes cleared, of the even column alone. The sums of a pixel are those of seven columns:
//
//   from an even column    (0 1) + (2 3) + (4 5) + 6
//   from an odd column         1 + (2 3) + (4 5) + (6 7)     1 = (0 1) - 0
//
// Responses need more than 32 bits:
//
//   HARRIS      25 * (A * B - C^2) - (A + B)^2 in 64-bit integers. A double holds 53 bits, so the
//               lowest bits of large values are first replaced by one that says whether they held
//               any ("sticky"); rounding to single precision then gives what rounding once does.
//   SHI_TOMASI  The integer root of (A - B)^2 + 4 * C^2 as algo::SquareRootFloor() finds it. A
//               reciprocal of 8 bits is enough there: it is multiplied by less than 15.

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

// Sums over the rows of the window, by pairs of columns.
struct PairSums {
  int32_t* pair;  // of both columns
  int32_t* even;  // of the even column
};

// Columns of a tile in the scratch memory of the kernel.
struct Columns {
  PairSums xx;
  PairSums yy;
  PairSums xy;
  int16_t* gradients;  // [row % kWindow][x or y][column]

  int16_t* Gradients(int row, int component) const {
    return gradients +
           static_cast<ptrdiff_t>(row % kWindow * 2 + component) * kCornerMapScratchColumns;
  }
};

HWY_INLINE Columns ColumnsIn(uint8_t* scratch) {
  constexpr int kPairs = kCornerMapScratchColumns / 2;
  auto* sums = reinterpret_cast<int32_t*>(scratch);
  Columns columns;
  for (PairSums* of : {&columns.xx, &columns.yy, &columns.xy}) {
    *of = {sums, sums + kPairs};
    sums += 2 * kPairs;
  }
  columns.gradients = reinterpret_cast<int16_t*>(sums);
  return columns;
}

HWY_INLINE void Add(V32 more, int32_t* sums) {
  const D32 d;
  hn::Store(hn::Add(hn::Load(d, sums), more), d, sums);
}

// Takes row `row` of gradients into the sums of columns, and row `row` - kWindow out of them.
// `pixels`: the first column's pixel of that row.
HWY_INLINE void AddRow(const uint8_t* pixels, ptrdiff_t pitch, int row, int count,
                       const Columns& columns) {
  const D16 d;
  const D8For16 d8;
  const V16 even_lanes = hn::BitCast(d, hn::Set(D32(), 0xffff));
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
    const V16 gx = hn::Sub(right, left);
    const V16 gy = hn::Sub(below, above);
    const V16 old_x = hn::Load(d, gradients_x + i);
    const V16 old_y = hn::Load(d, gradients_y + i);
    hn::Store(gx, d, gradients_x + i);
    hn::Store(gy, d, gradients_y + i);
    const auto add_squares = [&](V16 now, V16 old, const PairSums& sums) {
      const V16 difference = hn::Sub(now, old);
      const V16 sum = hn::Add(now, old);
      Add(SumPairProducts(difference, sum), sums.pair + i / 2);
      Add(SumPairProducts(hn::And(difference, even_lanes), sum), sums.even + i / 2);
    };
    add_squares(gx, old_x, columns.xx);
    add_squares(gy, old_y, columns.yy);
    Add(hn::Sub(SumPairProducts(gx, gy), SumPairProducts(old_x, old_y)), columns.xy.pair + i / 2);
    Add(hn::Sub(SumPairProducts(hn::And(gx, even_lanes), gy),
                SumPairProducts(hn::And(old_x, even_lanes), old_y)),
        columns.xy.even + i / 2);
  }
}

// Sums of the windows that begin at the even and at the odd columns of kLanes32 pairs.
struct WindowSums {
  V32 of[2];
};

// The vector `kBy` lanes behind the one at `sums`.
template <int kBy>
HWY_INLINE V32 Behind(const int32_t* sums, V32 here, V32 next) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  (void)sums;
  return V32{_mm512_alignr_epi32(next.raw, here.raw, kBy)};
#else
  (void)here;
  (void)next;
  return hn::LoadU(D32(), sums + kBy);
#endif
}

HWY_INLINE WindowSums SumsOfWindows(const PairSums& sums, int pair) {
  const D32 d;
  const int32_t* const pairs = sums.pair + pair;
  const int32_t* const evens = sums.even + pair;
  const V32 here = hn::Load(d, pairs);
  const V32 next = hn::Load(d, pairs + kLanes32);
  const V32 even_here = hn::Load(d, evens);
  const V32 even_next = hn::Load(d, evens + kLanes32);
  const V32 shared = hn::Add(Behind<1>(pairs, here, next), Behind<2>(pairs, here, next));
  return {{hn::Add(hn::Add(shared, here), Behind<3>(evens, even_here, even_next)),
           hn::Add(hn::Add(shared, Behind<3>(pairs, here, next)), hn::Sub(here, even_here))}};
}

// The lanes of both in turn: even[0], odd[0], even[1], ... in `lower`, then `upper`.
HWY_INLINE void Interleave(VU32 even, VU32 odd, VU32* lower, VU32* upper) {
  const DU32 d;
  const VU32 low = hn::InterleaveLower(d, even, odd);
  const VU32 high = hn::InterleaveUpper(d, even, odd);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  *lower = VU32{_mm512_permutex2var_epi64(low.raw, first, high.raw)};
  *upper = VU32{_mm512_permutex2var_epi64(low.raw, second, high.raw)};
#elif HWY_ARCH_X86
  *lower = hn::ConcatLowerLower(d, high, low);
  *upper = hn::ConcatUpperUpper(d, high, low);
#else
  *lower = low;
  *upper = high;
#endif
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
  static HWY_INLINE void Order(const WindowSums& xx, const WindowSums& yy, const WindowSums& xy,
                               VU32 (&orders)[2]) {
    for (int i = 0; i < 2; ++i) orders[i] = OrderOfOne(xx.of[i], yy.of[i], xy.of[i]);
  }
  static HWY_INLINE VU32 OrderOfOne(V32 xx, V32 yy, V32 xy) {
    const DU32 du;
    const V32 trace = hn::Add(xx, yy);
    const VU32 even = ToFloat(Even(xx, yy, xy, trace));
    const VU32 odd = ToFloat(Even(OddToEven(xx), OddToEven(yy), OddToEven(xy), OddToEven(trace)));
    const auto odd_up = hn::BitCast(du, hn::ShiftLeft<32>(hn::BitCast(DU64(), odd)));
    return OrderOf(hn::BitCast(DF32(), hn::Or(even, odd_up)));
  }
};

struct ShiTomasiResponse {
  // Both vectors step by step: a root takes many steps that wait for each other.
  static HWY_INLINE void Order(const WindowSums& xx, const WindowSums& yy, const WindowSums& xy,
                               VU32 (&orders)[2]) {
    const DF32 df;
    const auto half = hn::Set(df, 0.5f);
    V32 low_bits[2];
    V32 root[2];
    VecF32 estimate[2];
    for (int i = 0; i < 2; ++i) {
      const V32 difference = hn::Sub(xx.of[i], yy.of[i]);
      const V32 twice_xy = hn::Add(xy.of[i], xy.of[i]);
      low_bits[i] = hn::Add(hn::Mul(difference, difference), hn::Mul(twice_xy, twice_xy));
      const auto a = hn::ConvertTo(df, difference);
      const auto b = hn::ConvertTo(df, twice_xy);
      estimate[i] = hn::MulAdd(a, a, hn::Mul(b, b));
    }
    for (int i = 0; i < 2; ++i) estimate[i] = hn::Sqrt(estimate[i]);
    for (int i = 0; i < 2; ++i) root[i] = RoundToInt32(estimate[i]);
    // Roots below 2^22 are less than 1 off: single precision is to half a unit there.
    const auto exact = hn::Set(df, 4194304.0f);
    if (!hn::AllTrue(df, hn::Lt(hn::Max(estimate[0], estimate[1]), exact))) {
      VecF32 missing[2];
      for (int i = 0; i < 2; ++i) {
        missing[i] = hn::ConvertTo(df, hn::Sub(low_bits[i], hn::Mul(root[i], root[i])));
        estimate[i] =
            hn::Mul(half, hn::ApproximateReciprocal(hn::Max(estimate[i], hn::Set(df, 1.0f))));
      }
      for (int i = 0; i < 2; ++i) {
        root[i] = hn::Add(root[i], RoundToInt32(hn::Mul(missing[i], estimate[i])));
      }
    }
    for (int i = 0; i < 2; ++i) {
      // One less where the square is too large.
      const V32 is_less = hn::ShiftRight<31>(hn::Sub(low_bits[i], hn::Mul(root[i], root[i])));
      root[i] = hn::Sub(hn::Sub(hn::Add(xx.of[i], yy.of[i]), root[i]), is_less);
    }
    for (int i = 0; i < 2; ++i) {
      orders[i] = OrderOf(hn::Mul(hn::ConvertTo(df, root[i]), half));
    }
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
  [[maybe_unused]] const D32 d32;  // which some responses and targets need
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
      const int counted_end = std::min(end, task.counted.x_end);
      const auto write = [&](VU32 order, int x) {
        if (mask != nullptr) {
          const auto pixels = hn::PromoteTo(du, hn::LoadU(D8For32(), mask + x));
          order = hn::IfThenZeroElse(hn::Eq(pixels, hn::Zero(du)), order);
        }
        if (x + kLanes32 <= end) {
          hn::StoreU(order, du, out + x);
        } else {
          hn::BlendedStore(order, hn::FirstN(du, static_cast<size_t>(end - x)), du, out + x);
        }
        if (!is_counted) return;
        if (x < task.counted.x_begin || x + kLanes32 > counted_end) {
          order = hn::IfThenElseZero(
              hn::RebindMask(du, ColumnsWithin(x, task.counted.x_begin, counted_end)), order);
        }
        top = hn::Max(top, order);
      };
      for (int x = begin; x < end; x += 2 * kLanes32) {
        const int pair = (x - begin) / 2;
        const WindowSums xx = SumsOfWindows(columns.xx, pair);
        const WindowSums yy = SumsOfWindows(columns.yy, pair);
        const WindowSums xy = SumsOfWindows(columns.xy, pair);
        VU32 orders[2];
        Response::Order(xx, yy, xy, orders);
        VU32 lower;
        VU32 upper;
        Interleave(orders[0], orders[1], &lower, &upper);
        write(lower, x);
        if (x + kLanes32 < end) write(upper, x + kLanes32);
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
