// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Grey level of a colour pixel. Results are equal bit for bit wherever a colour image meets this
// project, so the formula exists here and nowhere else; the SIMD twin is
// decode/grey_rows.cc.

#ifndef ORBSERVE_FEATURES_ALGO_GREY_H_
#define ORBSERVE_FEATURES_ALGO_GREY_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve {

// Weights of the luma of ITU-R BT.601 (0.299, 0.587, 0.114) in units of 2^-15, as OpenCV rounds
// them; their sum is 2^15, so that grey pixels keep their level.
inline constexpr int kGreyWeightRed = 9798;
inline constexpr int kGreyWeightGreen = 19235;
inline constexpr int kGreyWeightBlue = 3735;
inline constexpr int kGreyShift = 15;
static_assert(kGreyWeightRed + kGreyWeightGreen + kGreyWeightBlue == 1 << kGreyShift);

// Grey level [0, 255] of a pixel, rounded half up: what OpenCV's cvtColor(BGR2GRAY) gives for 8-bit
// images.
ORBSERVE_HOST_DEVICE constexpr uint8_t GreyFromRgb(uint8_t red, uint8_t green, uint8_t blue) {
  const int sum = kGreyWeightRed * red + kGreyWeightGreen * green + kGreyWeightBlue * blue;
  return static_cast<uint8_t>((sum + (1 << (kGreyShift - 1))) >> kGreyShift);
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_GREY_H_
