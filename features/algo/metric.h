// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// How two descriptors are compared. Their size tells: 128 bytes are a vector of unsigned numbers
// (SIFT), compared by the square of their Euclidean distance, an exact integer. Descriptors of any
// other size are strings of bits, compared by the number of bits that differ.

#ifndef ORBSERVE_FEATURES_ALGO_METRIC_H_
#define ORBSERVE_FEATURES_ALGO_METRIC_H_

#include <cmath>
#include <cstdint>

#include "features/algo/hamming.h"
#include "features/host_device.h"

namespace orbserve::algo {

enum class Metric { kHamming, kSquaredEuclidean };

// Bytes of a descriptor that is a vector of numbers.
inline constexpr int kVectorBytes = 128;
// Largest squared distance of two vectors, 8,323,200. It has 23 bits, and a `float` holds it.
inline constexpr int kLargestSquaredDistance = kVectorBytes * 255 * 255;

ORBSERVE_HOST_DEVICE constexpr Metric MetricOf(int descriptor_bytes) {
  return descriptor_bytes == kVectorBytes ? Metric::kSquaredEuclidean : Metric::kHamming;
}

// Largest distance of two descriptors of this size.
ORBSERVE_HOST_DEVICE constexpr int LargestDistance(int descriptor_bytes) {
  return MetricOf(descriptor_bytes) == Metric::kHamming ? 8 * descriptor_bytes
                                                        : kLargestSquaredDistance;
}

// Sum of the squared differences of the numbers of two vectors.
ORBSERVE_HOST_DEVICE inline int SquaredDistance(const uint8_t* a, const uint8_t* b) {
  int distance = 0;
  for (int i = 0; i < kVectorBytes; ++i) {
    const int difference = static_cast<int>(a[i]) - static_cast<int>(b[i]);
    distance += difference * difference;
  }
  return distance;
}

// Distance of two descriptors, 0..LargestDistance(descriptor_bytes).
ORBSERVE_HOST_DEVICE inline int DescriptorDistance(const uint8_t* a, const uint8_t* b,
                                                   int descriptor_bytes) {
  return MetricOf(descriptor_bytes) == Metric::kHamming ? HammingDistance(a, b, descriptor_bytes)
                                                        : SquaredDistance(a, b);
}

// Returns true if the best match of a query stands out from the second best by the ratio test.
// Squared distances are compared by their roots, rounded to f32, which are the distances that
// cv::BFMatcher with NORM_L2 answers; root, product and comparison are then those of
// `m.distance < ratio * n.distance` in C++. `ratio` in (0, 1].
inline bool StandsOut(int best_distance, int second_best_distance, float ratio,
                      int descriptor_bytes) {
  if (MetricOf(descriptor_bytes) == Metric::kHamming) {
    return PassesRatioTest(best_distance, second_best_distance, ratio);
  }
  return std::sqrt(static_cast<float>(best_distance)) <
         ratio * std::sqrt(static_cast<float>(second_best_distance));
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_METRIC_H_
