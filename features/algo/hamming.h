// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Distance of binary descriptors and the tests that decide whether a match is kept.

#ifndef ORBSERVE_FEATURES_ALGO_HAMMING_H_
#define ORBSERVE_FEATURES_ALGO_HAMMING_H_

#include <cstdint>
#include <cstring>

#include "features/host_device.h"

namespace orbserve {

// Number of bits in which two descriptors differ, 0..8 * descriptor_bytes. `descriptor_bytes` is a
// multiple of 4; no alignment is asked for.
ORBSERVE_HOST_DEVICE inline int HammingDistance(const uint8_t* a, const uint8_t* b,
                                                int descriptor_bytes) {
  int distance = 0;
  for (int i = 0; i < descriptor_bytes; i += 4) {
    uint32_t word_a;
    uint32_t word_b;
    memcpy(&word_a, a + i, sizeof(word_a));
    memcpy(&word_b, b + i, sizeof(word_b));
    distance += PopCount(word_a ^ word_b);
  }
  return distance;
}

// Whether a best match stands out from the second best: `best < ratio * second_best`, strict, one
// f32 multiplication. `ratio` in (0, 1].
// Source: Lowe, "Distinctive image features from scale-invariant keypoints", IJCV 2004, sec. 7.1.
ORBSERVE_HOST_DEVICE inline bool PassesRatioTest(int best_distance, int second_best_distance,
                                                 float ratio) {
  return static_cast<float>(best_distance) < ratio * static_cast<float>(second_best_distance);
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_HAMMING_H_
