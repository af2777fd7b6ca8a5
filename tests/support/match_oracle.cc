// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/match_oracle.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/support/oracles.h"

namespace orbserve::testing {
namespace {

// Distance and index of a candidate; sorted, ties go to the lowest index.
using Neighbours = std::vector<std::pair<int, size_t>>;

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
      const int distance =
          OracleHamming(query.descriptors.data() + q * bytes, train.descriptors.data() + t * bytes,
                        query.descriptor_bytes);
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
        const int second = near.size() > 1 ? near[1].first : 8 * query.descriptor_bytes;
        if (!(static_cast<float>(distance) < options.ratio * static_cast<float>(second))) continue;
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
