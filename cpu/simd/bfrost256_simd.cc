// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// BFROST-256: the twins of features/algo/bfrost.h, from integral images and from pixels.
//
// The four corners of each square are gathered, a vector of squares at a time. Sums are stored
// twice in a row, so that the partners of tests 0, 1 and 2 are plain loads from 8, 24 and 36
// entries further on; they have the areas of the samples themselves, so no product is needed. The
// partners of test 3 are the next four samples in reverse.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/bfrost256_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/describe/bfrost256.h"
#include "features/algo/bfrost.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D32()));
constexpr int kSamples = algo::kBFrostSamples;
// Pixels of a row of a square that are added at a time.
using D8Row = hn::CappedTag<uint8_t, 32>;
constexpr int kRowLanes = static_cast<int>(hn::MaxLanes(D8Row()));
constexpr std::array<algo::BFrostSample, kSamples> kSquares = algo::MakeBFrostSamples();

// Offsets of the corners of each square from the entry of the keypoint.
struct Offsets {
  alignas(64) int32_t top_left[kSamples];
  alignas(64) int32_t top_right[kSamples];
  alignas(64) int32_t bottom_left[kSamples];
  alignas(64) int32_t bottom_right[kSamples];
};

void FillOffsets(ptrdiff_t pitch, Offsets* offsets) {
  const auto row = static_cast<int32_t>(pitch);
  for (int i = 0; i < kSamples; ++i) {
    const algo::BFrostSample sample = algo::BFrostSampleOf(i);
    const int h = sample.half_side;
    const int32_t top = (sample.y - h) * row + sample.x;
    const int32_t bottom = (sample.y + h + 1) * row + sample.x;
    offsets->top_left[i] = top - h;
    offsets->top_right[i] = top + h + 1;
    offsets->bottom_left[i] = bottom - h;
    offsets->bottom_right[i] = bottom + h + 1;
  }
}

HWY_INLINE hn::Vec<D32> Gather(const int32_t* corner, const int32_t* offsets) {
  const D32 d;
  return hn::GatherIndex(d, corner, hn::Load(d, offsets));
}

// Eight bytes with four bits each become four bytes: the odd ones are the upper halves.
HWY_INLINE uint32_t JoinHalves(uint64_t halves) {
  halves |= halves >> 4;
  halves &= 0x00ff00ff00ff00ffu;
  halves |= halves >> 8;
  halves &= 0x0000ffff0000ffffu;
  return static_cast<uint32_t>(halves | halves >> 16);
}

// Sums of all squares, twice in a row, so that no partner is beyond the end.
struct SquareSums {
  alignas(64) int32_t of[2 * kSamples];
};

HWY_INLINE void SumSquares(const int32_t* corner, const Offsets& offsets, SquareSums* sums) {
  const D32 d;
  for (int i = 0; i < kSamples; i += kLanes) {
    const auto right =
        hn::Sub(Gather(corner, offsets.bottom_right + i), Gather(corner, offsets.top_right + i));
    const auto left =
        hn::Sub(Gather(corner, offsets.bottom_left + i), Gather(corner, offsets.top_left + i));
    const auto sum = hn::Sub(right, left);
    hn::Store(sum, d, sums->of + i);
    hn::Store(sum, d, sums->of + kSamples + i);
  }
}

// Sum of a square of kSide pixels a side that begins at `top_left`. Reads up to a vector from the
// left column of each row on.
template <int kSide>
HWY_INLINE int32_t SumOfPixels(const uint8_t* top_left, ptrdiff_t pitch) {
  const D8Row d;
  const hn::Repartition<uint64_t, D8Row> d64;
  auto sum = hn::Zero(d64);
  for (int u = 0; u < kSide; u += kRowLanes) {
    const auto inside = hn::VecFromMask(d, hn::FirstN(d, static_cast<size_t>(kSide - u)));
    for (int v = 0; v < kSide; ++v) {
      const auto row = hn::And(hn::LoadU(d, top_left + v * pitch + u), inside);
      sum = hn::Add(sum, hn::SumsOf8(row));
    }
  }
  return static_cast<int32_t>(hn::GetLane(hn::SumOfLanes(d64, sum)));
}

template <int kCircle>
HWY_INLINE void SumCircle(const uint8_t* centre, ptrdiff_t pitch, SquareSums* sums) {
  constexpr int kHalf = algo::BFrostSampleOf(kCircle).half_side;
  for (int i = kCircle; i < kSamples; i += algo::kBFrostCircles) {
    const algo::BFrostSample& sample = kSquares[static_cast<size_t>(i)];
    const int32_t sum =
        SumOfPixels<2 * kHalf + 1>(centre + (sample.y - kHalf) * pitch + sample.x - kHalf, pitch);
    sums->of[i] = sums->of[kSamples + i] = sum;
  }
}

HWY_INLINE void DescribeSums(const int32_t* sums, int direction, uint8_t* descriptor) {
  alignas(64) static constexpr int32_t kArea[16] = {9, 49, 169, 625, 9, 49, 169, 625,
                                                    9, 49, 169, 625, 9, 49, 169, 625};
  const D32 d;
  const hn::Rebind<uint8_t, D32> d8;
  const auto area = hn::Load(d, kArea);
  const auto partner_area = hn::Shuffle0123(area);
  alignas(64) uint8_t halves[kSamples];
  for (int i = 0; i < kSamples; i += kLanes) {
    const auto own = hn::Load(d, sums + i);
    const auto across = hn::Shuffle0123(hn::LoadU(d, sums + i + 4));
    const auto below = [&](int distance, int bit) HWY_ATTR {
      return hn::IfThenElseZero(hn::Lt(own, hn::LoadU(d, sums + i + distance)),
                                hn::Set(d, 1 << bit));
    };
    const auto last = hn::IfThenElseZero(hn::Lt(hn::Mul(own, partner_area), hn::Mul(across, area)),
                                         hn::Set(d, 1 << 3));
    const auto bits = hn::Or(hn::Or(below(8, 0), below(24, 1)), hn::Or(below(36, 2), last));
    hn::StoreU(hn::DemoteTo(d8, bits), d8, halves + i);
  }
  // The descriptor of direction 0 twice in a row. Turning it moves its beginning.
  uint32_t words[2 * algo::kBFrostBytes / 4];
  for (int w = 0; w < algo::kBFrostBytes / 4; ++w) {
    uint64_t eight;
    std::memcpy(&eight, halves + 8 * w, sizeof(eight));
    words[w] = words[w + algo::kBFrostBytes / 4] = JoinHalves(eight);
  }
  std::memcpy(descriptor, reinterpret_cast<const uint8_t*>(words) + 2 * direction,
              algo::kBFrostBytes);
}

void DescribeBFrost256(const IntegralView& integral, const LevelPoint* points, int count,
                       uint8_t* descriptors) {
  Offsets offsets;
  FillOffsets(integral.pitch, &offsets);
  for (int i = 0; i < count; ++i) {
    // The difference of sums modulo 2^32 has the same bits with and without a sign.
    const auto* const corner =
        reinterpret_cast<const int32_t*>(integral.Row(points[i].y) + points[i].x);
    SquareSums sums;
    SumSquares(corner, offsets, &sums);
    DescribeSums(sums.of, algo::BFrostDirectionOf(points[i].angle_deg),
                 descriptors + static_cast<ptrdiff_t>(i) * algo::kBFrostBytes);
  }
}

void DescribeBFrost256OfPixels(const ImageView& image, const LevelPoint* points, int count,
                               uint8_t* descriptors) {
  for (int i = 0; i < count; ++i) {
    const uint8_t* const centre = image.Row(points[i].y) + points[i].x;
    SquareSums sums;
    SumCircle<0>(centre, image.pitch_bytes, &sums);
    SumCircle<1>(centre, image.pitch_bytes, &sums);
    SumCircle<2>(centre, image.pitch_bytes, &sums);
    SumCircle<3>(centre, image.pitch_bytes, &sums);
    DescribeSums(sums.of, algo::BFrostDirectionOf(points[i].angle_deg),
                 descriptors + static_cast<ptrdiff_t>(i) * algo::kBFrostBytes);
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

BFrost256OfPixelsKernel BFrost256OfPixelsKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(DescribeBFrost256OfPixels, ReferenceBFrost256OfPixels, target.simd_target)}

BFrost256Kernel BFrost256KernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(DescribeBFrost256, ReferenceBFrost256, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
