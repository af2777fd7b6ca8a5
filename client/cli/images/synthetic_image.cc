// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/synthetic_image.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace orbserve::cli {

Picture SyntheticImage() {
  constexpr int kRectangles = 1500;
  constexpr uint32_t kLargestSidePx = 160;
  constexpr uint32_t kNoiseGrey = 7;
  Picture picture{.width_px = 640, .height_px = 480, .channels = 1, .pixels = ""};
  picture.pixels.assign(picture.row_bytes() * picture.height_px, '\x80');
  std::mt19937 random(1);  // its numbers are in the standard; those of distributions are not
  const auto below = [&random](uint32_t end) { return static_cast<int>(random() % end); };
  for (int i = 0; i < kRectangles; ++i) {
    // Later ones are smaller, so that they do not hide all before them.
    const uint32_t most_px = 4 + kLargestSidePx * (kRectangles - i) / kRectangles;
    const int left = below(picture.width_px);
    const int top = below(picture.height_px);
    const int right = std::min(left + 3 + below(most_px), picture.width_px);
    const int bottom = std::min(top + 3 + below(most_px), picture.height_px);
    const auto grey = static_cast<uint8_t>(below(256));
    for (int y = top; y < bottom; ++y) {
      std::fill(picture.Row(y) + left, picture.Row(y) + right, grey);
    }
  }
  for (char& pixel : picture.pixels) {
    const int grey = static_cast<uint8_t>(pixel) + below(kNoiseGrey);
    pixel = static_cast<char>(std::min(grey, 255));
  }
  return picture;
}

}  // namespace orbserve::cli
