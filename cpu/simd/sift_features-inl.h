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
#include <atomic>
#include <cstring>
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

// Inlined, so that its fused multiply-adds are instructions.
HWY_FLATTEN algo::SiftSpan SpanOfSiftRow(const algo::SiftPatch& patch, int v, int low, int high) {
  return algo::SiftSpanOf(patch, v, low, high);
}

HWY_INLINE void FinishSift(const float* histogram, algo::SiftNorm norm, uint8_t* bytes) {
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
  algo::SiftNorm norm = algo::SiftNorm::kL2;
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
  std::vector<algo::SiftSpan>& spans = memory->spans;
  spans.clear();
  int count = 0;
  for (int i = 0; i < rows; ++i) {
    spans.push_back(SpanOfSiftRow(patch, v0 + i, u0, u1));
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

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_SIFT_FEATURES_INL_H_
