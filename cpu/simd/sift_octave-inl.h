// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The scale space of SIFT: the twin of features/algo/sift_scale_space.h. Included once per target
// by sift_simd.cc.
//
// An octave is made in one pass over its rows. Each blur is a stage that keeps the row-filtered
// rows that its columns still need; a finished row goes on to the next stage while it is in the
// first-level cache. Columns are filtered for two rows at once, which share all but two of the rows
// that they read, and for kSiftGroupRows rows by pieces that the first-level cache holds: the rows
// of all stages together need the second-level cache, and are read from there once a group. The
// last stage's rows complete the differences, of which three rows are kept for the test of extrema.

#if defined(ORBSERVE_CPU_SIMD_SIFT_OCTAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_SIFT_OCTAVE_INL_H_
#undef ORBSERVE_CPU_SIMD_SIFT_OCTAVE_INL_H_
#else
#define ORBSERVE_CPU_SIMD_SIFT_OCTAVE_INL_H_
#endif

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/kernels/sift_kernels.h"
#include "cpu/simd/ops-inl.h"
#include "cpu/simd/sift_vectors-inl.h"
#include "features/algo/sift_scale_space.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kSiftGroupRows = 8;

// Floats of an image from which on its rows are written past the caches: none would hold an octave
// of such images until its features are described.
constexpr ptrdiff_t kSiftStreamedFloats = 1 << 19;

struct SiftStage {
  const SiftBlur* blur = nullptr;
  float* ring = nullptr;  // row-filtered rows
  int ring_rows = 0;
  float* input[kSiftGroupRows] = {};  // rows with room for mirrored pixels on both sides
  float* image = nullptr;
  float* others = nullptr;  // kOthers rows instead of those of `image` that are not made here
  int next = 0;             // row of `image`
};

#if HWY_ARCH_X86
// Lanes kShift, kShift + 1, ... of the two vectors one after the other.
template <int kShift>
HWY_INLINE SiftV ShiftSift(SiftV low, SiftV high) {
#if HWY_TARGET <= HWY_AVX3
  return SiftV{_mm512_castsi512_ps(
      _mm512_alignr_epi32(_mm512_castps_si512(high.raw), _mm512_castps_si512(low.raw), kShift))};
#else
  const __m256i a = _mm256_castps_si256(low.raw);
  const __m256i b = _mm256_castps_si256(high.raw);
  const __m256i middle = _mm256_permute2x128_si256(a, b, 0x21);
  if constexpr (kShift == 4) {
    return SiftV{_mm256_castsi256_ps(middle)};
  } else if constexpr (kShift < 4) {
    return SiftV{_mm256_castsi256_ps(_mm256_alignr_epi8(middle, a, 4 * kShift))};
  } else {
    return SiftV{_mm256_castsi256_ps(_mm256_alignr_epi8(b, middle, 4 * kShift - 16))};
  }
#endif
}

// Adds tap kTap to the sums of four vectors of pixels from `row`, which is aligned, on.
template <int kRadius, int kTap>
HWY_INLINE void AddSiftTap(const float* HWY_RESTRICT row, const float* HWY_RESTRICT taps,
                           SiftV (&sum)[4]) {
  const SiftF d;
  constexpr int kOffset = kTap - kRadius;
  // Pixels from an aligned one on, which is kShift to the left.
  constexpr int kShift = (kOffset % kSiftLanes + kSiftLanes) % kSiftLanes;
  const auto tap = hn::Set(d, taps[kOffset < 0 ? -kOffset : kOffset]);
  const auto pixels = [&](auto vector) {
    constexpr int kVector = decltype(vector)::value;
    const float* const at = row + kOffset + kVector * kSiftLanes;
    // A load from two cache lines takes the time of two. About as many vectors are put together
    // from aligned ones as keep both kinds of units busy.
    constexpr bool kOneLine =
        kSiftLanes == 8 && ((kOffset - kShift) / kSiftLanes + kVector) % 2 == 0;
    constexpr bool kLoad = kShift == 0 || (kSiftLanes == 8 ? kOneLine : kTap % 2 == 0);
    if constexpr (kLoad) {
      return hn::LoadU(d, at);
    } else {
      return ShiftSift<kShift>(hn::Load(d, at - kShift), hn::Load(d, at - kShift + kSiftLanes));
    }
  };
  const auto add = [&](auto vector) {
    constexpr int kVector = decltype(vector)::value;
    sum[kVector] =
        kTap == 0 ? hn::Mul(pixels(vector), tap) : hn::MulAdd(pixels(vector), tap, sum[kVector]);
  };
  add(std::integral_constant<int, 0>());
  add(std::integral_constant<int, 1>());
  add(std::integral_constant<int, 2>());
  add(std::integral_constant<int, 3>());
}

// FilterSiftRow() for the beginning of a row, of which it returns the length.
template <int kRadius, int... kTap>
HWY_INLINE int FilterSiftRowOf(const float* HWY_RESTRICT row, int width,
                               const float* HWY_RESTRICT taps, float* HWY_RESTRICT out,
                               std::integer_sequence<int, kTap...> /*taps*/) {
  const SiftF d;
  int x = 0;
  for (; x + 4 * kSiftLanes <= width; x += 4 * kSiftLanes) {
    SiftV sum[4];
    (AddSiftTap<kRadius, kTap>(row + x, taps, sum), ...);
    for (int i = 0; i < 4; ++i) hn::StoreU(sum[i], d, out + x + i * kSiftLanes);
  }
  return x;
}

template <int kRadius>
HWY_INLINE int FilterSiftRowOf(const float* row, int width, const SiftBlur& blur, float* out) {
  return FilterSiftRowOf<kRadius>(row, width, blur.taps, out,
                                  std::make_integer_sequence<int, 2 * kRadius + 1>());
}
#endif

// Row-filtered pixels of `row`, which has `radius` pixels on either side.
HWY_INLINE void FilterSiftRow(const float* HWY_RESTRICT row, int width, const SiftBlur& blur,
                              float* HWY_RESTRICT out) {
  const SiftF d;
  const int radius = blur.radius;
  if (radius == 0) {
    std::memcpy(out, row, sizeof(float) * static_cast<size_t>(width));
    return;
  }
  if (radius <= algo::kSiftSmallRadius) {
    const auto centre = hn::Set(d, blur.taps[0]);
    const auto inner = hn::Set(d, blur.taps[1]);
    const auto outer = hn::Set(d, blur.taps[2]);
    for (int x = 0; x < width; x += kSiftLanes) {
      const auto pair = hn::Add(hn::LoadU(d, row + x - 1), hn::LoadU(d, row + x + 1));
      auto sum = hn::MulAdd(hn::LoadU(d, row + x), centre, hn::Mul(pair, inner));
      if (radius == 2) {
        const auto far = hn::Add(hn::LoadU(d, row + x + 2), hn::LoadU(d, row + x - 2));
        sum = hn::MulAdd(far, outer, sum);
      }
      hn::StoreU(sum, d, out + x);
    }
    if (width % 2 != 0) {
      out[width - 1] = algo::SiftBlurRow(row + width - 1, blur.taps, radius, true);
    }
    return;
  }
  int x = 0;
#if HWY_ARCH_X86
  // The blurs of the default options.
  switch (radius) {
    case 5:
      x = FilterSiftRowOf<5>(row, width, blur, out);
      break;
    case 6:
      x = FilterSiftRowOf<6>(row, width, blur, out);
      break;
    case 8:
      x = FilterSiftRowOf<8>(row, width, blur, out);
      break;
    case 10:
      x = FilterSiftRowOf<10>(row, width, blur, out);
      break;
    case 13:
      x = FilterSiftRowOf<13>(row, width, blur, out);
      break;
    default:
      break;
  }
#endif
  constexpr int kBlock = 8 * kSiftLanes;
  for (; x + kBlock <= width; x += kBlock) {
    const float* const from = row + x - radius;
    auto tap = hn::Set(d, blur.taps[radius]);
    auto s0 = hn::Mul(hn::LoadU(d, from), tap);
    auto s1 = hn::Mul(hn::LoadU(d, from + kSiftLanes), tap);
    auto s2 = hn::Mul(hn::LoadU(d, from + 2 * kSiftLanes), tap);
    auto s3 = hn::Mul(hn::LoadU(d, from + 3 * kSiftLanes), tap);
    auto s4 = hn::Mul(hn::LoadU(d, from + 4 * kSiftLanes), tap);
    auto s5 = hn::Mul(hn::LoadU(d, from + 5 * kSiftLanes), tap);
    auto s6 = hn::Mul(hn::LoadU(d, from + 6 * kSiftLanes), tap);
    auto s7 = hn::Mul(hn::LoadU(d, from + 7 * kSiftLanes), tap);
    for (int i = 1; i <= 2 * radius; ++i) {
      tap = hn::Set(d, blur.taps[std::abs(i - radius)]);
      const float* const at = from + i;
      s0 = hn::MulAdd(hn::LoadU(d, at), tap, s0);
      s1 = hn::MulAdd(hn::LoadU(d, at + kSiftLanes), tap, s1);
      s2 = hn::MulAdd(hn::LoadU(d, at + 2 * kSiftLanes), tap, s2);
      s3 = hn::MulAdd(hn::LoadU(d, at + 3 * kSiftLanes), tap, s3);
      s4 = hn::MulAdd(hn::LoadU(d, at + 4 * kSiftLanes), tap, s4);
      s5 = hn::MulAdd(hn::LoadU(d, at + 5 * kSiftLanes), tap, s5);
      s6 = hn::MulAdd(hn::LoadU(d, at + 6 * kSiftLanes), tap, s6);
      s7 = hn::MulAdd(hn::LoadU(d, at + 7 * kSiftLanes), tap, s7);
    }
    hn::StoreU(s0, d, out + x);
    hn::StoreU(s1, d, out + x + kSiftLanes);
    hn::StoreU(s2, d, out + x + 2 * kSiftLanes);
    hn::StoreU(s3, d, out + x + 3 * kSiftLanes);
    hn::StoreU(s4, d, out + x + 4 * kSiftLanes);
    hn::StoreU(s5, d, out + x + 5 * kSiftLanes);
    hn::StoreU(s6, d, out + x + 6 * kSiftLanes);
    hn::StoreU(s7, d, out + x + 7 * kSiftLanes);
  }
  for (; x < width; x += kSiftLanes) {
    const float* const from = row + x - radius;
    auto sum = hn::Mul(hn::LoadU(d, from), hn::Set(d, blur.taps[radius]));
    for (int i = 1; i <= 2 * radius; ++i) {
      sum = hn::MulAdd(hn::LoadU(d, from + i), hn::Set(d, blur.taps[std::abs(i - radius)]), sum);
    }
    hn::StoreU(sum, d, out + x);
  }
}

// Columns [x, x + kVectors * kSiftLanes) of two rows of an image, of which the upper has its
// centre at rows[radius]. Each is stored twice, if `streams` past the caches in `image`.
template <int kVectors>
HWY_INLINE void FilterSiftColumns(const float* const* rows, const SiftBlur& blur, int x,
                                  bool streams, float* const* image, float* const* copy) {
  const SiftF d;
  const int radius = blur.radius;
  SiftV sum[2][kVectors];
  SiftV low[kVectors];   // the row last read below the upper centre
  SiftV high[kVectors];  // and above the lower one
  const auto centre = hn::Set(d, blur.taps[0]);
  for (int i = 0; i < kVectors; ++i) {
    high[i] = hn::LoadU(d, rows[radius] + x + i * kSiftLanes);
    low[i] = hn::LoadU(d, rows[radius + 1] + x + i * kSiftLanes);
    sum[0][i] = hn::Mul(high[i], centre);
    sum[1][i] = hn::Mul(low[i], centre);
  }
  for (int k = 1; k <= radius; ++k) {
    const auto tap = hn::Set(d, blur.taps[k]);
    const float* const above = rows[radius - k] + x;
    const float* const below = rows[radius + 1 + k] + x;
    for (int i = 0; i < kVectors; ++i) {
      const auto up = hn::LoadU(d, above + i * kSiftLanes);
      const auto down = hn::LoadU(d, below + i * kSiftLanes);
      sum[0][i] = hn::MulAdd(hn::Add(low[i], up), tap, sum[0][i]);
      sum[1][i] = hn::MulAdd(hn::Add(down, high[i]), tap, sum[1][i]);
      low[i] = down;
      high[i] = up;
    }
  }
  for (int i = 0; i < kVectors; ++i) {
    const int at = x + i * kSiftLanes;
    for (int row = 0; row < 2; ++row) {
      if (streams) {
        hn::Stream(sum[row][i], d, image[row] + at);
      } else {
        hn::StoreU(sum[row][i], d, image[row] + at);
      }
      if (copy[row] != nullptr) hn::StoreU(sum[row][i], d, copy[row] + at);
    }
  }
}

// The rows of an octave on their way through its stages.
class SiftStream {
 public:
  // Stages lead to the images `first` to `count` - 1, by `blurs` in that order. Without `layers`
  // no extrema are looked for.
  SiftStream(float* const* images, int first, int count, const SiftBlur* blurs, int width,
             int height, ptrdiff_t pitch, int layers, SiftBands* bands, SiftScratch* scratch)
      : images_(images),
        width_(width),
        height_(height),
        pitch_(pitch),
        layers_(layers),
        streams_(layers > 0 && pitch * height >= kSiftStreamedFloats),
        bands_(bands) {
    size_t size = kSiftAlign;
    for (int i = first; i < count; ++i) {
      SiftStage& stage = stages_[stage_count_++];
      stage.blur = blurs + (i - first);
      stage.ring_rows = 2 * stage.blur->radius + kSiftGroupRows;
      stage.image = images[i];
      streams_ = streams_ && reinterpret_cast<uintptr_t>(images[i]) % 64 == 0;
      size += static_cast<size_t>(stage.ring_rows + kOthers) * pitch +
              kSiftGroupRows * InputSize(*stage.blur);
    }
    if (layers > 0) size += kKept * static_cast<size_t>(layers + 2) * pitch;
    if (scratch->rows.size() < size) scratch->rows.resize(size);
    float* end = Aligned(scratch->rows.data());
    for (int i = 0; i < stage_count_; ++i) {
      SiftStage& stage = stages_[i];
      stage.ring = end;
      end += stage.ring_rows * pitch;
      for (float*& input : stage.input) {
        input = end + RoundUp(stage.blur->radius, kSiftAlign);
        end += InputSize(*stage.blur);
      }
      stage.others = end;
      end += kOthers * pitch;
    }
    differences_ = end;
  }

  // Makes all rows that this thread gets. `fill(y, row)` fills row `y` of the source.
  template <typename Fill>
  void Run(const Fill& fill, std::vector<SiftCandidate>* candidates) {
    for (band_ = bands_ != nullptr ? bands_->TakeAny() : 0; band_ >= 0;
         band_ = bands_ != nullptr ? bands_->TakeAny() : -1) {
      const int first = Begin();
      for (int y = first; stages_[stage_count_ - 1].next < end_; ++y) {
        fill(y, stages_[0].input[y % kSiftGroupRows]);
        Push(0, y, candidates);
      }
    }
    if (streams_) hwy::FlushStream();
  }

 private:
  static constexpr int kKept = 3;    // rows of differences
  static constexpr int kOthers = 3;  // two above the rows that are made here, and one for the rest
  static constexpr int kChunkPx = 256;  // searched at once: for the first-level cache

  static float* Aligned(float* memory) {
    const auto address = reinterpret_cast<uintptr_t>(memory);
    return memory + (RoundUp<uintptr_t>(address, 64) - address) / sizeof(float);
  }
  ptrdiff_t InputSize(const SiftBlur& blur) const {
    return pitch_ + 2 * RoundUp(blur.radius, kSiftAlign) + kSiftAlign;
  }
  float* Difference(int i, int y) { return differences_ + (i * kKept + y % kKept) * pitch_; }

  // Sets out for the rows of `band_` and returns the first row of the source that they need.
  int Begin() {
    begin_ = bands_ != nullptr ? bands_->RowOf(band_) : 0;
    end_ = bands_ != nullptr ? bands_->RowOf(band_ + 1) : height_;
    // Extrema of the row above need the differences of two more.
    int first = layers_ > 0 ? std::max(0, begin_ - 2) : begin_;
    for (int i = stage_count_ - 1; i >= 0; --i) {
      stages_[i].next = first;
      first = std::max(0, first - stages_[i].blur->radius);
    }
    return first;
  }
  // The first stage is about to make the rows before `row`: gets the bands with them if it can.
  void Extend(int row) {
    while (row > end_ && bands_ != nullptr && bands_->Take(band_ + 1)) {
      ++band_;
      end_ = bands_->RowOf(band_ + 1);
    }
  }
  // Row `y` of a stage's image is written here, and is found here as long as it is needed.
  float* Row(const SiftStage& stage, int y) const {
    if (y >= begin_ && y < end_) return stage.image + y * pitch_;
    return stage.others + (y < begin_ ? y % 2 : 2) * pitch_;
  }

  void Push(int index, int y, std::vector<SiftCandidate>* candidates) {
    SiftStage& stage = stages_[index];
    const int radius = stage.blur->radius;
    float* const input = stage.input[y % kSiftGroupRows];
    for (int i = 1; i <= radius; ++i) {
      input[-i] = input[algo::SiftMirror(-i, width_)];
      input[width_ - 1 + i] = input[algo::SiftMirror(width_ - 1 + i, width_)];
    }
    FilterSiftRow(input, width_, *stage.blur, stage.ring + y % stage.ring_rows * pitch_);
    const bool last = y == height_ - 1;
    while (stage.next < height_ && (last || y >= stage.next + kSiftGroupRows - 1 + radius)) {
      const int count = std::min(kSiftGroupRows, height_ - stage.next);
      if (index == 0) Extend(stage.next + count);
      FinishRows(index, count);
      const int from = stage.next;
      stage.next += count;
      for (int i = 0; i < count; ++i) {
        if (index + 1 < stage_count_) {
          Push(index + 1, from + i, candidates);
        } else if (layers_ > 0) {
          FindExtrema(from + i, candidates);
        }
      }
    }
  }

  // The next `count` <= kSiftGroupRows rows of a stage's image.
  void FinishRows(int index, int count) {
    SiftStage& stage = stages_[index];
    const int radius = stage.blur->radius;
    const float* rows[2 * algo::kSiftMaxRadius + kSiftGroupRows];
    for (int i = 0; i < 2 * radius + RoundUp(count, 2); ++i) {
      const int y = algo::SiftMirror(stage.next - radius + i, height_);
      rows[i] = stage.ring + y % stage.ring_rows * pitch_;
    }
    float* image[kSiftGroupRows];
    float* copy[kSiftGroupRows] = {};
    for (int i = 0; i < count; ++i) {
      const int y = stage.next + i;
      image[i] = Row(stage, y);
      if (index + 1 < stage_count_) copy[i] = stages_[index + 1].input[y % kSiftGroupRows];
    }
    if (count % 2 != 0) {
      // The row that would be the lower of two goes where nothing is read any more.
      image[count] = stage.input[(stage.next + count) % kSiftGroupRows];
      copy[count] = nullptr;
    }
    constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
    constexpr int kPiece = 64;
    int x = 0;
    for (; x + kPiece <= width_; x += kPiece) {
      for (int i = 0; i < count; i += 2) {
        for (int at = x; at < x + kPiece; at += kVectors * kSiftLanes) {
          FilterSiftColumns<kVectors>(rows + i, *stage.blur, at, streams_, image + i, copy + i);
        }
      }
    }
    for (; x < width_; x += kSiftLanes) {
      for (int i = 0; i < count; i += 2) {
        FilterSiftColumns<1>(rows + i, *stage.blur, x, streams_, image + i, copy + i);
      }
    }
  }

  // Row `y` of all images is there: differences of that row, extrema of the row above.
  void FindExtrema(int y, std::vector<SiftCandidate>* candidates) {
    if (y >= end_) return;
    const SiftF d;
    const int images = layers_ + algo::kSiftExtraImages;
    const float* row[algo::kSiftMaxLayers + algo::kSiftExtraImages];
    float* out[algo::kSiftMaxLayers + 2];
    row[0] = images_[0] + y * pitch_;
    for (int i = 1; i < images; ++i) row[i] = Row(stages_[i - 1], y);
    for (int i = 0; i + 1 < images; ++i) out[i] = Difference(i, y);
    for (int x = 0; x < width_; x += kSiftLanes) {
      auto before = hn::LoadU(d, row[0] + x);
      for (int i = 1; i < images; ++i) {
        const auto image = hn::LoadU(d, row[i] + x);
        hn::StoreU(hn::Sub(image, before), d, out[i - 1] + x);
        before = image;
      }
    }
    if (y < begin_) return;
    --y;
    if (y < algo::kSiftBorderPx || y >= height_ - algo::kSiftBorderPx) return;
    const int end = width_ - algo::kSiftBorderPx;
    for (int x = algo::kSiftBorderPx; x < end; x += kChunkPx) {
      if (layers_ == 3) {
        FindExtremaOfChunk<3>(y, x, std::min(x + kChunkPx, end), candidates);
      } else {
        FindExtremaOfChunk<0>(y, x, std::min(x + kChunkPx, end), candidates);
      }
    }
  }

  // Finds the extrema among the pixels [begin, end) of a row. `kLayers` is layers_, or 0 for any
  // number.
  template <int kLayers>
  HWY_INLINE void FindExtremaOfChunk(int y, int begin, int end,
                                     std::vector<SiftCandidate>* candidates) {
    constexpr int kMost = (kLayers == 0 ? algo::kSiftMaxLayers : kLayers) + 2;
    const SiftF d;
    const int differences = (kLayers == 0 ? layers_ : kLayers) + 2;
    // No difference lies between these and the limits, which it must exceed.
    const auto least_high = hn::Set(d, std::nextafter(least_difference, 1e30f));
    const auto most_low = hn::Neg(least_high);
    // For each layer the most and the least of three pixels below each other in three differences,
    // one column more on either side.
    alignas(64) float most[kMost][kChunkPx + 2 * kSiftLanes];
    alignas(64) float least[kMost][kChunkPx + 2 * kSiftLanes];
    const float* above[kMost];
    const float* centre[kMost];
    const float* below[kMost];
    for (int i = 0; i < differences; ++i) {
      above[i] = Difference(i, y - 1) + begin - 1;
      centre[i] = Difference(i, y) + begin - 1;
      below[i] = Difference(i, y + 1) + begin - 1;
    }
    for (int x = 0; x < end - begin + 2; x += kSiftLanes) {
      SiftV high[kMost];
      SiftV low[kMost];
      for (int i = 0; i < differences; ++i) {
        const auto a = hn::LoadU(d, above[i] + x);
        const auto b = hn::LoadU(d, centre[i] + x);
        const auto c = hn::LoadU(d, below[i] + x);
        high[i] = hn::Max(hn::Max(a, c), b);
        low[i] = hn::Min(hn::Min(a, c), b);
      }
      for (int i = 1; i < differences - 1; ++i) {
        hn::Store(hn::Max(hn::Max(high[i - 1], high[i]), high[i + 1]), d, most[i] + x);
        hn::Store(hn::Min(hn::Min(low[i - 1], low[i]), low[i + 1]), d, least[i] + x);
      }
    }
    for (int x = 0; x < end - begin; x += kSiftLanes) {
      // No less than all 27, itself among them.
      const auto extrema = [&](int layer) {
        const auto value = hn::LoadU(d, centre[layer] + x + 1);
        const float* const highs = most[layer] + x;
        const float* const lows = least[layer] + x;
        const auto top = hn::Max(hn::Max(hn::Load(d, highs), least_high),
                                 hn::Max(hn::LoadU(d, highs + 1), hn::LoadU(d, highs + 2)));
        const auto bottom = hn::Min(hn::Min(hn::Load(d, lows), most_low),
                                    hn::Min(hn::LoadU(d, lows + 1), hn::LoadU(d, lows + 2)));
        return hn::Or(hn::Ge(value, top), hn::Le(value, bottom));
      };
      auto any = extrema(1);
      for (int layer = 2; layer <= differences - 2; ++layer) any = hn::Or(any, extrema(layer));
      if (hn::AllFalse(d, any)) continue;
      for (int layer = 1; layer <= differences - 2; ++layer) {
        uint32_t bits = MaskBits(d, extrema(layer));
        if (end - begin - x < kSiftLanes) bits &= FirstBits(end - begin - x);
        for (; bits != 0; bits &= bits - 1) {
          candidates->push_back({static_cast<int16_t>(layer), static_cast<int16_t>(y),
                                 static_cast<int16_t>(begin + x + __builtin_ctz(bits))});
        }
      }
    }
  }

 public:
  float least_difference = 0.0f;

 private:
  float* const* images_;
  int width_;
  int height_;
  ptrdiff_t pitch_;
  int layers_;
  bool streams_;
  SiftBands* bands_;
  int band_ = 0;
  int begin_ = 0;  // rows of the images that are made here
  int end_ = 0;
  int stage_count_ = 0;
  SiftStage stages_[algo::kSiftMaxLayers + algo::kSiftExtraImages];
  float* differences_ = nullptr;
};

void MakeFirstSiftImage(const ImageView& grey, bool doubled, const SiftBlur& blur, float* image,
                        ptrdiff_t pitch, SiftBands* bands, SiftScratch* scratch) {
  const SiftF d;
  const int scale = doubled ? 2 : 1;
  const int width = scale * grey.width_px;
  const int height = scale * grey.height_px;
  float* const images[] = {image};
  SiftStream stream(images, 0, 1, &blur, width, height, pitch, 0, bands, scratch);
  // Four times the pixels between two rows, one more on either side.
  std::vector<float>& between = scratch->samples;
  if (doubled) between.resize(static_cast<size_t>(grey.width_px) + 2 + kSiftAlign);
  const auto fill = [&](int y, float* row) {
    if (!doubled) {
      const uint8_t* const from = grey.Row(y);
      for (int x = 0; x < width; ++x) row[x] = static_cast<float>(from[x]);
    } else {
      const int near = y / 2;
      const int far = Clamp(near + (y % 2 != 0 ? 1 : -1), 0, grey.height_px - 1);
      const uint8_t* const a = grey.Row(near);
      const uint8_t* const b = grey.Row(far);
      float* const middle = between.data() + 1;
      for (int x = 0; x < grey.width_px; ++x) middle[x] = static_cast<float>(3 * a[x] + b[x]);
      middle[-1] = middle[0];
      middle[grey.width_px] = middle[grey.width_px - 1];
      const auto three = hn::Set(d, 3.0f);
      const auto sixteenth = hn::Set(d, 0.0625f);
      int x = 0;
      for (; x + kSiftLanes <= grey.width_px; x += kSiftLanes) {
        const auto centre = hn::Mul(hn::LoadU(d, middle + x), three);
        const auto even = hn::Mul(hn::Add(centre, hn::LoadU(d, middle + x - 1)), sixteenth);
        const auto odd = hn::Mul(hn::Add(centre, hn::LoadU(d, middle + x + 1)), sixteenth);
        hn::StoreInterleaved2(even, odd, d, row + 2 * x);
      }
      for (; x < grey.width_px; ++x) {
        row[2 * x] = (3.0f * middle[x] + middle[x - 1]) * 0.0625f;
        row[2 * x + 1] = (3.0f * middle[x] + middle[x + 1]) * 0.0625f;
      }
    }
  };
  stream.Run(fill, nullptr);
}

void HalveSift(const float* from, ptrdiff_t from_pitch, int width, int height, float* to,
               ptrdiff_t to_pitch) {
  const SiftF d;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; x += kSiftLanes) {
      SiftV even;
      SiftV odd;
      hn::LoadInterleaved2(d, from + 2 * y * from_pitch + 2 * x, even, odd);
      hn::StoreU(even, d, to + y * to_pitch + x);
    }
  }
}

void MakeSiftOctave(const SiftOctaveTask& task, SiftScratch* scratch,
                    std::vector<SiftCandidate>* candidates) {
  SiftStream stream(task.images, 1, task.layers + algo::kSiftExtraImages, task.blurs + 1,
                    task.width_px, task.height_px, task.pitch, task.layers, task.bands, scratch);
  stream.least_difference = task.least_difference;
  const auto fill = [&](int y, float* row) {
    std::memcpy(row, task.images[0] + y * task.pitch,
                sizeof(float) * static_cast<size_t>(task.width_px));
  };
  stream.Run(fill, candidates);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_SIFT_OCTAVE_INL_H_
