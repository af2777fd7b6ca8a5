// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Loops over the pixels of track patches: the twin of the plain loops in cpu/tracking/.
//
// Samples, gradients and residuals fit into 16 bits, products of two are summed in pairs into 32. A
// vector holds one or more parts of rows of a patch of side s. The rows in one vector are s / rows
// apart, so that the lower row of pixels of one step is the upper row of the next:
//
//   lanes   s    rows of a vector          steps   blocks of columns
//     8     8    j                            8        1
//     8    16    j, half of it               16        2
//    16     8    j, j + 4                     4        1
//    16    16    j                           16        1
//    32     8    j, j + 2, j + 4, j + 6       2        1
//    32    16    j, j + 8                     8        1
//
// Gradients and samples of the template are kept in this order. Patches that hang over the edge of
// a level are copied with the edge pixels repeated, and then searched like all others.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/lucas_kanade_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/simd/ops-inl.h"
#include "cpu/tracking/follow_points.h"
#include "features/algo/lucas_kanade.h"
#include "features/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::RepartitionToWide<D16>;
using D8 = hn::Rebind<uint8_t, D16>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D16()));

constexpr int kFineSide = algo::kFineTrackPatchPx;
constexpr int kMaxOuter = kFineSide + 2;
constexpr int kSamplePitch = 32;  // of template samples: whole vectors
// Bytes that are copied at once, and those between two rows of a copied square: a row of at most 19
// pixels and what is copied beyond its end.
constexpr int kCopyBytes = 32;
constexpr int kCopyPitch = 64;
static_assert(kMaxOuter + 1 + kCopyBytes <= kCopyPitch);

// Division of a patch of `kSide` pixels into vectors (table above).
template <int kSide>
struct Division {
  static constexpr int kWidth = kSide < kLanes ? kSide : kLanes;
  static constexpr int kRows = kLanes / kWidth;
  static constexpr int kBlocks = kSide / kWidth;
  static constexpr int kSteps = kSide / kRows;
};

// A vector of kRows parts of rows, which begin at `first` and every `apart` elements after it.
template <int kRows, class D>
HWY_INLINE hn::Vec<D> LoadRows(D d, const hn::TFromD<D>* first, ptrdiff_t apart) {
  if constexpr (kRows == 1) {
    return hn::LoadU(d, first);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadRows<kRows / 2>(half, first + kRows / 2 * apart, apart),
                       LoadRows<kRows / 2>(half, first, apart));
  }
}

// Pixels and their right neighbours, as the operands of SumPairProducts().
struct PixelPairs {
  VecI16 lower;
  VecI16 upper;
};

template <int kRows>
HWY_INLINE PixelPairs LoadPairs(const uint8_t* pixel, ptrdiff_t apart) {
  const D16 d16;
  const auto left = hn::PromoteTo(d16, LoadRows<kRows>(D8(), pixel, apart));
  const auto right = hn::PromoteTo(d16, LoadRows<kRows>(D8(), pixel + 1, apart));
  return {hn::InterleaveLower(d16, left, right), hn::InterleaveUpper(d16, left, right)};
}

// sum + a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1].
HWY_INLINE VecI32 AddPairProducts(VecI32 sum, VecI16 a, VecI16 b) {
  return hn::Add(sum, SumPairProducts(a, b));
}

// Weights of a sampler in vectors.
class VectorSampler {
 public:
  explicit VectorSampler(const algo::TrackSampler& sampler)
      : top_(Pair(sampler.w00, sampler.w01)),
        bottom_(Pair(sampler.w10, sampler.w11)),
        half_(hn::Set(D32(), 512)) {}

  HWY_INLINE VecI16 Sample(const PixelPairs& top, const PixelPairs& bottom) const {
    // Interleaving and this demotion both work within blocks of 16 bytes: the order is restored.
    return hn::ReorderDemote2To(D16(), Mean(top.lower, bottom.lower),
                                Mean(top.upper, bottom.upper));
  }

 private:
  static HWY_INLINE VecI16 Pair(int32_t left, int32_t right) {
    return hn::BitCast(D16(), hn::Set(D32(), left | right * (1 << 16)));
  }
  HWY_INLINE VecI32 Mean(VecI16 top, VecI16 bottom) const {
    return hn::ShiftRight<10>(AddPairProducts(AddPairProducts(half_, top, top_), bottom, bottom_));
  }

  VecI16 top_;
  VecI16 bottom_;
  VecI32 half_;
};

HWY_INLINE int32_t SumLanes(VecI32 v) { return hn::GetLane(hn::SumOfLanes(D32(), v)); }

// Sum that may not fit into 32 bits.
HWY_INLINE int64_t SumLanesWide(VecI32 v) {
  HWY_ALIGN int32_t lanes[hn::MaxLanes(D32())];
  hn::Store(v, D32(), lanes);
  int64_t sum = 0;
  for (const int32_t lane : lanes) sum += lane;
  return sum;
}

// The loops of features/algo/lucas_kanade.h. Functions with `kGain` or `kOffset` leave out the
// sums that are not needed without them.
class SimdLoops {
 public:
  SimdLoops(const TrackFrames& frames, const PointPatches& patches)
      : frames_(frames), patches_(patches) {}

  HWY_NOINLINE void TakeTemplate(int level, int side, int32_t x, int32_t y) {
    const int outer = side + 2;
    if (patches_.given != nullptr) {
      const int16_t* const given = patches_.given + PatchOffset(level);
      for (int j = 0; j < outer; ++j) {
        std::copy_n(given + j * outer, outer, samples_ + j * kSamplePitch);
      }
      return;
    }
    const algo::TrackSampler sampler = algo::TrackSamplerAt(x, y);
    const Square square = SquareAt(frames_.from[static_cast<size_t>(level)],
                                   sampler.x - side / 2 - 1, sampler.y - side / 2 - 1, outer + 1);
    const VectorSampler vectors(sampler);
    for (int i = 0; i < outer; i += kLanes) {
      PixelPairs top = LoadPairs<1>(square.first + i, 0);
      for (int j = 0; j < outer; ++j) {
        const PixelPairs bottom = LoadPairs<1>(square.first + i + (j + 1) * square.pitch, 0);
        hn::StoreU(vectors.Sample(top, bottom), D16(), samples_ + j * kSamplePitch + i);
        top = bottom;
      }
    }
    if (patches_.answered == nullptr) return;
    int16_t* const answered = patches_.answered + PatchOffset(level);
    for (int j = 0; j < outer; ++j) {
      std::copy_n(samples_ + j * kSamplePitch, outer, answered + j * outer);
    }
  }

  void PassTemplate(int level, int side) {
    if (patches_.answered == nullptr) return;
    std::fill_n(patches_.answered + PatchOffset(level), algo::TrackPatchSamples(side), int16_t{0});
  }

  HWY_NOINLINE int TemplateSum(int side) const {
    int sum = 0;
    for (int j = 1; j <= side; ++j) {
      for (int i = 1; i <= side; ++i) sum += samples_[j * kSamplePitch + i];
    }
    return sum;
  }

  HWY_NOINLINE algo::TrackTemplateSums<int64_t> SumTemplate(int side, int mean) {
    mean_ = mean;
    return ForSideAndLight<algo::TrackTemplateSums<int64_t>>(
        side, [&](auto kSide, auto kGain, auto kOffset)
                  HWY_ATTR { return SumTemplateOf<kSide.value, kGain.value, kOffset.value>(); });
  }

  HWY_NOINLINE algo::TrackResidualSums SumResiduals(int level, int side,
                                                    const algo::TrackSampler& sampler,
                                                    int rounded_gain, int rounded_offset) {
    const Square square = SearchSquare(level, side, sampler);
    return ForSideAndLight<algo::TrackResidualSums>(
        side, [&](auto kSide, auto kGain, auto kOffset) HWY_ATTR {
          const D16 d16;
          const auto weight = hn::Zero(D32());
          VecI32 x = weight;
          VecI32 y = weight;
          VecI32 c = weight;
          VecI32 o = weight;
          ForEachResidual<kSide.value, kGain.value>(
              square, sampler, rounded_gain, rounded_offset, [&](int i, VecI16 r) HWY_ATTR {
                x = AddPairProducts(x, hn::Load(d16, gx_ + i), r);
                y = AddPairProducts(y, hn::Load(d16, gy_ + i), r);
                if constexpr (kGain.value) c = AddPairProducts(c, hn::Load(d16, c_ + i), r);
                if constexpr (kOffset.value) {
                  o = AddPairProducts(o, hn::Set(d16, int16_t{1}), r);
                }
              });
          algo::TrackResidualSums sums;
          sums.x = SumLanes(x);
          sums.y = SumLanes(y);
          if constexpr (kGain.value) sums.c = SumLanes(c);
          if constexpr (kOffset.value) sums.o = SumLanes(o);
          return sums;
        });
  }

  HWY_NOINLINE int SumAbsoluteResiduals(const algo::TrackSampler& sampler, int rounded_gain,
                                        int rounded_offset) {
    const D16 d16;
    VecI32 sum = hn::Zero(D32());
    ForEachResidual<kFineSide, true>(
        SearchSquare(0, kFineSide, sampler), sampler, rounded_gain, rounded_offset,
        [&](int /*i*/, VecI16 r)
            HWY_ATTR { sum = AddPairProducts(sum, hn::Set(d16, int16_t{1}), hn::Abs(r)); });
    return SumLanes(sum);
  }

 private:
  // Pixels of a patch and the neighbours that samples need.
  struct Square {
    const uint8_t* first;
    ptrdiff_t pitch;
  };

  int PatchOffset(int level) const {
    return algo::TrackPatchOffset(level, frames_.parameters.coarse_patch_px);
  }

  // Calls `sum` with the side and the light as constants.
  template <class Sums, class Sum>
  HWY_INLINE Sums ForSideAndLight(int side, const Sum& sum) {
    return side == kFineSide ? ForLight<Sums, kFineSide>(sum) : ForLight<Sums, kFineSide / 2>(sum);
  }
  template <class Sums, int kSide, class Sum>
  HWY_INLINE Sums ForLight(const Sum& sum) {
    const std::integral_constant<int, kSide> side;
    if (!frames_.parameters.with_gain) {
      return frames_.parameters.with_offset ? sum(side, std::false_type(), std::true_type())
                                            : sum(side, std::false_type(), std::false_type());
    }
    return frames_.parameters.with_offset ? sum(side, std::true_type(), std::true_type())
                                          : sum(side, std::true_type(), std::false_type());
  }

  // `side_px` x `side_px` pixels from (x, y) on, which may lie outside the image.
  HWY_INLINE Square SquareAt(const ImageView& image, int x, int y, int side_px) {
    if (x >= 0 && y >= 0 && x + side_px <= image.width_px && y + side_px <= image.height_px) {
      return {image.Row(y) + x, image.pitch_bytes};
    }
    return CopyAt(image, x, y, side_px);
  }

  // Copies them, the edge pixels repeated. Fixed sizes are copied; later parts of a row cover what
  // earlier ones wrote too much.
  HWY_NOINLINE Square CopyAt(const ImageView& image, int x, int y, int side_px) {
    if (copy_of_ != image.data || copy_x_ != x || copy_y_ != y || copy_side_ != side_px) {
      copy_of_ = image.data;
      copy_x_ = x;
      copy_y_ = y;
      copy_side_ = side_px;
      const int left = Clamp(-x, 0, side_px);
      const int right = Clamp(x + side_px - image.width_px, 0, side_px);
      const int middle = Clamp(x, 0, image.width_px - 1);
      for (int j = 0; j < side_px; ++j) {
        const uint8_t* const row = image.Row(Clamp(y + j, 0, image.height_px - 1));
        uint8_t* const out = copy_ + j * kCopyPitch;
        std::memset(out, row[0], kCopyBytes);
        std::memcpy(out + left, row + middle, kCopyBytes);
        std::memset(out + side_px - right, row[image.width_px - 1], kCopyBytes);
      }
    }
    return {copy_, kCopyPitch};
  }

  HWY_INLINE Square SearchSquare(int level, int side, const algo::TrackSampler& sampler) {
    return SquareAt(frames_.to[static_cast<size_t>(level)], sampler.x - side / 2,
                    sampler.y - side / 2, side + 1);
  }

  // (3 * (before + after) + 10 * middle + 8) >> 4, `outer` being before + after.
  static HWY_INLINE VecI16 Gradient(VecI16 outer, VecI16 middle) {
    const D16 d16;
    const D32 d32;
    const auto weights = hn::BitCast(d16, hn::Set(d32, 3 + (10 << 16)));
    const auto half = hn::Set(d32, 8);
    const auto lower = AddPairProducts(half, hn::InterleaveLower(d16, outer, middle), weights);
    const auto upper = AddPairProducts(half, hn::InterleaveUpper(d16, outer, middle), weights);
    return hn::ReorderDemote2To(d16, hn::ShiftRight<4>(lower), hn::ShiftRight<4>(upper));
  }

  template <int kSide, bool kGain, bool kOffset>
  HWY_INLINE algo::TrackTemplateSums<int64_t> SumTemplateOf() {
    using Of = Division<kSide>;
    const D16 d16;
    const auto mean = hn::Set(d16, static_cast<int16_t>(mean_));
    const auto one = hn::Set(d16, int16_t{1});
    const auto zero = hn::Zero(D32());
    // A lane adds up 64 pixels at most: 64 * 4080^2 < 2^31.
    static_assert(kSide * kSide / (kLanes / 2) <= 64);
    VecI32 xx = zero, xy = zero, yy = zero, xc = zero, yc = zero, cc = zero, xo = zero, yo = zero,
           co = zero;
    int i = 0;
    for (int block = 0; block < Of::kBlocks; ++block) {
      for (int step = 0; step < Of::kSteps; ++step, i += kLanes) {
        const int16_t* const corner = samples_ + step * kSamplePitch + block * Of::kWidth;
        const auto at = [corner](int row, int column) HWY_ATTR {
          return LoadRows<Of::kRows>(D16(), corner + row * kSamplePitch + column,
                                     Of::kSteps * kSamplePitch);
        };
        const auto top_left = at(0, 0);
        const auto top_right = at(0, 2);
        const auto bottom_left = at(2, 0);
        const auto bottom_right = at(2, 2);
        // The differences of the corners along both diagonals make up both outer sums.
        const auto falling = hn::Sub(bottom_right, top_left);
        const auto rising = hn::Sub(top_right, bottom_left);
        const auto gx = Gradient(hn::Add(falling, rising), hn::Sub(at(1, 2), at(1, 0)));
        const auto gy = Gradient(hn::Sub(falling, rising), hn::Sub(at(2, 1), at(0, 1)));
        const auto c = hn::Sub(at(1, 1), mean);
        hn::Store(gx, d16, gx_ + i);
        hn::Store(gy, d16, gy_ + i);
        hn::Store(c, d16, c_ + i);
        xx = AddPairProducts(xx, gx, gx);
        xy = AddPairProducts(xy, gx, gy);
        yy = AddPairProducts(yy, gy, gy);
        if constexpr (kGain) {
          xc = AddPairProducts(xc, gx, c);
          yc = AddPairProducts(yc, gy, c);
          cc = AddPairProducts(cc, c, c);
        }
        if constexpr (kOffset) {
          xo = AddPairProducts(xo, gx, one);
          yo = AddPairProducts(yo, gy, one);
        }
        if constexpr (kGain && kOffset) co = AddPairProducts(co, c, one);
      }
    }
    algo::TrackTemplateSums<int64_t> sums;
    sums.xx = SumLanesWide(xx);
    sums.xy = SumLanesWide(xy);
    sums.yy = SumLanesWide(yy);
    if constexpr (kGain) {
      sums.xc = SumLanesWide(xc);
      sums.yc = SumLanesWide(yc);
      sums.cc = SumLanesWide(cc);
    }
    if constexpr (kOffset) {
      sums.xo = SumLanesWide(xo);
      sums.yo = SumLanesWide(yo);
    }
    if constexpr (kGain && kOffset) sums.co = SumLanesWide(co);
    return sums;
  }

  // Calls visit(index, residuals) for all vectors of the patch.
  template <int kSide, bool kGain, class Visit>
  HWY_INLINE void ForEachResidual(const Square& square, const algo::TrackSampler& sampler,
                                  int rounded_gain, int rounded_offset, const Visit& visit) {
    using Of = Division<kSide>;
    const D16 d16;
    const VectorSampler vectors(sampler);
    const auto gain = hn::Set(d16, static_cast<int16_t>(rounded_gain));
    // The sample of the template is c + mean. No step leaves 16 bits before the cut:
    // |v - c| <= 8160, |mean + offset| <= 6127, |gain * c| <= 3825.
    const auto offset = hn::Set(d16, static_cast<int16_t>(mean_ + rounded_offset));
    const auto most = hn::Set(d16, static_cast<int16_t>(algo::kMaxTrackDifference));
    const auto least = hn::Set(d16, static_cast<int16_t>(-algo::kMaxTrackDifference));
    const ptrdiff_t apart = Of::kSteps * square.pitch;
    int i = 0;
    for (int block = 0; block < Of::kBlocks; ++block) {
      const uint8_t* pixel = square.first + block * Of::kWidth;
      PixelPairs top = LoadPairs<Of::kRows>(pixel, apart);
      for (int step = 0; step < Of::kSteps; ++step, i += kLanes) {
        pixel += square.pitch;
        const PixelPairs bottom = LoadPairs<Of::kRows>(pixel, apart);
        const auto c = hn::Load(d16, c_ + i);
        auto r = hn::Sub(hn::Sub(vectors.Sample(top, bottom), c), offset);
        if constexpr (kGain) r = hn::Sub(r, hn::MulFixedPoint15(c, gain));
        visit(i, hn::Max(hn::Min(r, most), least));
        top = bottom;
      }
    }
  }

  const TrackFrames& frames_;
  const PointPatches& patches_;
  int mean_ = 0;
  // Gradients, and samples less the mean, in the order of vectors.
  HWY_ALIGN int16_t gx_[kFineSide * kFineSide];
  HWY_ALIGN int16_t gy_[kFineSide * kFineSide];
  HWY_ALIGN int16_t c_[kFineSide * kFineSide];
  HWY_ALIGN int16_t samples_[kMaxOuter * kSamplePitch];
  HWY_ALIGN uint8_t copy_[(kMaxOuter + 1) * kCopyPitch];
  // Square of pixels that `copy_` holds.
  const uint8_t* copy_of_ = nullptr;
  int copy_x_ = 0;
  int copy_y_ = 0;
  int copy_side_ = 0;
};

algo::TrackResult Follow(const TrackFrames& frames, const algo::TrackStart& start,
                         const PointPatches& patches) {
  SimdLoops loops(frames, patches);
  return algo::FollowPoint(frames.parameters, frames.sizes.data(), start, loops);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

FollowKernel FollowKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(Follow, ReferenceFollow, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
