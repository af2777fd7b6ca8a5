// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Descriptor of SIFT: 4 x 4 histograms of 8 gradient directions over a turned square, as 128
// bytes. Source: D. Lowe, "Distinctive Image Features from Scale-Invariant Keypoints", IJCV 2004,
// sec. 6. Single precision in the order and with the fused multiply-adds of cv::SIFT of OpenCV
// 4.6.0, built by GCC for AVX2 and FMA.

#ifndef ORBSERVE_FEATURES_ALGO_SIFT_DESCRIPTOR_H_
#define ORBSERVE_FEATURES_ALGO_SIFT_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/sift_functions.h"
#include "features/algo/sift_orientation.h"
#include "features/algo/sincos.h"
#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kSiftCells = 4;       // a side
inline constexpr int kSiftCellAngles = 8;  // directions of a cell
inline constexpr int kSiftDescriptorBytes = kSiftCells * kSiftCells * kSiftCellAngles;

// Normalisation of a descriptor. RootSIFT: R. Arandjelovic, A. Zisserman, "Three things everyone
// should know to improve object retrieval", CVPR 2012, sec. 3.
enum class SiftNorm {
  kL2,      // cv::SIFT's
  kRoot,    // roots of the shares that the bytes of cv::SIFT have of their sum
  kL1Root,  // likewise of the entries that the bytes are rounded from, as COLMAP's L1_ROOT
};

// The histogram has a ring of cells around the 4 x 4, and two directions more, which wrap round.
inline constexpr int kSiftRowCells = kSiftCells + 2;
inline constexpr int kSiftCellPitch = kSiftCellAngles + 2;
inline constexpr int kSiftHistogramSize = kSiftRowCells * kSiftRowCells * kSiftCellPitch;

// The turned square of a feature: centre, half side of the upright square around it, and the axes
// in cells per pixel.
struct SiftPatch {
  int x = 0;
  int y = 0;
  int radius = 0;
  float cosine = 1.0f;
  float sine = 0.0f;
  float angle_deg = 0.0f;  // counter-clockwise
};

// `x`, `y` and `scale` in pixels of the octave, `angle_deg` in [0, 360) as the feature's.
ORBSERVE_HOST_DEVICE inline SiftPatch SiftPatchOf(float x, float y, float scale, float angle_deg,
                                                  int width_px, int height_px) {
  SiftPatch patch;
  patch.x = RoundToInt(x);
  patch.y = RoundToInt(y);
  const float turned = 360.0f - angle_deg;
  const float rest = turned - 360.0f;
  patch.angle_deg = (rest < 0.0f ? -rest : rest) < 0x1p-23f ? 0.0f : turned;
  const float cell_px = 3.0f * scale;
  const SinCos turn = SinCosOf(RadiansOfDegrees(patch.angle_deg));
  patch.cosine = turn.cosine / cell_px;
  patch.sine = turn.sine / cell_px;
  // No wider than the image's diagonal.
  const double diagonal = std::sqrt(static_cast<double>(width_px) * width_px +
                                    static_cast<double>(height_px) * height_px);
  patch.radius = Min(RoundToInt(cell_px * 1.4142135623730951f * (kSiftCells + 1) * 0.5f),
                     static_cast<int>(diagonal));
  return patch;
}

// Place of the sample `u`, `v` pixels from the centre: cells, from -1 to 4 where it counts.
struct SiftPlace {
  float row = 0.0f;
  float column = 0.0f;
  float exponent = 0.0f;  // of the weight

  ORBSERVE_HOST_DEVICE bool Counts() const {
    constexpr float kEnd = kSiftCells;
    return row > -1.0f && row < kEnd && column > -1.0f && column < kEnd;
  }
};
ORBSERVE_HOST_DEVICE inline SiftPlace SiftPlaceOf(const SiftPatch& patch, int u, int v) {
  const float fu = static_cast<float>(u);
  const float fv = static_cast<float>(v);
  const float column = FusedMultiplyAdd(fu, patch.cosine, -(fv * patch.sine));
  const float row = FusedMultiplyAdd(fu, patch.sine, fv * patch.cosine);
  constexpr float kMiddle = kSiftCells / 2;
  return {row + kMiddle - 0.5f, column + kMiddle - 0.5f,
          FusedMultiplyAdd(column, column, row * row) * -0.125f};
}

// Columns from the centre, the end not included.
struct SiftSpan {
  int begin = 0;
  int end = 0;
};

// The samples of row `v` that count. They follow each other, as both coordinates are monotonous in
// `u` whatever the rounding. `low` and `high`: columns inside the image and the radius.
ORBSERVE_HOST_DEVICE inline SiftSpan SiftSpanOf(const SiftPatch& patch, int v, int low, int high) {
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
    if ((slope[i] < 0.0f ? -slope[i] : slope[i]) < kLeastSlope) continue;
    const float a = (-kHalf - offset[i]) / slope[i];
    const float b = (kHalf - offset[i]) / slope[i];
    from = Max(from, Min(a, b) - 1.0f);
    to = Min(to, Max(a, b) + 1.0f);
  }
  if (!(from <= to)) return {};
  SiftSpan span = {Max(low, FloorToInt(from)), Min(high, FloorToInt(to) + 1)};
  while (span.begin <= span.end && !SiftPlaceOf(patch, span.begin, v).Counts()) ++span.begin;
  while (span.begin <= span.end && !SiftPlaceOf(patch, span.end, v).Counts()) --span.end;
  ++span.end;
  return span;
}

// A sample gives this to the bins of one direction, and the next one, of the cells around it.
struct SiftSpread {
  float weight = 0.0f;
  int direction = 0;
  float in_direction = 0.0f;  // from that direction to the next one, [0, 1]
};
template <typename Table>
ORBSERVE_HOST_DEVICE inline SiftSpread SiftSpreadOf(const SiftPatch& patch, const SiftPlace& place,
                                                    float angle_deg, float magnitude,
                                                    const Table& table) {
  constexpr float kPerDegree = kSiftCellAngles / 360.0f;
  const float direction = (angle_deg - patch.angle_deg) * kPerDegree;
  int bin = FloorToInt(direction);
  const float in_direction = direction - static_cast<float>(bin);
  if (bin < 0) bin += kSiftCellAngles;
  if (bin >= kSiftCellAngles) bin -= kSiftCellAngles;
  return {magnitude * SiftExpBy(place.exponent, table), bin, in_direction};
}

// Shares of a weight in the four cells around a place.
struct SiftShares {
  float upper_left = 0.0f;
  float upper_right = 0.0f;
  float lower_left = 0.0f;
  float lower_right = 0.0f;
};
ORBSERVE_HOST_DEVICE inline SiftShares SiftSharesOf(const SiftPlace& place, float weight) {
  const float r = place.row - static_cast<float>(FloorToInt(place.row));
  const float c = place.column - static_cast<float>(FloorToInt(place.column));
  const float lower = weight * r;
  const float upper = weight - lower;
  SiftShares shares;
  shares.lower_right = lower * c;
  shares.lower_left = lower - shares.lower_right;
  shares.upper_right = upper * c;
  shares.upper_left = upper - shares.upper_right;
  return shares;
}

// Spreads one sample over the eight nearest bins of `histogram` (kSiftHistogramSize floats).
// `grouped`: it is one of SiftGrouped().
ORBSERVE_HOST_DEVICE inline void AddSiftSample(const SiftPatch& patch, const SiftPlace& place,
                                               float angle_deg, float magnitude, bool grouped,
                                               float* histogram) {
  const SiftSpread spread =
      SiftSpreadOf(patch, place, angle_deg, magnitude, [](int i) { return SiftExpEntry(i); });
  const SiftShares shares = SiftSharesOf(place, spread.weight);
  const float o = spread.in_direction;
  const int row = FloorToInt(place.row);
  const int column = FloorToInt(place.column);
  float* at =
      histogram + ((row + 1) * kSiftRowCells + column + 1) * kSiftCellPitch + spread.direction;
  const auto add = [&](float* pair, float share) {
    if (grouped) {
      const float second = share * o;
      pair[0] += share - second;
      pair[1] += second;
    } else {
      pair[0] += FusedMultiplyAdd(-share, o, share);
      pair[1] = FusedMultiplyAdd(share, o, pair[1]);
    }
  };
  add(at, shares.upper_left);
  add(at + kSiftCellPitch, shares.upper_right);
  add(at + kSiftRowCells * kSiftCellPitch, shares.lower_left);
  add(at + (kSiftRowCells + 1) * kSiftCellPitch, shares.lower_right);
}

// Sum over the entries: eight sums of every eighth one, then in pairs. `add` returns a lane with
// entry `i` added.
template <typename Add>
ORBSERVE_HOST_DEVICE inline float SumOfSiftLanes(const Add& add) {
  float lane[kSiftGroup] = {};
  for (int i = 0; i < kSiftDescriptorBytes; ++i) {
    lane[i % kSiftGroup] = add(i, lane[i % kSiftGroup]);
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// The root of a share, as a byte.
ORBSERVE_HOST_DEVICE inline uint8_t RootSiftByte(float entry, float sum) {
  return static_cast<uint8_t>(Min(RoundToInt(SquareRoot(entry / sum) * 512.0f), 255));
}

// Replaces the bytes of cv::SIFT by those of SiftNorm::kRoot. All zeros stay so.
ORBSERVE_HOST_DEVICE inline void MakeRootSift(uint8_t* bytes) {
  int sum = 0;
  for (int i = 0; i < kSiftDescriptorBytes; ++i) sum += bytes[i];
  const float total = static_cast<float>(Max(sum, 1));
  for (int i = 0; i < kSiftDescriptorBytes; ++i) {
    bytes[i] = RootSiftByte(static_cast<float>(bytes[i]), total);
  }
}

// The bytes of SiftNorm::kL1Root from the entries, which are cut and not scaled.
ORBSERVE_HOST_DEVICE inline void FinishL1RootSift(const float* entry, uint8_t* bytes) {
  const float sum = SumOfSiftLanes([entry](int i, float lane) { return lane + entry[i]; });
  const float total = Max(sum, 0x1p-23f);
  for (int i = 0; i < kSiftDescriptorBytes; ++i) bytes[i] = RootSiftByte(entry[i], total);
}

// The descriptor from the histogram: directions wrapped, entries cut at a fifth of the norm, then
// scaled to the norm 512, or as `norm` says.
ORBSERVE_HOST_DEVICE inline void FinishSiftDescriptor(const float* histogram,
                                                      uint8_t (&bytes)[kSiftDescriptorBytes],
                                                      SiftNorm norm = SiftNorm::kL2) {
  float entry[kSiftDescriptorBytes];
  for (int cell = 0; cell < kSiftCells * kSiftCells; ++cell) {
    const float* from =
        histogram +
        ((cell / kSiftCells + 1) * kSiftRowCells + cell % kSiftCells + 1) * kSiftCellPitch;
    for (int i = 0; i < kSiftCellAngles; ++i) {
      entry[cell * kSiftCellAngles + i] = i < 2 ? from[i] + from[i + kSiftCellAngles] : from[i];
    }
  }
  const float sum = SumOfSiftLanes(
      [&entry](int i, float lane) { return FusedMultiplyAdd(entry[i], entry[i], lane); });
  const float most = SquareRoot(sum) * 0.2f;
  float rest = 0.0f;
  for (float& value : entry) {
    value = Min(value, most);
    rest = FusedMultiplyAdd(value, value, rest);
  }
  if (norm == SiftNorm::kL1Root) return FinishL1RootSift(entry, bytes);
  const float factor = 512.0f / Max(SquareRoot(rest), 0x1p-23f);
  for (int i = 0; i < kSiftDescriptorBytes; ++i) {
    bytes[i] = static_cast<uint8_t>(Clamp(RoundToInt(entry[i] * factor), 0, 255));
  }
  if (norm == SiftNorm::kRoot) MakeRootSift(bytes);
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SIFT_DESCRIPTOR_H_
