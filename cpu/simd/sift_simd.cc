// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT: the twin of features/algo/sift_*.h, operation for operation.
//
// An octave is made in one pass over its rows. Each blur is a stage that keeps the row-filtered
// rows that its columns still need; a finished row goes on to the next stage while it is in the
// first-level cache. Columns are filtered for two rows at once, which share all but two of the rows
// that they read. The last stage's rows complete the differences, of which three rows are kept for
// the test of extrema.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/sift_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cpu/kernels/sift_kernels.h"
#include "cpu/simd/ops-inl.h"
#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_functions.h"
#include "features/algo/sift_orientation.h"
#include "features/algo/sift_scale_space.h"
#include "features/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using SiftF = hn::ScalableTag<float>;
using SiftI = hn::ScalableTag<int32_t>;
using SiftV = hn::Vec<SiftF>;
constexpr int kSiftLanes = static_cast<int>(hn::MaxLanes(SiftF()));
constexpr int kSiftAlign = 16;  // floats of a cache line, and of the longest vector

// ---- Scale space ----

struct SiftStage {
  const SiftBlur* blur = nullptr;
  float* ring = nullptr;  // row-filtered rows
  int ring_rows = 0;
  float* input[2] = {};  // rows with room for mirrored pixels on both sides
  float* image = nullptr;
  int next = 0;  // row of `image`
};

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
  constexpr int kBlock = 8 * kSiftLanes;
  int x = 0;
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
// centre at rows[radius]. Each is stored twice.
template <int kVectors>
HWY_INLINE void FilterSiftColumns(const float* const* rows, const SiftBlur& blur, int x,
                                  float* const (&image)[2], float* const (&copy)[2]) {
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
      hn::StoreU(sum[row][i], d, image[row] + at);
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
             int height, ptrdiff_t pitch, int layers, SiftScratch* scratch)
      : images_(images), width_(width), height_(height), pitch_(pitch), layers_(layers) {
    size_t size = kSiftAlign;
    for (int i = first; i < count; ++i) {
      SiftStage& stage = stages_[stage_count_++];
      stage.blur = blurs + (i - first);
      stage.ring_rows = 2 * stage.blur->radius + 2;
      stage.image = images[i];
      size += static_cast<size_t>(stage.ring_rows) * pitch + 2 * InputSize(*stage.blur);
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
    }
    differences_ = end;
  }

  // Row `y` of the first stage's image is written here before it is pushed.
  float* Input(int y) { return stages_[0].input[y & 1]; }

  void Push(int y, std::vector<SiftCandidate>* candidates) { Push(0, y, candidates); }

 private:
  static constexpr int kKept = 3;       // rows of differences
  static constexpr int kChunkPx = 256;  // searched at once: for the first-level cache

  static float* Aligned(float* memory) {
    const auto address = reinterpret_cast<uintptr_t>(memory);
    return memory + (RoundUp<uintptr_t>(address, 64) - address) / sizeof(float);
  }
  ptrdiff_t InputSize(const SiftBlur& blur) const {
    return pitch_ + 2 * RoundUp(blur.radius, kSiftAlign) + kSiftAlign;
  }
  float* Difference(int i, int y) { return differences_ + (i * kKept + y % kKept) * pitch_; }

  void Push(int index, int y, std::vector<SiftCandidate>* candidates) {
    SiftStage& stage = stages_[index];
    const int radius = stage.blur->radius;
    float* const input = stage.input[y & 1];
    for (int i = 1; i <= radius; ++i) {
      input[-i] = input[algo::SiftMirror(-i, width_)];
      input[width_ - 1 + i] = input[algo::SiftMirror(width_ - 1 + i, width_)];
    }
    FilterSiftRow(input, width_, *stage.blur, stage.ring + y % stage.ring_rows * pitch_);
    const bool last = y == height_ - 1;
    while (stage.next < height_ && (last || y >= stage.next + 1 + radius)) {
      const int count = std::min(2, height_ - stage.next);
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

  // The next `count` <= 2 rows of a stage's image.
  void FinishRows(int index, int count) {
    SiftStage& stage = stages_[index];
    const int radius = stage.blur->radius;
    const float* rows[2 * algo::kSiftMaxRadius + 2];
    for (int i = 0; i < 2 * radius + 2; ++i) {
      const int y = algo::SiftMirror(stage.next - radius + i, height_);
      rows[i] = stage.ring + y % stage.ring_rows * pitch_;
    }
    float* image[2];
    float* copy[2] = {};
    for (int i = 0; i < 2; ++i) {
      const int y = std::min(stage.next + i, stage.next + count - 1);
      image[i] = stage.image + y * pitch_;
      if (index + 1 < stage_count_) copy[i] = stages_[index + 1].input[y & 1];
    }
    if (count == 1) {
      // The row that would be the lower of two goes where nothing is read.
      image[1] = stage.input[stage.next & 1 ? 0 : 1];
      copy[1] = nullptr;
    }
    constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
    int x = 0;
    for (; x + kVectors * kSiftLanes <= width_; x += kVectors * kSiftLanes) {
      FilterSiftColumns<kVectors>(rows, *stage.blur, x, image, copy);
    }
    for (; x < width_; x += kSiftLanes) {
      FilterSiftColumns<1>(rows, *stage.blur, x, image, copy);
    }
  }

  // Row `y` of all images is there: differences of that row, extrema of the row above.
  void FindExtrema(int y, std::vector<SiftCandidate>* candidates) {
    const SiftF d;
    const int images = layers_ + algo::kSiftExtraImages;
    const float* row[algo::kSiftMaxLayers + algo::kSiftExtraImages];
    float* out[algo::kSiftMaxLayers + 2];
    for (int i = 0; i < images; ++i) row[i] = images_[i] + y * pitch_;
    for (int i = 0; i + 1 < images; ++i) out[i] = Difference(i, y);
    for (int x = 0; x < width_; x += kSiftLanes) {
      auto before = hn::LoadU(d, row[0] + x);
      for (int i = 1; i < images; ++i) {
        const auto image = hn::LoadU(d, row[i] + x);
        hn::StoreU(hn::Sub(image, before), d, out[i - 1] + x);
        before = image;
      }
    }
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
    const auto limit = hn::Set(d, least_difference);
    const auto minus_limit = hn::Neg(limit);
    // The most and the least of three pixels below each other, one column more on either side.
    alignas(64) float most[kMost][kChunkPx + 2 * kSiftLanes];
    alignas(64) float least[kMost][kChunkPx + 2 * kSiftLanes];
    const float* centre[kMost];
    for (int i = 0; i < differences; ++i) {
      const float* const above = Difference(i, y - 1) + begin - 1;
      const float* const at = Difference(i, y) + begin - 1;
      const float* const below = Difference(i, y + 1) + begin - 1;
      centre[i] = at + 1;
      for (int x = 0; x < end - begin + 2; x += kSiftLanes) {
        const auto a = hn::LoadU(d, above + x);
        const auto b = hn::LoadU(d, at + x);
        const auto c = hn::LoadU(d, below + x);
        hn::Store(hn::Max(hn::Max(a, c), b), d, most[i] + x);
        hn::Store(hn::Min(hn::Min(a, c), b), d, least[i] + x);
      }
    }
    for (int x = 0; x < end - begin; x += kSiftLanes) {
      // These are the extremes of the nine places of each difference.
      SiftV high[kMost];
      SiftV low[kMost];
      for (int i = 0; i < differences; ++i) {
        high[i] = hn::Max(hn::Max(hn::Load(d, most[i] + x), hn::LoadU(d, most[i] + x + 2)),
                          hn::LoadU(d, most[i] + x + 1));
        low[i] = hn::Min(hn::Min(hn::Load(d, least[i] + x), hn::LoadU(d, least[i] + x + 2)),
                         hn::LoadU(d, least[i] + x + 1));
      }
      // No less than all 27, itself among them.
      const auto extrema = [&](int layer) {
        const auto value = hn::LoadU(d, centre[layer] + x);
        const auto top = hn::Max(hn::Max(high[layer - 1], high[layer]), high[layer + 1]);
        const auto bottom = hn::Min(hn::Min(low[layer - 1], low[layer]), low[layer + 1]);
        return hn::Or(hn::And(hn::Ge(value, top), hn::Gt(value, limit)),
                      hn::And(hn::Le(value, bottom), hn::Lt(value, minus_limit)));
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
  int stage_count_ = 0;
  SiftStage stages_[algo::kSiftMaxLayers + algo::kSiftExtraImages];
  float* differences_ = nullptr;
};

void MakeFirstSiftImage(const ImageView& grey, bool doubled, const SiftBlur& blur, float* image,
                        ptrdiff_t pitch, SiftScratch* scratch) {
  const SiftF d;
  const int scale = doubled ? 2 : 1;
  const int width = scale * grey.width_px;
  const int height = scale * grey.height_px;
  float* const images[] = {image};
  SiftStream stream(images, 0, 1, &blur, width, height, pitch, 0, scratch);
  // Four times the pixels between two rows, one more on either side.
  std::vector<float>& between = scratch->samples;
  if (doubled) between.resize(static_cast<size_t>(grey.width_px) + 2 + kSiftAlign);
  for (int y = 0; y < height; ++y) {
    float* const row = stream.Input(y);
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
    stream.Push(y, nullptr);
  }
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
                    task.width_px, task.height_px, task.pitch, task.layers, scratch);
  stream.least_difference = task.least_difference;
  for (int y = 0; y < task.height_px; ++y) {
    std::memcpy(stream.Input(y), task.images[0] + y * task.pitch,
                sizeof(float) * static_cast<size_t>(task.width_px));
    stream.Push(y, candidates);
  }
}

// ---- Gradients ----

struct SiftExpTable {
  alignas(64) float entry[algo::kPowersOfTwo];
};
constexpr SiftExpTable MakeSiftExpTable() {
  SiftExpTable table = {};
  for (int i = 0; i < algo::kPowersOfTwo; ++i) table.entry[i] = algo::SiftExpEntry(i);
  return table;
}
constexpr SiftExpTable kSiftExpTable = MakeSiftExpTable();

HWY_INLINE SiftV SiftExps(SiftV x) {
  using F = algo::SiftExpFigures;
  const SiftF d;
  const SiftI di;
  const auto scaled = hn::Mul(x, hn::Set(d, F::kPerOctave));
  const auto whole = RoundToInt32(scaled);
  const auto rest = hn::Mul(hn::Sub(scaled, hn::ConvertTo(d, whole)), hn::Set(d, F::kOctaves));
  const auto power = hn::BitCast(
      d,
      hn::ShiftLeft<23>(hn::Add(hn::ShiftRight<algo::kPowersOfTwoBits>(whole), hn::Set(di, 127))));
  const auto entry =
      hn::GatherIndex(d, kSiftExpTable.entry, hn::And(whole, hn::Set(di, algo::kPowersOfTwo - 1)));
  auto sum = hn::Add(rest, hn::Set(d, F::kA1));
  sum = hn::MulAdd(sum, rest, hn::Set(d, F::kA2));
  sum = hn::MulAdd(sum, rest, hn::Set(d, F::kA3));
  sum = hn::MulAdd(sum, rest, hn::Set(d, F::kA4));
  return hn::Mul(sum, hn::Mul(entry, power));
}

HWY_INLINE SiftV SiftAngles(SiftV y, SiftV x, bool long_form) {
  using F = algo::FastAtan2;
  const SiftF d;
  const auto zero = hn::Zero(d);
  const auto ax = hn::Abs(x);
  const auto ay = hn::Abs(y);
  const auto c = hn::Div(hn::Min(ax, ay), hn::Add(hn::Max(ax, ay), hn::Set(d, F::kEpsilon)));
  const auto c2 = hn::Mul(c, c);
  auto p = hn::MulAdd(c2, hn::Set(d, F::kP7), hn::Set(d, F::kP5));
  p = hn::MulAdd(p, c2, hn::Set(d, F::kP3));
  p = hn::MulAdd(p, c2, hn::Set(d, F::kP1));
  auto angle = hn::Mul(p, c);
  const auto ninety = hn::Set(d, 90.0f);
  const auto turned = long_form ? hn::Sub(ninety, angle) : hn::NegMulAdd(p, c, ninety);
  angle = hn::IfThenElse(hn::Lt(ax, ay), turned, angle);
  angle = hn::IfThenElse(hn::Lt(x, zero), hn::Sub(hn::Set(d, 180.0f), angle), angle);
  return hn::IfThenElse(hn::Lt(y, zero), hn::Sub(hn::Set(d, 360.0f), angle), angle);
}

HWY_INLINE SiftV SiftMagnitudes(SiftV x, SiftV y) {
  return hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y)));
}

// `first`, first + 1, ... Highway 1.0.3 makes such vectors one lane after the other.
HWY_INLINE SiftV SiftCount(int first) {
  alignas(64) static constexpr float kCount[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
  const SiftF d;
  return hn::Add(hn::Load(d, kCount), hn::Set(d, static_cast<float>(first)));
}

// `count` arrays for `samples` values and whole vectors.
HWY_INLINE float* SiftSampleArrays(int arrays, int samples, std::vector<float>* memory,
                                   ptrdiff_t* pitch) {
  *pitch = RoundUp(samples, kSiftAlign) + kSiftAlign;
  const size_t size = static_cast<size_t>(arrays * *pitch);
  if (memory->size() < size) memory->resize(size);
  return memory->data();
}

// An integer among floats.
HWY_INLINE int32_t SiftBin(const float* stored) {
  int32_t bin;
  std::memcpy(&bin, stored, sizeof(bin));
  return bin;
}

void FindSiftDirections(const float* image, ptrdiff_t pitch,
                        const algo::SiftOrientationWindow& window, SiftScratch* scratch,
                        float (&histogram)[algo::kSiftDirections]) {
  const SiftF d;
  const SiftI di;
  const int count = window.count();
  const bool long_form = count >= algo::kSiftLongAngles;
  ptrdiff_t array = 0;
  float* const weights = SiftSampleArrays(4, count, &scratch->samples, &array);
  float* const magnitudes = weights + array;
  float* const products = weights + 2 * array;
  float* const bins = weights + 3 * array;
  const auto falloff = hn::Set(d, window.falloff);
  const auto directions = hn::Set(di, algo::kSiftDirections);
  const auto last_direction = hn::Set(di, algo::kSiftDirections - 1);
  int row_sample = 0;
  for (int v = window.y0; v < window.y1; ++v) {
    const float* const row = image + v * pitch;
    const auto square_v = hn::Set(d, static_cast<float>((v - window.y) * (v - window.y)));
    for (int u = window.x0; u < window.x1; u += kSiftLanes) {
      const float* const at = row + u;
      const auto dx = hn::Sub(hn::LoadU(d, at + 1), hn::LoadU(d, at - 1));
      const auto dy = hn::Sub(hn::LoadU(d, at - pitch), hn::LoadU(d, at + pitch));
      const auto from_centre = SiftCount(u - window.x);
      const auto square = hn::MulAdd(from_centre, from_centre, square_v);
      const auto weight = SiftExps(hn::Mul(square, falloff));
      const auto magnitude = SiftMagnitudes(dx, dy);
      auto bin = RoundToInt32(
          hn::Mul(SiftAngles(dy, dx, long_form), hn::Set(d, algo::kSiftDirections / 360.0f)));
      bin = hn::Sub(bin, hn::IfThenElseZero(hn::Gt(bin, last_direction), directions));
      const int sample = row_sample + u - window.x0;
      hn::StoreU(weight, d, weights + sample);
      hn::StoreU(magnitude, d, magnitudes + sample);
      hn::StoreU(hn::Mul(weight, magnitude), d, products + sample);
      hn::StoreU(hn::BitCast(d, bin), d, bins + sample);
    }
    row_sample += window.x1 - window.x0;
  }
  std::fill(std::begin(histogram), std::end(histogram), 0.0f);
  const int grouped = algo::SiftGrouped(count);
  for (int i = 0; i < count; ++i) {
    const int32_t bin = SiftBin(bins + i);
    histogram[bin] = i < grouped ? histogram[bin] + products[i]
                                 : FusedMultiplyAdd(weights[i], magnitudes[i], histogram[bin]);
  }
}

// ---- Descriptor ----

// The samples of row `v` that count. They follow each other, as both coordinates are monotonous in
// `u` whatever the rounding. `low` and `high`: columns inside the image and the radius.
HWY_INLINE SiftSpan SiftSpanOf(const algo::SiftPatch& patch, int v, int low, int high) {
  // The line enters and leaves the square about here, in real numbers; a step is added on either
  // side.
  constexpr float kHalf = 2.5f;
  constexpr float kLeastSlope = 1e-4f;
  float from = static_cast<float>(low);
  float to = static_cast<float>(high);
  const float fv = static_cast<float>(v);
  const float slope[2] = {patch.cosine, patch.sine};
  const float offset[2] = {-fv * patch.sine, fv * patch.cosine};
  for (int i = 0; i < 2; ++i) {
    if (std::abs(slope[i]) < kLeastSlope) continue;
    const float a = (-kHalf - offset[i]) / slope[i];
    const float b = (kHalf - offset[i]) / slope[i];
    from = std::max(from, std::min(a, b) - 1.0f);
    to = std::min(to, std::max(a, b) + 1.0f);
  }
  if (!(from <= to)) return {};
  SiftSpan span = {std::max(low, static_cast<int>(std::floor(from))),
                   std::min(high, static_cast<int>(std::ceil(to)))};
  while (span.begin <= span.end && !algo::SiftPlaceOf(patch, span.begin, v).Counts()) ++span.begin;
  while (span.begin <= span.end && !algo::SiftPlaceOf(patch, span.end, v).Counts()) --span.end;
  ++span.end;
  return span;
}

HWY_INLINE void FinishSift(const float* histogram, uint8_t* bytes) {
  const hn::CappedTag<float, algo::kSiftGroup> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kParts = algo::kSiftGroup / kLanes;
  alignas(64) float entry[algo::kSiftDescriptorBytes];
  for (int cell = 0; cell < algo::kSiftCells * algo::kSiftCells; ++cell) {
    const float* const from = histogram + ((cell / algo::kSiftCells + 1) * algo::kSiftRowCells +
                                           cell % algo::kSiftCells + 1) *
                                              algo::kSiftCellPitch;
    float* const to = entry + cell * algo::kSiftCellAngles;
    std::memcpy(to, from, sizeof(float) * algo::kSiftCellAngles);
    to[0] = from[0] + from[algo::kSiftCellAngles];
    to[1] = from[1] + from[algo::kSiftCellAngles + 1];
  }
  hn::Vec<decltype(d)> sums[kParts];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (int i = 0; i < algo::kSiftDescriptorBytes; i += kLanes) {
    auto& sum = sums[i / kLanes % kParts];
    const auto value = hn::Load(d, entry + i);
    sum = hn::MulAdd(value, value, sum);
  }
  alignas(64) float lane[algo::kSiftGroup];
  for (int i = 0; i < kParts; ++i) hn::Store(sums[i], d, lane + i * kLanes);
  const float sum =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  const float most = SquareRoot(sum) * 0.2f;
  float rest = 0.0f;
  for (float& value : entry) {
    value = Min(value, most);
    rest = FusedMultiplyAdd(value, value, rest);
  }
  const float factor = 512.0f / Max(SquareRoot(rest), 0x1p-23f);
  const SiftF df;
  const hn::Rebind<uint8_t, SiftF> d8;
  const hn::Rebind<int16_t, SiftF> d16;
  for (int i = 0; i < algo::kSiftDescriptorBytes; i += kSiftLanes) {
    const auto value = RoundToInt32(hn::Mul(hn::LoadU(df, entry + i), hn::Set(df, factor)));
    hn::StoreU(hn::DemoteTo(d8, hn::DemoteTo(d16, value)), d8, bytes + i);
  }
}

// A descriptor on its way: its samples in order, and how many are in the histogram.
struct SiftDescription {
  int count = 0;
  int done = 0;
  const float* weights = nullptr;
  const float* in_row = nullptr;
  const float* in_column = nullptr;
  const float* in_angle = nullptr;
  const float* bins = nullptr;  // integers
  // Shares of the upper left, upper right, lower left and lower right cell, four floats a sample:
  // of the direction and of the next one.
  const float* firsts = nullptr;
  const float* seconds = nullptr;
  uint8_t* descriptor = nullptr;
  alignas(64) float histogram[algo::kSiftHistogramSize];
};

constexpr ptrdiff_t kSiftRight = algo::kSiftCellPitch;
constexpr ptrdiff_t kSiftBelow = algo::kSiftRowCells * algo::kSiftCellPitch;

// Rows are on different pages, which hardware does not foresee.
constexpr int kSiftPrefetchRows = 8;

void SampleSift(const SiftDescribeTask& task, SiftSampleMemory* memory,
                SiftDescription* description) {
  const SiftF d;
  const SiftI di;
  const algo::SiftPatch& patch = task.patch;
  const int v0 = std::max(-patch.radius, 1 - patch.y);
  const int v1 = std::min(patch.radius, task.height_px - 2 - patch.y);
  const int u0 = std::max(-patch.radius, 1 - patch.x);
  const int u1 = std::min(patch.radius, task.width_px - 2 - patch.x);
  // How a sample is added depends on how many there are.
  const int rows = std::max(0, v1 - v0 + 1);
  std::vector<SiftSpan>& spans = memory->spans;
  spans.clear();
  int count = 0;
  for (int i = 0; i < rows; ++i) {
    spans.push_back(SiftSpanOf(patch, v0 + i, u0, u1));
    count += spans.back().end - spans.back().begin;
  }
  const bool long_form = count >= algo::kSiftLongAngles;
  ptrdiff_t array = 0;
  float* const weights = SiftSampleArrays(13, count, &memory->samples, &array);
  float* const in_row = weights + array;
  float* const in_column = weights + 2 * array;
  float* const in_angle = weights + 3 * array;
  float* const bins = weights + 4 * array;
  description->count = count;
  description->done = 0;
  description->weights = weights;
  description->in_row = in_row;
  description->in_column = in_column;
  description->in_angle = in_angle;
  description->bins = bins;
  float* const firsts = weights + 5 * array;
  float* const seconds = weights + 9 * array;
  description->firsts = firsts;
  description->seconds = seconds;
  description->descriptor = task.descriptor;
  std::memset(description->histogram, 0, sizeof(description->histogram));
  const auto cosine = hn::Set(d, patch.cosine);
  const auto sine = hn::Set(d, patch.sine);
  const auto middle = hn::Set(d, static_cast<float>(algo::kSiftCells / 2));
  const auto half = hn::Set(d, 0.5f);
  const auto angles = hn::Set(di, algo::kSiftCellAngles);
  const auto last_angle = hn::Set(di, algo::kSiftCellAngles - 1);
  int row_sample = 0;
  for (int i = 0; i < rows; ++i) {
    const int v = v0 + i;
    const float* const image_row = task.image + (patch.y + v) * task.pitch + patch.x;
    const float fv = static_cast<float>(v);
    const auto v_sine = hn::Set(d, fv * patch.sine);
    const auto v_cosine = hn::Set(d, fv * patch.cosine);
    const int ahead = std::min(i + kSiftPrefetchRows, rows - 1);
    for (int u = spans[ahead].begin; u < spans[ahead].end + kSiftAlign; u += kSiftAlign) {
      hwy::Prefetch(task.image + (patch.y + v0 + ahead) * task.pitch + patch.x + u);
    }
    for (int u = spans[i].begin; u < spans[i].end; u += kSiftLanes) {
      const auto fu = SiftCount(u);
      const auto column = hn::MulSub(fu, cosine, v_sine);
      const auto row = hn::MulAdd(fu, sine, v_cosine);
      const auto exponent =
          hn::Mul(hn::MulAdd(column, column, hn::Mul(row, row)), hn::Set(d, -0.125f));
      const float* const at = image_row + u;
      const auto dx = hn::Sub(hn::LoadU(d, at + 1), hn::LoadU(d, at - 1));
      const auto dy = hn::Sub(hn::LoadU(d, at - task.pitch), hn::LoadU(d, at + task.pitch));
      const auto direction =
          hn::Mul(hn::Sub(SiftAngles(dy, dx, long_form), hn::Set(d, patch.angle_deg)),
                  hn::Set(d, algo::kSiftCellAngles / 360.0f));
      // Lanes past the end of the span may lie far outside: their values are never used.
      const auto weight = hn::Mul(SiftMagnitudes(dx, dy), SiftExps(exponent));
      const auto place_row = hn::Sub(hn::Add(row, middle), half);
      const auto place_column = hn::Sub(hn::Add(column, middle), half);
      const auto floor_row = hn::Floor(place_row);
      const auto floor_column = hn::Floor(place_column);
      const auto floor_direction = hn::Floor(direction);
      auto bin = hn::ConvertTo(di, floor_direction);
      bin = hn::Add(bin, hn::IfThenElseZero(hn::Lt(bin, hn::Zero(di)), angles));
      bin = hn::Sub(bin, hn::IfThenElseZero(hn::Gt(bin, last_angle), angles));
      // (row + 1) * kSiftRowCells + column + 1, exact in single precision.
      const auto cell =
          hn::Add(hn::MulAdd(floor_row, hn::Set(d, float{algo::kSiftRowCells}), floor_column),
                  hn::Set(d, float{algo::kSiftRowCells + 1}));
      bin = hn::Add(bin, hn::ConvertTo(di, hn::Mul(cell, hn::Set(d, float{algo::kSiftCellPitch}))));
      const int sample = row_sample + u - spans[i].begin;
      const auto r = hn::Sub(place_row, floor_row);
      const auto c = hn::Sub(place_column, floor_column);
      const auto o = hn::Sub(direction, floor_direction);
      hn::StoreU(weight, d, weights + sample);
      hn::StoreU(r, d, in_row + sample);
      hn::StoreU(c, d, in_column + sample);
      hn::StoreU(o, d, in_angle + sample);
      hn::StoreU(hn::BitCast(d, bin), d, bins + sample);
      const auto lower = hn::Mul(weight, r);
      const auto upper = hn::Sub(weight, lower);
      const auto lower_right = hn::Mul(lower, c);
      const auto upper_right = hn::Mul(upper, c);
      const SiftV shares[4] = {hn::Sub(upper, upper_right), upper_right,
                               hn::Sub(lower, lower_right), lower_right};
      SiftV first[4];
      SiftV second[4];
      for (int j = 0; j < 4; ++j) {
        second[j] = hn::Mul(shares[j], o);
        first[j] = hn::Sub(shares[j], second[j]);
      }
      hn::StoreInterleaved4(first[0], first[1], first[2], first[3], d, firsts + 4 * sample);
      hn::StoreInterleaved4(second[0], second[1], second[2], second[3], d, seconds + 4 * sample);
    }
    row_sample += spans[i].end - spans[i].begin;
  }
}

// Adds a sample to the bins from `at` on, one float after the other: a pair read at once would
// often overlap two that are on their way to memory.
HWY_INLINE void AddSift(const float* HWY_RESTRICT first, const float* HWY_RESTRICT second,
                        float* HWY_RESTRICT at) {
  const auto add = [&](ptrdiff_t place, int share) {
    at[place] += first[share];
    std::atomic_signal_fence(std::memory_order_seq_cst);  // or compilers join both
    at[place + 1] += second[share];
  };
  add(0, 0);
  add(kSiftRight, 1);
  add(kSiftBelow, 2);
  add(kSiftBelow + kSiftRight, 3);
}

void EndSift(SiftDescription* description) {
  for (int i = description->done; i < description->count; ++i) {
    const float lower = description->weights[i] * description->in_row[i];
    const float upper = description->weights[i] - lower;
    const float lower_right = lower * description->in_column[i];
    const float upper_right = upper * description->in_column[i];
    const float o = description->in_angle[i];
    float* const at = description->histogram + SiftBin(description->bins + i);
    const auto add = [&](float* pair, float share) {
      pair[0] += FusedMultiplyAdd(-share, o, share);
      pair[1] = FusedMultiplyAdd(share, o, pair[1]);
    };
    add(at, upper - upper_right);
    add(at + kSiftRight, upper_right);
    add(at + kSiftBelow, lower - lower_right);
    add(at + kSiftBelow + kSiftRight, lower_right);
  }
  FinishSift(description->histogram, description->descriptor);
}

// Neighbouring samples often meet in the same bins, where each waits for the one before it. Two
// descriptors at a time have other bins to work on meanwhile.
void DescribeSift(const SiftDescribeTask* tasks, int count, SiftScratch* scratch) {
  SiftDescription descriptions[2];
  bool active[2] = {};
  int next = 0;
  for (;;) {
    for (int i = 0; i < 2; ++i) {
      if (active[i] || next == count) continue;
      SampleSift(tasks[next++], &scratch->descriptions[i], &descriptions[i]);
      active[i] = true;
    }
    if (!active[0] && !active[1]) return;
    const auto left = [&](int i) {
      return algo::SiftGrouped(descriptions[i].count) - descriptions[i].done;
    };
    SiftDescription& a = descriptions[active[0] ? 0 : 1];
    SiftDescription& b = descriptions[1];
    const bool both = active[0] && active[1];
    const int steps = both ? std::min(left(0), left(1)) : left(active[0] ? 0 : 1);
    const float* const a_bins = a.bins + a.done;
    const float* const b_bins = both ? b.bins + b.done : nullptr;
    const float* const a_first = a.firsts + 4 * a.done;
    const float* const a_second = a.seconds + 4 * a.done;
    const float* const b_first = both ? b.firsts + 4 * b.done : nullptr;
    const float* const b_second = both ? b.seconds + 4 * b.done : nullptr;
    for (int i = 0; i < steps; ++i) {
      AddSift(a_first + 4 * i, a_second + 4 * i, a.histogram + SiftBin(a_bins + i));
      if (both) AddSift(b_first + 4 * i, b_second + 4 * i, b.histogram + SiftBin(b_bins + i));
    }
    a.done += steps;
    if (both) b.done += steps;
    for (int i = 0; i < 2; ++i) {
      if (!active[i] || left(i) != 0) continue;
      EndSift(&descriptions[i]);
      active[i] = false;
    }
  }
}

// Inlined, so that its fused multiply-adds are instructions.
HWY_FLATTEN bool RefineSift(const algo::SiftOctaveView& octave,
                            const algo::SiftThresholds& thresholds, algo::SiftExtremum* extremum) {
  return algo::RefineSiftExtremum(octave, thresholds, extremum);
}

const SiftKernels& SimdSiftKernels() {
  static constexpr SiftKernels kKernels = {&MakeFirstSiftImage, &HalveSift,
                                           &MakeSiftOctave,     &RefineSift,
                                           &FindSiftDirections, &DescribeSift};
  return kKernels;
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {
namespace {

using SiftKernelsOf = const SiftKernels& (*)();

SiftKernelsOf SiftKernelsOfTarget(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(SimdSiftKernels, ReferenceSiftKernels, target.simd_target)
}

}  // namespace

const SiftKernels& SiftKernelsFor(const KernelTarget& target) {
  return SiftKernelsOfTarget(target)();
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
