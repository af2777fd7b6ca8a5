// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Directions and descriptors of SIFT: the twins of features/algo/sift_orientation.h and
// sift_descriptor.h. Included once per target by sift_simd.cc.

#if defined(ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_
#undef ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_
#else
#define ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/kernels/sift_kernels.h"
#include "cpu/simd/ops-inl.h"
#include "cpu/simd/sift_vectors-inl.h"
#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_functions.h"
#include "features/algo/sift_orientation.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// ---- Gradients ----

// SiftExp() multiplies by powers of two in other places here, which is exact: the argument of its
// polynomial is kPowersOfTwo times as large, and so is the sum by kSiftExpSum, by which the table
// is divided.
constexpr float kSiftExpUnit = algo::kPowersOfTwo;
constexpr float kSiftExpSum = kSiftExpUnit * kSiftExpUnit * kSiftExpUnit * kSiftExpUnit;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// The bits of entry i less those that `i << kSiftPowerShift` adds.
constexpr int kSiftPowerShift = 23 - algo::kPowersOfTwoBits;
struct SiftExpTable {
  alignas(64) uint32_t entry[algo::kPowersOfTwo];
};
constexpr SiftExpTable MakeSiftExpTable() {
  SiftExpTable table = {};
  for (uint32_t i = 0; i < algo::kPowersOfTwo; ++i) {
    const float entry = algo::SiftExpEntry(static_cast<int>(i)) / kSiftExpSum;
    table.entry[i] = std::bit_cast<uint32_t>(entry) - (i << kSiftPowerShift);
  }
  return table;
}
#elif HWY_ARCH_X86
// Entry 8 i + j is the fused sum high[i] * low[j] + (high[i] * low_rest[j] + high_rest[i]), rounded
// to each of the 64 numbers: a gather of eight floats takes as many operations as 40 others.
struct SiftExpTable {
  alignas(32) float high[8];
  alignas(32) float high_rest[8];
  alignas(32) float low[8];
  alignas(32) float low_rest[8];
};
constexpr SiftExpTable MakeSiftExpTable() {
  SiftExpTable table = {};
  for (int i = 0; i < 8; ++i) {
    const double high = algo::PowerOfTwo64th(8 * i) * algo::kSiftExpScale / kSiftExpSum;
    const double low = algo::PowerOfTwo64th(i);
    table.high[i] = static_cast<float>(high);
    table.high_rest[i] = static_cast<float>(high - table.high[i]);
    table.low[i] = static_cast<float>(low);
    table.low_rest[i] = static_cast<float>(low - table.low[i]);
  }
  return table;
}
#else
struct SiftExpTable {
  float entry[algo::kPowersOfTwo];
};
constexpr SiftExpTable MakeSiftExpTable() {
  SiftExpTable table = {};
  for (int i = 0; i < algo::kPowersOfTwo; ++i) {
    table.entry[i] = algo::SiftExpEntry(i) / kSiftExpSum;
  }
  return table;
}
#endif
constexpr SiftExpTable kSiftExpTable = MakeSiftExpTable();

// Entry `place` modulo kPowersOfTwo of the table, times two to the power of the quotient.
HWY_INLINE SiftV SiftExpEntries(hn::Vec<SiftI> place) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const uint32_t* const table = kSiftExpTable.entry;
  const __m512i low =
      _mm512_permutex2var_epi32(_mm512_load_si512(table), place.raw, _mm512_load_si512(table + 16));
  const __m512i high = _mm512_permutex2var_epi32(_mm512_load_si512(table + 32), place.raw,
                                                 _mm512_load_si512(table + 48));
  const __mmask16 upper_half =
      _mm512_test_epi32_mask(place.raw, _mm512_set1_epi32(algo::kPowersOfTwo / 2));
  return SiftV{
      _mm512_castsi512_ps(_mm512_add_epi32(_mm512_mask_mov_epi32(low, upper_half, high),
                                           _mm512_slli_epi32(place.raw, kSiftPowerShift)))};
#elif HWY_ARCH_X86
  const auto look_up = [](const float* table, __m256i places) {  // modulo 8
    return _mm256_permutevar8x32_ps(_mm256_load_ps(table), places);
  };
  const __m256i eighth = _mm256_srli_epi32(place.raw, 3);
  const __m256 high = look_up(kSiftExpTable.high, eighth);
  const __m256 rest = _mm256_fmadd_ps(high, look_up(kSiftExpTable.low_rest, place.raw),
                                      look_up(kSiftExpTable.high_rest, eighth));
  const __m256 entry = _mm256_fmadd_ps(high, look_up(kSiftExpTable.low, place.raw), rest);
  const __m256i power = _mm256_slli_epi32(_mm256_srai_epi32(place.raw, algo::kPowersOfTwoBits), 23);
  return SiftV{_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(entry), power))};
#else
  const SiftF d;
  const SiftI di;
  const auto entry =
      hn::GatherIndex(d, kSiftExpTable.entry, hn::And(place, hn::Set(di, algo::kPowersOfTwo - 1)));
  const auto power = hn::ShiftLeft<23>(hn::ShiftRight<algo::kPowersOfTwoBits>(place));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, entry), power));
#endif
}

// SiftExp() of `scaled` / SiftExpFigures::kPerOctave, which is -60 at least.
HWY_INLINE SiftV SiftScaledExps(SiftV scaled) {
  using F = algo::SiftExpFigures;
  const SiftF d;
  const auto whole = RoundToInt32(scaled);
  const auto rest = hn::Sub(scaled, hn::ConvertTo(d, whole));
  float unit = kSiftExpUnit;
  auto sum = hn::Add(rest, hn::Set(d, F::kA1 * unit));
  sum = hn::MulAdd(sum, rest, hn::Set(d, F::kA2 * (unit *= kSiftExpUnit)));
  sum = hn::MulAdd(sum, rest, hn::Set(d, F::kA3 * (unit *= kSiftExpUnit)));
  sum = hn::MulAdd(sum, rest, hn::Set(d, F::kA4 * (unit *= kSiftExpUnit)));
  return hn::Mul(sum, SiftExpEntries(whole));
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

// Histograms of directions that are made at once: neighbouring samples often meet in the same bin,
// where each waits for the one before it.
constexpr int kSiftHistograms = 4;

// A histogram on its way: its samples in order. Those in no complete group come last.
struct SiftDirectionSamples {
  const float* products = nullptr;
  const float* bins = nullptr;  // integers
  float* histogram = nullptr;
  int left = 0;  // in complete groups
  int late = 0;
  float late_weights[algo::kSiftGroup];
  float late_magnitudes[algo::kSiftGroup];
};

// `memory`: four arrays of `array` floats. The rows of `next`, which may be null, are fetched
// meanwhile: they are on different pages, which hardware does not foresee.
void SampleSiftDirections(SiftDirectionTask* task, const SiftDirectionTask* next, float* memory,
                          ptrdiff_t array, SiftDirectionSamples* samples) {
  using F = algo::SiftExpFigures;
  const SiftF d;
  const SiftI di;
  const algo::SiftOrientationWindow& window = task->window;
  const int count = window.count();
  const int grouped = algo::SiftGrouped(count);
  const bool long_form = count >= algo::kSiftLongAngles;
  float* const products = memory;
  float* const bins = memory + array;
  float* const weights = memory + 2 * array;
  float* const magnitudes = memory + 3 * array;
  const auto falloff = hn::Set(d, window.falloff);
  const auto directions = hn::Set(di, algo::kSiftDirections);
  const auto last_direction = hn::Set(di, algo::kSiftDirections - 1);
  const algo::SiftOrientationWindow ahead =
      next != nullptr ? next->window : algo::SiftOrientationWindow();
  int fetched = ahead.y0 - 1;
  int row_sample = 0;
  for (int v = window.y0; v < window.y1; ++v) {
    const float* const row = task->image + v * task->pitch;
    if (fetched <= ahead.y1 && next != nullptr) {
      const float* const line = next->image + fetched * next->pitch;
      for (int u = ahead.x0 - 1; u <= ahead.x1 + kSiftAlign; u += kSiftAlign) {
        hwy::Prefetch(line + u);
      }
      ++fetched;
    }
    const auto square_v = hn::Set(d, static_cast<float>((v - window.y) * (v - window.y)));
    for (int u = window.x0; u < window.x1; u += kSiftLanes) {
      const float* const at = row + u;
      const auto dx = hn::Sub(hn::LoadU(d, at + 1), hn::LoadU(d, at - 1));
      const auto dy = hn::Sub(hn::LoadU(d, at - task->pitch), hn::LoadU(d, at + task->pitch));
      const auto from_centre = SiftCount(u - window.x);
      const auto square = hn::MulAdd(from_centre, from_centre, square_v);
      const auto weight =
          SiftScaledExps(hn::Mul(hn::Mul(square, falloff), hn::Set(d, F::kPerOctave)));
      const auto magnitude = SiftMagnitudes(dx, dy);
      auto bin = RoundToInt32(
          hn::Mul(SiftAngles(dy, dx, long_form), hn::Set(d, algo::kSiftDirections / 360.0f)));
      bin = hn::Sub(bin, hn::IfThenElseZero(hn::Gt(bin, last_direction), directions));
      const int sample = row_sample + u - window.x0;
      if (sample + kSiftLanes > grouped) {
        hn::StoreU(weight, d, weights + sample);
        hn::StoreU(magnitude, d, magnitudes + sample);
      }
      hn::StoreU(hn::Mul(weight, magnitude), d, products + sample);
      hn::StoreU(hn::BitCast(d, bin), d, bins + sample);
    }
    row_sample += window.x1 - window.x0;
  }
  std::fill(std::begin(task->histogram), std::end(task->histogram), 0.0f);
  samples->products = products;
  samples->bins = bins;
  samples->histogram = task->histogram;
  samples->left = grouped;
  samples->late = count - grouped;
  std::copy(weights + grouped, weights + count, samples->late_weights);
  std::copy(magnitudes + grouped, magnitudes + count, samples->late_magnitudes);
}

// Adds the next `steps` samples of the first kCount histograms.
template <int kCount>
HWY_INLINE void AddSiftDirections(SiftDirectionSamples* samples, int steps) {
  const float* products[kCount];
  const float* bins[kCount];
  float* histograms[kCount];
  for (int k = 0; k < kCount; ++k) {
    products[k] = samples[k].products;
    bins[k] = samples[k].bins;
    histograms[k] = samples[k].histogram;
    samples[k].products += steps;
    samples[k].bins += steps;
    samples[k].left -= steps;
  }
  for (int i = 0; i < steps; ++i) {
    for (int k = 0; k < kCount; ++k) histograms[k][SiftBin(bins[k] + i)] += products[k][i];
  }
}

void FindSiftDirections(SiftDirectionTask* tasks, int count, SiftScratch* scratch) {
  int most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, tasks[i].window.count());
  ptrdiff_t array = 0;
  float* const memory = SiftSampleArrays(4 * kSiftHistograms, most, &scratch->samples, &array);
  SiftDirectionSamples samples[kSiftHistograms];
  float* part[kSiftHistograms];
  for (int k = 0; k < kSiftHistograms; ++k) part[k] = memory + 4 * array * k;
  int next = 0;
  int active = 0;
  for (;;) {
    while (active < kSiftHistograms && next < count) {
      SiftDirectionTask* const task = &tasks[next++];
      SampleSiftDirections(task, next < count ? task + 1 : nullptr, part[active], array,
                           &samples[active]);
      ++active;
    }
    if (active == 0) return;
    int steps = samples[0].left;
    for (int k = 1; k < active; ++k) steps = std::min(steps, samples[k].left);
    if (active == kSiftHistograms) {
      AddSiftDirections<kSiftHistograms>(samples, steps);
    } else if (active == 2) {
      AddSiftDirections<2>(samples, steps);
    } else {
      for (int k = 0; k < active; ++k) AddSiftDirections<1>(samples + k, steps);
    }
    for (int k = active - 1; k >= 0; --k) {
      SiftDirectionSamples& one = samples[k];
      if (one.left != 0) continue;
      for (int i = 0; i < one.late; ++i) {
        float& bin = one.histogram[SiftBin(one.bins + i)];
        bin = FusedMultiplyAdd(one.late_weights[i], one.late_magnitudes[i], bin);
      }
      --active;
      std::swap(samples[k], samples[active]);
      std::swap(part[k], part[active]);
    }
  }
}

// ---- Descriptor ----

// True in the lanes whose sample, `u` pixels from the centre of its row, counts:
// SiftPlace::Counts().
HWY_INLINE hn::Mask<SiftF> SiftCounts(const algo::SiftPatch& patch, SiftV u, SiftV v_sine,
                                      SiftV v_cosine) {
  const SiftF d;
  const auto middle = hn::Set(d, static_cast<float>(algo::kSiftCells / 2));
  const auto half = hn::Set(d, 0.5f);
  const auto place = [&](SiftV cells) { return hn::Sub(hn::Add(cells, middle), half); };
  const auto column = place(hn::MulSub(u, hn::Set(d, patch.cosine), v_sine));
  const auto row = place(hn::MulAdd(u, hn::Set(d, patch.sine), v_cosine));
  const auto least = hn::Set(d, -1.0f);
  const auto end = hn::Set(d, float{algo::kSiftCells});
  return hn::And(hn::And(hn::Gt(row, least), hn::Lt(row, end)),
                 hn::And(hn::Gt(column, least), hn::Lt(column, end)));
}

// Samples of the rows `v`, v + 1, ... that count, for as many rows as lanes. Those of a row follow
// each other, as both coordinates are monotonous in `u` whatever the rounding. `low` and `high`:
// columns inside the image and the radius.
HWY_INLINE void FindSiftSpans(const algo::SiftPatch& patch, int v, int low, int high,
                              algo::SiftSpan* spans) {
  // The line enters and leaves the square about here, in real numbers; a step is added on either
  // side.
  constexpr float kHalf = 2.5f;
  constexpr float kLeastSlope = 1e-4f;
  const SiftF d;
  const auto one = hn::Set(d, 1.0f);
  const auto fv = SiftCount(v);
  const auto v_sine = hn::Mul(fv, hn::Set(d, patch.sine));
  const auto v_cosine = hn::Mul(fv, hn::Set(d, patch.cosine));
  auto from = hn::Set(d, static_cast<float>(low));
  auto to = hn::Set(d, static_cast<float>(high));
  const auto cut = [&](float slope, SiftV offset) {
    if (std::abs(slope) < kLeastSlope) return;
    const auto pixels = hn::Set(d, 1.0f / slope);
    const auto a = hn::Mul(hn::Sub(hn::Set(d, -kHalf), offset), pixels);
    const auto b = hn::Mul(hn::Sub(hn::Set(d, kHalf), offset), pixels);
    from = hn::Max(from, hn::Floor(hn::Sub(hn::Min(a, b), one)));
    to = hn::Min(to, hn::Ceil(hn::Add(hn::Max(a, b), one)));
  };
  cut(patch.cosine, hn::Neg(v_sine));
  cut(patch.sine, v_cosine);
  for (;;) {
    const auto wrong = hn::AndNot(SiftCounts(patch, from, v_sine, v_cosine), hn::Le(from, to));
    if (hn::AllFalse(d, wrong)) break;
    from = hn::Add(from, hn::IfThenElseZero(wrong, one));
  }
  for (;;) {
    const auto wrong = hn::AndNot(SiftCounts(patch, to, v_sine, v_cosine), hn::Le(from, to));
    if (hn::AllFalse(d, wrong)) break;
    to = hn::Sub(to, hn::IfThenElseZero(wrong, one));
  }
  const SiftI di;
  alignas(64) int32_t begin[kSiftLanes];
  alignas(64) int32_t end[kSiftLanes];
  hn::Store(hn::ConvertTo(di, from), di, begin);
  hn::Store(hn::ConvertTo(di, hn::Max(hn::Add(to, one), from)), di, end);
  for (int i = 0; i < kSiftLanes; ++i) {
    spans[i] = begin[i] < end[i] ? algo::SiftSpan{begin[i], end[i]} : algo::SiftSpan{};
  }
}

// The histogram of a descriptor as it is made here: [direction][row][column], one direction more
// than a cell has. A row is a vector of its own, of which the first six floats are cells.
constexpr ptrdiff_t kSiftRowPitch = 8;
constexpr ptrdiff_t kSiftAnglePitch = 8 * kSiftRowPitch;  // of which algo::kSiftRowCells rows
constexpr ptrdiff_t kSiftTableSize = (algo::kSiftCellAngles + 1) * kSiftAnglePitch;

// The place of a sample's upper left cell: the bytes from the histogram's beginning to its row in
// the upper half, its column times kSiftColumnBytes in the lower one.
constexpr int kSiftRowBytes = kSiftRowPitch * sizeof(float);
constexpr int kSiftColumnBytes = kSiftRowPitch * sizeof(int32_t);
constexpr int kSiftRowPlace = kSiftRowBytes << 16;
constexpr int kSiftAngleShift = 24;
static_assert(kSiftAnglePitch * sizeof(float) << 16 == 1 << kSiftAngleShift);

HWY_INLINE void FinishSift(const float* histogram, algo::SiftNorm norm, uint8_t* bytes) {
  const hn::CappedTag<float, algo::kSiftGroup> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kParts = algo::kSiftGroup / kLanes;
  alignas(64) float entry[algo::kSiftDescriptorBytes];
  for (int cell = 0; cell < algo::kSiftCells * algo::kSiftCells; ++cell) {
    const float* const from =
        histogram + (cell / algo::kSiftCells + 1) * kSiftRowPitch + cell % algo::kSiftCells + 1;
    float* const to = entry + cell * algo::kSiftCellAngles;
    for (int i = 0; i < algo::kSiftCellAngles; ++i) to[i] = from[i * kSiftAnglePitch];
    // The last direction's next one. None is next to that, so no other has to be added.
    to[0] += from[algo::kSiftCellAngles * kSiftAnglePitch];
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
  if (norm == algo::SiftNorm::kL1Root) return algo::FinishL1RootSift(entry, bytes);
  const float factor = 512.0f / Max(SquareRoot(rest), 0x1p-23f);
  const SiftF df;
  const hn::Rebind<uint8_t, SiftF> d8;
  const hn::Rebind<int16_t, SiftF> d16;
  for (int i = 0; i < algo::kSiftDescriptorBytes; i += kSiftLanes) {
    const auto value = RoundToInt32(hn::Mul(hn::LoadU(df, entry + i), hn::Set(df, factor)));
    hn::StoreU(hn::DemoteTo(d8, hn::DemoteTo(d16, value)), d8, bytes + i);
  }
  if (norm == algo::SiftNorm::kRoot) algo::MakeRootSift(bytes);
}

// The upper left cell of a place.
HWY_INLINE ptrdiff_t SiftCellOf(uint32_t place) {
  return (place >> 16) / sizeof(float) + (place & 0xFFFF) / kSiftColumnBytes;
}

// A sample of a descriptor that is in no complete group.
struct SiftLateSample {
  float weight = 0.0f;
  float in_row = 0.0f;
  float in_column = 0.0f;
};

// A descriptor on its way: its samples in order, and how many are in the histogram.
struct SiftDescription {
  int count = 0;
  int done = 0;
  const float* in_angle = nullptr;
  const float* places = nullptr;  // integers
  // Shares of the upper left, upper right, lower left and lower right cell, four floats a sample.
  const float* shares = nullptr;
  algo::SiftNorm norm = algo::SiftNorm::kL2;
  SiftLateSample late[algo::kSiftGroup];
  uint8_t* descriptor = nullptr;
  alignas(64) float histogram[kSiftTableSize];
};

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
  std::vector<algo::SiftSpan>& spans = memory->spans;
  if (spans.size() < static_cast<size_t>(rows + kSiftLanes)) spans.resize(rows + kSiftLanes);
  for (int i = 0; i < rows; i += kSiftLanes) {
    FindSiftSpans(patch, v0 + i, u0, u1, spans.data() + i);
  }
  int count = 0;
  for (int i = 0; i < rows; ++i) count += spans[i].end - spans[i].begin;
  const bool long_form = count >= algo::kSiftLongAngles;
  ptrdiff_t array = 0;
  float* const weights = SiftSampleArrays(9, count, &memory->samples, &array);
  float* const in_row = weights + array;
  float* const in_column = weights + 2 * array;
  float* const in_angle = weights + 3 * array;
  float* const places = weights + 4 * array;
  float* const shares = weights + 5 * array;
  const int grouped = algo::SiftGrouped(count);
  description->count = count;
  description->done = 0;
  description->in_angle = in_angle;
  description->places = places;
  description->shares = shares;
  description->norm = task.norm;
  description->descriptor = task.descriptor;
  std::memset(description->histogram, 0, sizeof(description->histogram));
  const auto cosine = hn::Set(d, patch.cosine);
  const auto sine = hn::Set(d, patch.sine);
  const auto middle = hn::Set(d, static_cast<float>(algo::kSiftCells / 2));
  const auto half = hn::Set(d, 0.5f);
  const auto angle = hn::Set(d, patch.angle_deg);
  const auto last_angle = hn::Set(di, algo::kSiftCellAngles - 1);
  const auto row_place = hn::Set(d, float{kSiftRowPlace});
  const auto column_place = hn::Set(d, float{kSiftColumnBytes});
  const auto first_place = hn::Set(d, float{kSiftRowPlace + kSiftColumnBytes});
  const auto lanes = hn::Set(d, float{kSiftLanes});
  const ptrdiff_t pitch = task.pitch;
  const float* const centre = task.image + patch.y * pitch + patch.x;
  int row_sample = 0;
  for (int i = 0; i < rows; ++i) {
    const algo::SiftSpan span = spans[i];
    const int v = v0 + i;
    const float fv = static_cast<float>(v);
    const auto v_sine = hn::Set(d, fv * patch.sine);
    const auto v_cosine = hn::Set(d, fv * patch.cosine);
    const int ahead = std::min(i + kSiftPrefetchRows, rows - 1);
    for (int u = spans[ahead].begin; u < spans[ahead].end + kSiftAlign; u += kSiftAlign) {
      hwy::Prefetch(centre + (v0 + ahead) * pitch + u);
    }
    auto fu = SiftCount(span.begin);
    for (int u = span.begin; u < span.end; u += kSiftLanes) {
      const int sample = row_sample + u - span.begin;
      const float* const at = centre + v * pitch + u;
      const auto column = hn::MulSub(fu, cosine, v_sine);
      const auto line = hn::MulAdd(fu, sine, v_cosine);
      fu = hn::Add(fu, lanes);
      // A factor of -1/8, a power of two, may come later.
      const auto exponent = hn::MulAdd(column, column, hn::Mul(line, line));
      const auto dx = hn::Sub(hn::LoadU(d, at + 1), hn::LoadU(d, at - 1));
      const auto dy = hn::Sub(hn::LoadU(d, at - pitch), hn::LoadU(d, at + pitch));
      const auto direction = hn::Mul(hn::Sub(SiftAngles(dy, dx, long_form), angle),
                                     hn::Set(d, algo::kSiftCellAngles / 360.0f));
      // Lanes past the end of the span may lie far outside: their values are never used.
      const auto weight =
          hn::Mul(SiftMagnitudes(dx, dy),
                  SiftScaledExps(
                      hn::Mul(exponent, hn::Set(d, -0.125f * algo::SiftExpFigures::kPerOctave))));
      const auto place_row = hn::Sub(hn::Add(line, middle), half);
      const auto place_column = hn::Sub(hn::Add(column, middle), half);
      const auto floor_row = hn::Floor(place_row);
      const auto floor_column = hn::Floor(place_column);
      const auto floor_direction = hn::Floor(direction);
      // The direction is -8 at least and 8 at most.
      const auto bin = hn::And(RoundToInt32(floor_direction), last_angle);
      const auto cell = RoundToInt32(
          hn::MulAdd(floor_row, row_place, hn::MulAdd(floor_column, column_place, first_place)));
      const auto place = hn::Add(hn::ShiftLeft<kSiftAngleShift>(bin), cell);
      const auto r = hn::Sub(place_row, floor_row);
      const auto c = hn::Sub(place_column, floor_column);
      const auto o = hn::Sub(direction, floor_direction);
      if (sample + kSiftLanes > grouped) {
        hn::StoreU(weight, d, weights + sample);
        hn::StoreU(r, d, in_row + sample);
        hn::StoreU(c, d, in_column + sample);
      }
      hn::StoreU(o, d, in_angle + sample);
      hn::StoreU(hn::BitCast(d, place), d, places + sample);
      const auto lower = hn::Mul(weight, r);
      const auto upper = hn::Sub(weight, lower);
      const auto lower_right = hn::Mul(lower, c);
      const auto upper_right = hn::Mul(upper, c);
      hn::StoreInterleaved4(hn::Sub(upper, upper_right), upper_right, hn::Sub(lower, lower_right),
                            lower_right, d, shares + 4 * sample);
    }
    row_sample += span.end - span.begin;
  }
  for (int i = grouped; i < count; ++i) {
    description->late[i - grouped] = {weights[i], in_row[i], in_column[i]};
  }
}

// Lanes that move the floats 0 and 1 of four to the columns `column` and `column` + 1 of a row;
// other lanes come from a fifth, a zero.
struct SiftColumnTable {
  alignas(64) int32_t lane[algo::kSiftCells + 1][kSiftRowPitch];
};
constexpr SiftColumnTable MakeSiftColumnTable() {
  SiftColumnTable table = {};
  for (int column = 0; column <= algo::kSiftCells; ++column) {
    for (int32_t& lane : table.lane[column]) lane = 4;
    table.lane[column][column] = 0;
    table.lane[column][column + 1] = 1;
  }
  return table;
}
constexpr SiftColumnTable kSiftColumnTable = MakeSiftColumnTable();

// Adds a sample to its bins.
HWY_INLINE void AddSift(const float* HWY_RESTRICT shares, const float* HWY_RESTRICT in_angle,
                        const float* HWY_RESTRICT place, float* HWY_RESTRICT histogram) {
  const auto bits = static_cast<uint32_t>(SiftBin(place));
#if HWY_ARCH_X86
  // Whole rows are added, with zeros in the other cells. Pairs of floats would often overlap two
  // that are on their way to memory, which is slow; a whole row never does.
  float* const at = reinterpret_cast<float*>(reinterpret_cast<char*>(histogram) + (bits >> 16));
  const __m256i upper = _mm256_load_si256(reinterpret_cast<const __m256i*>(
      reinterpret_cast<const char*>(kSiftColumnTable.lane) + (bits & 0xFFFF)));
  const __m256i lower = _mm256_add_epi32(upper, _mm256_set1_epi32(2));
  const __m128 share = _mm_loadu_ps(shares);
  const __m128 second = _mm_mul_ps(share, _mm_broadcast_ss(in_angle));
  const __m256 firsts = _mm256_zextps128_ps256(_mm_sub_ps(share, second));
  const __m256 seconds = _mm256_zextps128_ps256(second);
  const auto add = [&](float* row, __m256 values, __m256i lanes) {
    _mm256_store_ps(row,
                    _mm256_add_ps(_mm256_load_ps(row), _mm256_permutevar8x32_ps(values, lanes)));
  };
  add(at, firsts, upper);
  add(at + kSiftRowPitch, firsts, lower);
  add(at + kSiftAnglePitch, seconds, upper);
  add(at + kSiftAnglePitch + kSiftRowPitch, seconds, lower);
#else
  float* const at = histogram + SiftCellOf(bits);
  for (int i = 0; i < 4; ++i) {
    float* const bin = at + (i / 2) * kSiftRowPitch + i % 2;
    const float second = shares[i] * *in_angle;
    bin[0] += shares[i] - second;
    bin[kSiftAnglePitch] += second;
  }
#endif
}

void EndSift(SiftDescription* description) {
  for (int i = description->done; i < description->count; ++i) {
    const SiftLateSample& sample = description->late[i - description->done];
    const float lower = sample.weight * sample.in_row;
    const float upper = sample.weight - lower;
    const float lower_right = lower * sample.in_column;
    const float upper_right = upper * sample.in_column;
    const float o = description->in_angle[i];
    float* const at = description->histogram +
                      SiftCellOf(static_cast<uint32_t>(SiftBin(description->places + i)));
    const auto add = [&](float* bin, float share) {
      bin[0] += FusedMultiplyAdd(-share, o, share);
      bin[kSiftAnglePitch] = FusedMultiplyAdd(share, o, bin[kSiftAnglePitch]);
    };
    add(at, upper - upper_right);
    add(at + 1, upper_right);
    add(at + kSiftRowPitch, lower - lower_right);
    add(at + kSiftRowPitch + 1, lower_right);
  }
  FinishSift(description->histogram, description->norm, description->descriptor);
}

// Adds the next `steps` samples of the first kCount descriptors.
template <int kCount>
HWY_INLINE void AddSifts(SiftDescription* const* descriptions, int steps) {
  const float* shares[kCount];
  const float* in_angle[kCount];
  const float* places[kCount];
  float* histogram[kCount];
  for (int k = 0; k < kCount; ++k) {
    SiftDescription& one = *descriptions[k];
    shares[k] = one.shares + 4 * ptrdiff_t{one.done};
    in_angle[k] = one.in_angle + one.done;
    places[k] = one.places + one.done;
    histogram[k] = one.histogram;
    one.done += steps;
  }
  for (ptrdiff_t i = 0; i < steps; ++i) {
    for (int k = 0; k < kCount; ++k) {
      AddSift(shares[k] + 4 * i, in_angle[k] + i, places[k] + i, histogram[k]);
    }
  }
}

// Neighbouring samples often meet in the same bins, where each waits for the one before it. A few
// descriptors at a time have other bins to work on meanwhile.
void DescribeSift(const SiftDescribeTask* tasks, int count, SiftScratch* scratch) {
  SiftDescription memory[kSiftDescriptions];
  SiftDescription* descriptions[kSiftDescriptions];
  for (int k = 0; k < kSiftDescriptions; ++k) descriptions[k] = &memory[k];
  int next = 0;
  int active = 0;
  for (;;) {
    while (active < kSiftDescriptions && next < count) {
      SiftDescription* const one = descriptions[active++];
      SampleSift(tasks[next++], &scratch->descriptions[one - memory], one);
    }
    if (active == 0) return;
    const auto left = [](const SiftDescription& one) {
      return algo::SiftGrouped(one.count) - one.done;
    };
    int steps = left(*descriptions[0]);
    for (int k = 1; k < active; ++k) steps = std::min(steps, left(*descriptions[k]));
    if (active == kSiftDescriptions) {
      AddSifts<kSiftDescriptions>(descriptions, steps);
    } else {
      for (int k = 0; k < active; ++k) AddSifts<1>(descriptions + k, steps);
    }
    for (int k = active - 1; k >= 0; --k) {
      if (left(*descriptions[k]) != 0) continue;
      EndSift(descriptions[k]);
      --active;
      std::swap(descriptions[k], descriptions[active]);
    }
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_
