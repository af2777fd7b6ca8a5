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

struct SiftExpTable {
  alignas(64) float entry[algo::kPowersOfTwo];
};
constexpr SiftExpTable MakeSiftExpTable() {
  SiftExpTable table = {};
  for (int i = 0; i < algo::kPowersOfTwo; ++i) table.entry[i] = algo::SiftExpEntry(i);
  return table;
}
constexpr SiftExpTable kSiftExpTable = MakeSiftExpTable();

// Entries of the table at the lower six bits of each lane.
HWY_INLINE SiftV SiftExpEntries(hn::Vec<SiftI> place) {
  const SiftF d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // Two permutations of half the table each are much faster than a gather.
  const float* const table = kSiftExpTable.entry;
  const __m512 low =
      _mm512_permutex2var_ps(_mm512_load_ps(table), place.raw, _mm512_load_ps(table + 16));
  const __m512 high =
      _mm512_permutex2var_ps(_mm512_load_ps(table + 32), place.raw, _mm512_load_ps(table + 48));
  const __mmask16 upper_half =
      _mm512_test_epi32_mask(place.raw, _mm512_set1_epi32(algo::kPowersOfTwo / 2));
  return SiftV{_mm512_mask_mov_ps(low, upper_half, high)};
#else
  const SiftI di;
  return hn::GatherIndex(d, kSiftExpTable.entry,
                         hn::And(place, hn::Set(di, algo::kPowersOfTwo - 1)));
#endif
}

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
  const auto entry = SiftExpEntries(whole);
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

// `memory`: four arrays of `array` floats.
void SampleSiftDirections(SiftDirectionTask* task, float* memory, ptrdiff_t array,
                          SiftDirectionSamples* samples) {
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
  int row_sample = 0;
  for (int v = window.y0; v < window.y1; ++v) {
    const float* const row = task->image + v * task->pitch;
    const auto square_v = hn::Set(d, static_cast<float>((v - window.y) * (v - window.y)));
    for (int u = window.x0; u < window.x1; u += kSiftLanes) {
      const float* const at = row + u;
      const auto dx = hn::Sub(hn::LoadU(d, at + 1), hn::LoadU(d, at - 1));
      const auto dy = hn::Sub(hn::LoadU(d, at - task->pitch), hn::LoadU(d, at + task->pitch));
      const auto from_centre = SiftCount(u - window.x);
      const auto square = hn::MulAdd(from_centre, from_centre, square_v);
      const auto weight = SiftExps(hn::Mul(square, falloff));
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
      SampleSiftDirections(&tasks[next++], part[active], array, &samples[active]);
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
constexpr ptrdiff_t kSiftAnglePitch = algo::kSiftRowCells * kSiftRowPitch;
constexpr ptrdiff_t kSiftTableSize = (algo::kSiftCellAngles + 1) * kSiftAnglePitch;

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
  const float* bins = nullptr;     // integers: place of the upper left cell
  const float* columns = nullptr;  // integers: of that cell
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
  float* const weights = SiftSampleArrays(10, count, &memory->samples, &array);
  float* const in_row = weights + array;
  float* const in_column = weights + 2 * array;
  float* const in_angle = weights + 3 * array;
  float* const bins = weights + 4 * array;
  float* const columns = weights + 5 * array;
  float* const shares = weights + 6 * array;
  const int grouped = algo::SiftGrouped(count);
  description->count = count;
  description->done = 0;
  description->in_angle = in_angle;
  description->bins = bins;
  description->columns = columns;
  description->shares = shares;
  description->norm = task.norm;
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
      const auto one = hn::Set(di, 1);
      const auto cell_column = hn::Add(hn::ConvertTo(di, floor_column), one);
      const auto cell_row = hn::Add(hn::ConvertTo(di, floor_row), one);
      // Direction * kSiftAnglePitch + row * kSiftRowPitch.
      bin = hn::ShiftLeft<3>(
          hn::Add(hn::Add(hn::ShiftLeft<2>(bin), hn::ShiftLeft<1>(bin)), cell_row));
      const int sample = row_sample + u - spans[i].begin;
      const auto r = hn::Sub(place_row, floor_row);
      const auto c = hn::Sub(place_column, floor_column);
      const auto o = hn::Sub(direction, floor_direction);
      if (sample + kSiftLanes > grouped) {
        hn::StoreU(weight, d, weights + sample);
        hn::StoreU(r, d, in_row + sample);
        hn::StoreU(c, d, in_column + sample);
      }
      hn::StoreU(o, d, in_angle + sample);
      hn::StoreU(hn::BitCast(d, bin), d, bins + sample);
      hn::StoreU(hn::BitCast(d, cell_column), d, columns + sample);
      const auto lower = hn::Mul(weight, r);
      const auto upper = hn::Sub(weight, lower);
      const auto lower_right = hn::Mul(lower, c);
      const auto upper_right = hn::Mul(upper, c);
      hn::StoreInterleaved4(hn::Sub(upper, upper_right), upper_right, hn::Sub(lower, lower_right),
                            lower_right, d, shares + 4 * sample);
    }
    row_sample += spans[i].end - spans[i].begin;
  }
  for (int i = grouped; i < count; ++i) {
    description->late[i - grouped] = {weights[i], in_row[i], in_column[i]};
  }
}

// Masks and indices that move two floats to the columns `column` and `column` + 1 of a row.
struct SiftColumnTable {
  alignas(64) int32_t upper[algo::kSiftCells + 1][kSiftRowPitch];
  alignas(64) int32_t mask[algo::kSiftCells + 1][kSiftRowPitch];
};
constexpr SiftColumnTable MakeSiftColumnTable() {
  SiftColumnTable table = {};
  for (int column = 0; column <= algo::kSiftCells; ++column) {
    table.upper[column][column + 1] = 1;
    table.mask[column][column] = -1;
    table.mask[column][column + 1] = -1;
  }
  return table;
}
constexpr SiftColumnTable kSiftColumnTable = MakeSiftColumnTable();

// Adds a sample to its bins.
HWY_INLINE void AddSift(const SiftDescription& description, int sample, float* histogram) {
  const float* const shares = description.shares + 4 * sample;
  const int column = SiftBin(description.columns + sample);
  float* const at = histogram + SiftBin(description.bins + sample);
#if HWY_ARCH_X86
  // Whole rows are added, with zeros in the other cells. Pairs of floats would often overlap two
  // that are on their way to memory, which is slow; a whole row never does.
  const __m128 share = _mm_loadu_ps(shares);
  const __m128 second = _mm_mul_ps(share, _mm_broadcast_ss(description.in_angle + sample));
  const __m128 first = _mm_sub_ps(share, second);
  const __m256 firsts = _mm256_set_m128(first, first);
  const __m256 seconds = _mm256_set_m128(second, second);
  const __m256i upper =
      _mm256_load_si256(reinterpret_cast<const __m256i*>(kSiftColumnTable.upper[column]));
  const __m256i lower = _mm256_add_epi32(upper, _mm256_set1_epi32(2));
  const __m256 mask = _mm256_load_ps(reinterpret_cast<const float*>(kSiftColumnTable.mask[column]));
  const auto add = [&](float* row, __m256 values, __m256i places) {
    const __m256 moved = _mm256_and_ps(_mm256_permutevar_ps(values, places), mask);
    _mm256_store_ps(row, _mm256_add_ps(_mm256_load_ps(row), moved));
  };
  add(at, firsts, upper);
  add(at + kSiftRowPitch, firsts, lower);
  add(at + kSiftAnglePitch, seconds, upper);
  add(at + kSiftAnglePitch + kSiftRowPitch, seconds, lower);
#else
  const float o = description.in_angle[sample];
  for (int i = 0; i < 4; ++i) {
    float* const bin = at + column + (i / 2) * kSiftRowPitch + i % 2;
    const float second = shares[i] * o;
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
    float* const at =
        description->histogram + SiftBin(description->bins + i) + SiftBin(description->columns + i);
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
    if (both) {
      for (int i = 0; i < steps; ++i) {
        AddSift(a, a.done + i, a.histogram);
        AddSift(b, b.done + i, b.histogram);
      }
    } else {
      for (int i = 0; i < steps; ++i) AddSift(a, a.done + i, a.histogram);
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

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_
