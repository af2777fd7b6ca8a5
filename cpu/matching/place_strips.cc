// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/matching/place_strips.h"

#include <algorithm>
#include <cmath>

namespace orbserve::cpu {
namespace {

// Shorter strips would cost more to find than to read.
constexpr int kLeastStripLength = 16;

}  // namespace

PlaceStrips::PlaceStrips(const float* all_x, const float* all_y, int count) {
  index.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (std::isfinite(all_x[i]) && std::isfinite(all_y[i])) {
      index.push_back(static_cast<uint32_t>(i));
    }
  }
  std::sort(index.begin(), index.end(),
            [&](uint32_t a, uint32_t b) { return all_y[a] < all_y[b]; });
  strip_length = std::max(kLeastStripLength,
                          static_cast<int>(std::lround(std::sqrt(static_cast<double>(count)))));
  for (size_t first = 0; first < index.size(); first += static_cast<size_t>(strip_length)) {
    const size_t last = std::min(first + static_cast<size_t>(strip_length), index.size());
    least_y.push_back(all_y[index[first]]);
    most_y.push_back(all_y[index[last - 1]]);
    std::sort(index.begin() + static_cast<ptrdiff_t>(first),
              index.begin() + static_cast<ptrdiff_t>(last),
              [&](uint32_t a, uint32_t b) { return all_x[a] < all_x[b]; });
  }
  x.reserve(index.size());
  y.reserve(index.size());
  for (const uint32_t i : index) {
    x.push_back(all_x[i]);
    y.push_back(all_y[i]);
  }
}

}  // namespace orbserve::cpu
