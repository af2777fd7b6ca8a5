// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/matching/place_strips.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "features/algo/order.h"

namespace orbserve::cpu {
namespace {

// Strips have about kStripShare times the square root of the number of keypoints, so that a window
// of a twentieth of the frame meets two or three strips, and in each a run of a few vectors.
constexpr double kStripShare = 4.0;
constexpr int kLeastStripLength = 64;

// A coordinate in the upper half, in the order of the floats, and a row in the lower.
uint64_t SortKey(float coordinate, uint32_t row) {
  return static_cast<uint64_t>(algo::OrderedBits(coordinate)) << 32 | row;
}

}  // namespace

PlaceStrips::PlaceStrips(const float* all_x, const float* all_y, int all_count) {
  std::vector<uint64_t> keys;
  keys.reserve(static_cast<size_t>(all_count));
  for (int i = 0; i < all_count; ++i) {
    if (std::isfinite(all_x[i]) && std::isfinite(all_y[i])) {
      keys.push_back(SortKey(all_y[i], static_cast<uint32_t>(i)));
    }
  }
  std::sort(keys.begin(), keys.end());
  const size_t number = keys.size();
  count = static_cast<int>(number);
  strip_length =
      std::max(kLeastStripLength,
               static_cast<int>(std::lround(kStripShare * std::sqrt(static_cast<double>(number)))));
  for (size_t first = 0; first < number; first += static_cast<size_t>(strip_length)) {
    const size_t last = std::min(first + static_cast<size_t>(strip_length), number);
    least_y.push_back(all_y[static_cast<uint32_t>(keys[first])]);
    most_y.push_back(all_y[static_cast<uint32_t>(keys[last - 1])]);
    for (size_t i = first; i < last; ++i) {
      const auto row = static_cast<uint32_t>(keys[i]);
      keys[i] = SortKey(all_x[row], row);
    }
    std::sort(keys.begin() + static_cast<ptrdiff_t>(first),
              keys.begin() + static_cast<ptrdiff_t>(last));
  }
  constexpr float kFarAway = std::numeric_limits<float>::infinity();
  x.resize(number + kPadding, kFarAway);
  y.resize(number + kPadding, kFarAway);
  index.resize(number + kPadding);
  for (size_t i = 0; i < number; ++i) {
    index[i] = static_cast<uint32_t>(keys[i]);
    x[i] = all_x[index[i]];
    y[i] = all_y[index[i]];
  }
}

}  // namespace orbserve::cpu
