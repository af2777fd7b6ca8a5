// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/match_files.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/npz_file.h"

namespace orbserve::cli {

std::string MatchFileName(absl::string_view query, absl::string_view train) {
  return absl::StrCat("matches/", std::string(query), ".with/", std::string(train), ".npz");
}

std::string EncodeMatches(const MatchedPair& pair) {
  const v1::MatchSet& matches = pair.matches;
  const int64_t count = matches.query_index_size();
  NpzArray rows{.name = "matches", .type = "<i4", .shape = {count, 2}};
  NpzArray distances{.name = "distance", .type = "<i4", .shape = {count}};
  for (int i = 0; i < count; ++i) {
    const uint32_t row[2] = {matches.query_index(i), matches.train_index(i)};
    rows.data.append(reinterpret_cast<const char*>(row), sizeof(row));
    const uint32_t distance = matches.distance(i);
    distances.data.append(reinterpret_cast<const char*>(&distance), sizeof(distance));
  }
  std::vector<NpzArray> arrays;
  arrays.push_back(std::move(rows));
  arrays.push_back(std::move(distances));
  if (pair.verify) {
    NpzArray inliers{.name = "inliers", .type = "|b1", .shape = {count}};
    for (int i = 0; i < count; ++i) inliers.data.push_back(Survives(pair, i) ? '\1' : '\0');
    arrays.push_back(std::move(inliers));
    // All zero without a geometry.
    const std::array<double, 9> f =
        pair.geometry.has_value() ? pair.geometry->f : std::array<double, 9>{};
    NpzArray matrix{.name = "fundamental", .type = "<f8", .shape = {3, 3}};
    matrix.data.assign(reinterpret_cast<const char*>(f.data()), sizeof(f));
    arrays.push_back(std::move(matrix));
  }
  return EncodeNpz(arrays);
}

}  // namespace orbserve::cli
