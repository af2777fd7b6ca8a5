// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force matching: bit_match-inl.h has strings of bits by Hamming distance, vector_match-inl.h
// vectors of bytes.
//
// Where places decide, few pairs are admissible. The train set is then sorted by place
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

#include "features/algo/match_window.h"
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

// ---- By places: the place decides first

// First of [begin, end) for which `is_before` is false, where all for which it is true come first.
// Branch-free: which half is taken cannot be foreseen.
template <typename IsBefore>
HWY_INLINE int FirstNotBefore(int begin, int end, const IsBefore& is_before) {
  int count = end - begin;
  while (count > 0) {
    const int half = (count + 1) / 2;
    begin += is_before(begin + half - 1) ? half : 0;
    count -= half;
  }
  return begin;
}

// The places that one query admits. The bounds of either coordinate: a place below the lower or
// above the upper bound is not admissible, and nor are the smaller or larger ones.
// Copies of the numbers stay in registers.
template <bool kBand>
struct PlaceBounds {
  float x;
  float y;
  float centre_x;
  float centre_y;
  float offset_x;  // of the places
  float offset_y;
  float half_side_px;
  algo::MatchBand band;

  HWY_INLINE PlaceBounds(const WindowSearch& search, int q)
      : x(search.query.x[q]),
        y(search.query.y[q]),
        centre_x(x + search.query.offset_x_px),
        centre_y(y + search.query.offset_y_px),
        offset_x(search.train.offset_x_px),
        offset_y(search.train.offset_y_px),
        half_side_px(search.half_side_px),
        band(search.band) {}

  HWY_INLINE bool IsEmpty() const { return !std::isfinite(centre_x) || !std::isfinite(centre_y); }
  // Without a band there is no offset, whose sum would make each step of a search longer.
  static HWY_INLINE float Moved(float place, float offset) {
    return kBand ? place + offset : place;
  }
  HWY_INLINE bool IsLeft(float place) const {
    const bool left = Moved(place, offset_x) - centre_x < -half_side_px;
    return kBand ? left | (x - place > band.max_dx_px) : left;
  }
  HWY_INLINE bool IsAbove(float place) const {
    const bool above = Moved(place, offset_y) - centre_y < -half_side_px;
    return kBand ? above | (y - place > band.max_dy_px) : above;
  }
  HWY_INLINE bool IsBelow(float place) const {
    const bool below = Moved(place, offset_y) - centre_y > half_side_px;
    return kBand ? below | (y - place < -band.max_dy_px) : below;
  }
};

// a x + b y + c, near 0 for the keypoints of an epipolar line. The sizes are those of the terms
// that single precision rounds on the way to each coefficient.
struct LineOfSearch {
  double a;
  double b;
  double c;
  double size_a;
  double size_b;
  double size_c;

  // The line of a query keypoint.
  explicit LineOfSearch(const algo::EpipolarLine& line)
      : a(line.a),
        b(line.b),
        c(line.c),
        size_a(std::fabs(a)),
        size_b(std::fabs(b)),
        size_c(std::fabs(c)) {}
  // The line of a train keypoint in the query image, on which its product with each query's line
  // is 0.
  LineOfSearch(const float* f, double x, double y)
      : a(f[0] * x + f[3] * y + f[6]),
        b(f[1] * x + f[4] * y + f[7]),
        c(f[2] * x + f[5] * y + f[8]),
        size_a(std::fabs(f[0] * x) + std::fabs(f[3] * y) + std::fabs(f[6])),
        size_b(std::fabs(f[1] * x) + std::fabs(f[4] * y) + std::fabs(f[7])),
        size_c(std::fabs(f[2] * x) + std::fabs(f[5] * y) + std::fabs(f[8])) {}
};

// Narrows [begin, end) of a strip to keypoints whose value on `line` may be within `most`. The
// interval is computed in double precision and made wider than the rounding of the test in single
// precision.
HWY_INLINE void NarrowToLine(const PlaceStrips& strips, int strip, const LineOfSearch& line,
                             float most_of_line, int* begin, int* end) {
  if (*begin >= *end) return;
  const float* const xs = strips.x.data();
  const double least_y = strips.least_y[static_cast<size_t>(strip)];
  const double most_y = strips.most_y[static_cast<size_t>(strip)];
  const double far_x = std::max(std::fabs(xs[*begin]), std::fabs(xs[*end - 1]));
  const double far_y = std::max(std::fabs(least_y), std::fabs(most_y));
  const double sizes = line.size_a * far_x + line.size_b * far_y + line.size_c;
  // A value has eight roundings of at most 2^-24 of `sizes`, and more if it has no exponent left.
  const double most = most_of_line + 2e-6 * sizes + 1e-37;
  if (!(most < 1e37)) return;  // the test may overflow, or a number is NaN
  // a x is in [low, high] for some y of the strip.
  const double low = -most - std::max(line.b * least_y, line.b * most_y) - line.c;
  const double high = most - std::min(line.b * least_y, line.b * most_y) - line.c;
  if (line.a == 0.0) {
    if (low > 0.0 || high < 0.0) *end = *begin;
    return;
  }
  const double one = low / line.a;
  const double other = high / line.a;
  if (!std::isfinite(one) || !std::isfinite(other)) return;
  const double slack = 1e-12 * std::max(std::fabs(one), std::fabs(other));
  const double left = std::min(one, other) - slack;
  const double right = std::max(one, other) + slack;
  *begin = FirstNotBefore(*begin, *end, [&](int i) { return xs[i] < left; });
  *end = FirstNotBefore(*begin, *end, [&](int i) { return xs[i] <= right; });
}

// Calls take(row) for the admissible keypoints of [begin, end), part of a strip. None of them lies
// left of it.
template <bool kBand, typename Take>
HWY_INLINE void ForEachAdmissible(const WindowSearch& search, const PlaceBounds<kBand>& bounds,
                                  const algo::EpipolarLine& line, int begin, int end,
                                  const Take& take) {
  const hn::CappedTag<float, PlaceStrips::kPadding> d;
  const PlaceStrips& strips = *search.strips;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto most = hn::Set(d, bounds.half_side_px);
  const auto least = hn::Set(d, -bounds.half_side_px);
  const auto centre_x = hn::Set(d, bounds.centre_x);
  const auto centre_y = hn::Set(d, bounds.centre_y);
  const auto offset_x = hn::Set(d, bounds.offset_x);
  const auto offset_y = hn::Set(d, bounds.offset_y);
  for (int i = begin; i < end; i += lanes) {
    const auto place_x = hn::LoadU(d, strips.x.data() + i);
    const auto place_y = hn::LoadU(d, strips.y.data() + i);
    const auto dx = hn::Sub(kBand ? hn::Add(place_x, offset_x) : place_x, centre_x);
    const auto dy = hn::Sub(kBand ? hn::Add(place_y, offset_y) : place_y, centre_y);
    auto not_right = hn::Le(dx, most);
    auto in_height = hn::And(hn::Le(dy, most), hn::Ge(dy, least));
    if constexpr (kBand) {
      const auto x = hn::Set(d, bounds.x);
      const auto y = hn::Set(d, bounds.y);
      const auto rows_apart = hn::Sub(y, place_y);
      not_right =
          hn::And(not_right, hn::Ge(hn::Sub(x, place_x), hn::Set(d, bounds.band.min_dx_px)));
      in_height =
          hn::And(in_height, hn::And(hn::Le(rows_apart, hn::Set(d, bounds.band.max_dy_px)),
                                     hn::Ge(rows_apart, hn::Set(d, -bounds.band.max_dy_px))));
      if (search.query_lines != nullptr) {
        const auto value = hn::Add(
            hn::Add(hn::Mul(hn::Set(d, line.a), place_x), hn::Mul(hn::Set(d, line.b), place_y)),
            hn::Set(d, line.c));
        in_height = hn::And(in_height, hn::And(hn::Le(value, hn::Set(d, line.most)),
                                               hn::Ge(value, hn::Set(d, -line.most))));
      } else if (search.strip_lines != nullptr) {
        const EpipolarLines& lines = search.strip_lines->lines;
        const auto value = hn::Add(hn::Add(hn::Mul(hn::LoadU(d, lines.a.data() + i), x),
                                           hn::Mul(hn::LoadU(d, lines.b.data() + i), y)),
                                   hn::LoadU(d, lines.c.data() + i));
        const auto near = hn::LoadU(d, lines.most.data() + i);
        in_height = hn::And(in_height, hn::And(hn::Le(value, near), hn::Ge(value, hn::Neg(near))));
      }
    }
    // Behind the end the next strip begins.
    const auto in_strip = hn::FirstN(d, static_cast<size_t>(std::min(end - i, lanes)));
    const auto admissible = hn::And(hn::And(not_right, in_strip), in_height);
    uint8_t mask_bytes[8] = {};
    hn::StoreMaskBits(d, admissible, mask_bytes);
    uint64_t mask;
    std::memcpy(&mask, mask_bytes, sizeof(mask));
    for (; mask != 0; mask &= mask - 1) {
      const int lane = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(mask));
      take(strips.index[static_cast<size_t>(i + lane)]);
    }
    if (!hn::AllTrue(d, not_right)) return;
  }
}

template <int kDescriptorBytes, bool kBand>
HWY_INLINE void NearestByPlace(const WindowSearch& search, int query_begin, int query_end, int k,
                               Neighbour* nearest) {
  const PlaceStrips& strips = *search.strips;
  const int strip_count = strips.strips();
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    const uint8_t* const row = search.query.rows + static_cast<ptrdiff_t>(q) * kDescriptorBytes;
    const PlaceBounds<kBand> bounds(search, q);
    if (bounds.IsEmpty()) continue;
    const bool has_line = kBand && search.query_lines != nullptr;
    const bool has_strip_lines = kBand && search.strip_lines != nullptr;
    const algo::EpipolarLine line =
        has_line ? (*search.query_lines)[static_cast<size_t>(q)] : algo::EpipolarLine{};
    const LineOfSearch narrow =
        has_strip_lines ? LineOfSearch(search.strip_lines->epipolar.f, bounds.x, bounds.y)
                        : LineOfSearch(line);
    int strip = FirstNotBefore(0, strip_count, [&](int i) {
      return bounds.IsAbove(strips.most_y[static_cast<size_t>(i)]);
    });
    for (; strip < strip_count && !bounds.IsBelow(strips.least_y[static_cast<size_t>(strip)]);
         ++strip) {
      int end = strips.end(strip);
      int begin = FirstNotBefore(strips.begin(strip), end, [&](int i) {
        return bounds.IsLeft(strips.x[static_cast<size_t>(i)]);
      });
      if (has_line) NarrowToLine(strips, strip, narrow, line.most, &begin, &end);
      if (has_strip_lines) {
        NarrowToLine(strips, strip, narrow, search.strip_lines->most[static_cast<size_t>(strip)],
                     &begin, &end);
      }
      ForEachAdmissible(search, bounds, line, begin, end, [&](uint32_t index) HWY_ATTR {
        const uint32_t distance = RowDistance<kDescriptorBytes>(
            row, search.train.rows + static_cast<ptrdiff_t>(index) * kDescriptorBytes);
        const Neighbour candidate = MakeNeighbour(distance, index);
        if (candidate < list[k - 1]) Insert(candidate, k, list);
      });
    }
  }
}

template <int kDescriptorBytes>
HWY_INLINE void NearestInWindowOfSize(const WindowSearch& search, int query_begin, int query_end,
                                      int k, Neighbour* nearest) {
  if (search.has_band) {
    NearestByPlace<kDescriptorBytes, true>(search, query_begin, query_end, k, nearest);
  } else {
    NearestByPlace<kDescriptorBytes, false>(search, query_begin, query_end, k, nearest);
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
