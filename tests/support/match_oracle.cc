// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/match_oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/support/oracles.h"

namespace orbserve::testing {
namespace {

// Distance and index of a candidate; sorted, ties go to the lowest index.
using Neighbours = std::vector<std::pair<int, size_t>>;

int Distance(const uint8_t* a, const uint8_t* b, int bytes) {
  return bytes == 128 ? OracleSquaredDistance(a, b) : OracleHamming(a, b, bytes);
}

// Largest distance of two descriptors.
int Largest(int bytes) { return bytes == 128 ? 128 * 255 * 255 : 8 * bytes; }

// Returns true if a ratio test lets the first of two distances pass: those of vectors are squared.
bool Passes(int first, int second, float ratio, int bytes) {
  const auto measured = [&](int distance) {
    const auto number = static_cast<float>(distance);
    return bytes == 128 ? std::sqrt(number) : number;
  };
  return measured(first) < ratio * measured(second);
}

// Largest number of a matrix as a power of two above it.
double Scale(const std::array<double, 9>& matrix) {
  double largest = 0;
  for (const double value : matrix) largest = std::max(largest, std::fabs(value));
  double scale = 1;
  while (scale <= largest) scale *= 2;
  while (scale / 2 > largest) scale /= 2;
  return scale;
}

// Returns true if a pair keeps the limits of the options on dx and dy and its epipolar line.
bool InBand(const MatchOptions& options, float query_x, float query_y, float train_x,
            float train_y) {
  const bool lower = options.min_dx_px != -1000000.0f;
  const bool upper = options.max_dx_px != 1000000.0f;
  const bool rows = options.max_dy_px != 1000000.0f;
  const bool line = options.max_epipolar_px != 0.0f;
  if (!lower && !upper && !rows && !line) return true;
  for (const float place : {query_x, query_y, train_x, train_y}) {
    if (!std::isfinite(place)) return false;
  }
  const float dx = query_x - train_x;
  if (!std::isfinite(dx) || (lower && dx < options.min_dx_px)) return false;
  if (upper && dx > options.max_dx_px) return false;
  const float dy = std::fabs(query_y - train_y);
  if (!std::isfinite(dy) || (rows && dy > options.max_dy_px)) return false;
  if (!line) return true;
  const double scale = Scale(options.fundamental);
  float l[3];
  for (size_t row = 0; row < 3; ++row) {
    const float f0 = static_cast<float>(options.fundamental[3 * row] / scale);
    const float f1 = static_cast<float>(options.fundamental[3 * row + 1] / scale);
    const float f2 = static_cast<float>(options.fundamental[3 * row + 2] / scale);
    const float first = f0 * query_x;
    const float second = f1 * query_y;
    const float sum = first + second;
    l[row] = sum + f2;
  }
  const float a_squared = l[0] * l[0];
  const float b_squared = l[1] * l[1];
  const float norm = std::sqrt(a_squared + b_squared);
  const float along_x = l[0] * train_x;
  const float along_y = l[1] * train_y;
  const float sum = along_x + along_y;
  return std::fabs(sum + l[2]) <= options.max_epipolar_px * norm;
}

}  // namespace

Matches OracleMatch(const Features& query, const Features& train, const MatchOptions& options,
                    const OracleWindow& window) {
  const size_t bytes = static_cast<size_t>(query.descriptor_bytes);
  std::vector<Neighbours> of_query(query.count());
  std::vector<Neighbours> of_train(train.count());
  for (size_t q = 0; q < query.count(); ++q) {
    for (size_t t = 0; t < train.count(); ++t) {
      if (window.half_side > 0) {
        const float centre_x = query.x[q] + window.offset_x;
        const float centre_y = query.y[q] + window.offset_y;
        if (std::fabs(train.x[t] - centre_x) > window.half_side) continue;
        if (std::fabs(train.y[t] - centre_y) > window.half_side) continue;
      }
      if (!InBand(options, query.x[q], query.y[q], train.x[t], train.y[t])) continue;
      const int distance = Distance(query.descriptors.data() + q * bytes,
                                    train.descriptors.data() + t * bytes, query.descriptor_bytes);
      of_query[q].push_back({distance, t});
      of_train[t].push_back({distance, q});
    }
  }
  for (Neighbours& neighbours : of_query) std::sort(neighbours.begin(), neighbours.end());
  for (Neighbours& neighbours : of_train) std::sort(neighbours.begin(), neighbours.end());

  Matches matches;
  matches.ratio_undefined = options.ratio > 0 && train.count() == 1;
  for (size_t q = 0; q < query.count(); ++q) {
    const Neighbours& near = of_query[q];
    for (size_t i = 0; i < near.size() && i < static_cast<size_t>(options.k); ++i) {
      const auto [distance, t] = near[i];
      if (options.ratio > 0) {
        if (matches.ratio_undefined) continue;
        const int second = near.size() > 1 ? near[1].first : Largest(query.descriptor_bytes);
        if (!Passes(distance, second, options.ratio, query.descriptor_bytes)) continue;
      }
      if (options.cross_check && of_train[t].front().second != q) continue;
      if (distance > options.max_distance) continue;
      matches.query_index.push_back(static_cast<uint32_t>(q));
      matches.train_index.push_back(static_cast<uint32_t>(t));
      matches.distance.push_back(static_cast<uint32_t>(distance));
    }
  }
  return matches;
}

}  // namespace orbserve::testing
