// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Grey levels of pixels with colours, behind a mosaic of colour filters, or with 16 bits. Results
// are equal bit for bit wherever such an image meets this project, so the formulas exist here and
// nowhere else; the SIMD twins are in decode/grey_rows.cc.

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

// 16-bit values that become grey levels, linear between black and white.
struct GreyWindow {
  uint16_t low = 0;       // it and values below become 0
  uint16_t high = 65535;  // it and values above become 255; above `low`
};

// Grey level [0, 255] of a 16-bit value: 255 (value - low) / (high - low), clamped, rounded half
// up.
ORBSERVE_HOST_DEVICE constexpr uint8_t GreyFrom16Bits(uint16_t value, GreyWindow window) {
  const uint32_t range = static_cast<uint32_t>(window.high) - window.low;
  const uint16_t least = value < window.low ? window.low : value;
  const uint32_t above =
      static_cast<uint32_t>(least > window.high ? window.high : least) - window.low;
  return static_cast<uint8_t>((510 * above + range) / (2 * range));
}

// A row of a Bayer mosaic with the rows above and below it.
struct BayerRows {
  const uint8_t* above;
  const uint8_t* row;
  const uint8_t* below;
};

// Filters of a row of a Bayer mosaic: green at every second pixel, and one other colour.
struct BayerFilters {
  bool green_first;  // the row's first pixel is green
  bool red;          // the other colour is red, else blue

  ORBSERVE_HOST_DEVICE constexpr BayerFilters OfRow(int y) const {
    return {green_first != (y % 2 != 0), red != (y % 2 != 0)};
  }
};

// Grey level of pixel x of a row of `width_px` >= 2 pixels: GreyFromRgb() of bilinear colours. Each
// colour that the pixel lacks is the mean of its two or four nearest samples of that colour,
// rounded half up, as OpenCV's COLOR_Bayer*2BGR. The image is mirrored at its outermost pixels,
// which keeps the pattern of filters.
ORBSERVE_HOST_DEVICE constexpr uint8_t GreyFromBayer(const BayerRows& rows, BayerFilters filters,
                                                     int x, int width_px) {
  const int left = x > 0 ? x - 1 : 1;
  const int right = x + 1 < width_px ? x + 1 : width_px - 2;
  const int centre = rows.row[x];
  int row_colour = centre;  // red in rows with red, blue in the other rows
  int green = centre;
  int other_colour = 0;
  if ((x % 2 == 0) == filters.green_first) {
    row_colour = (rows.row[left] + rows.row[right] + 1) >> 1;
    other_colour = (rows.above[x] + rows.below[x] + 1) >> 1;
  } else {
    green = (rows.row[left] + rows.row[right] + rows.above[x] + rows.below[x] + 2) >> 2;
    other_colour =
        (rows.above[left] + rows.above[right] + rows.below[left] + rows.below[right] + 2) >> 2;
  }
  const auto byte = [](int value) { return static_cast<uint8_t>(value); };
  return filters.red ? GreyFromRgb(byte(row_colour), byte(green), byte(other_colour))
                     : GreyFromRgb(byte(other_colour), byte(green), byte(row_colour));
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_GREY_H_
