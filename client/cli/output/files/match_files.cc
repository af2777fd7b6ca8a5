// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/match_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output/files/npz_file.h"

namespace orbserve::cli {
namespace {

constexpr size_t kMaxArrayBytes = 64 << 20;

}  // namespace

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

absl::StatusOr<MatchedPair> DecodeMatches(absl::string_view npz, absl::string_view query,
                                          absl::string_view train) {
  const absl::StatusOr<std::vector<NpzArray>> arrays = DecodeNpz(npz, kMaxArrayBytes);
  if (!arrays.ok()) return arrays.status();
  const NpzArray* const rows = FindArray(*arrays, "matches");
  const int64_t count = rows == nullptr || rows->shape.empty() ? 0 : rows->shape[0];
  const auto has = [&arrays](const char* name, const char* type,
                             const std::vector<int64_t>& shape) {
    const NpzArray* const array = FindArray(*arrays, name);
    return array != nullptr && array->type == type && array->shape == shape;
  };
  const NpzArray* const inliers = FindArray(*arrays, "inliers");
  if (!has("matches", "<i4", {count, 2}) || !has("distance", "<i4", {count}) ||
      (inliers != nullptr &&
       (!has("inliers", "|b1", {count}) || !has("fundamental", "<f8", {3, 3})))) {
    return absl::InvalidArgumentError("no NPZ file of matches, as docs/formats.md describes it");
  }
  MatchedPair pair{.query = std::string(query), .train = std::string(train)};
  const char* const distances = FindArray(*arrays, "distance")->data.data();
  for (int64_t i = 0; i < count; ++i) {
    uint32_t row[2];
    uint32_t distance = 0;
    std::memcpy(row, rows->data.data() + i * sizeof(row), sizeof(row));
    std::memcpy(&distance, distances + i * sizeof(distance), sizeof(distance));
    pair.matches.add_query_index(row[0]);
    pair.matches.add_train_index(row[1]);
    pair.matches.add_distance(distance);
  }
  if (inliers == nullptr) return pair;
  pair.verify = true;
  FundamentalMatrix geometry;
  std::memcpy(geometry.f.data(), FindArray(*arrays, "fundamental")->data.data(),
              sizeof(geometry.f));
  if (geometry.f == std::array<double, 9>{}) return pair;
  for (const char inlier : inliers->data) geometry.inliers.push_back(inlier != '\0');
  geometry.inlier_count =
      static_cast<int>(std::count(geometry.inliers.begin(), geometry.inliers.end(), true));
  pair.geometry = std::move(geometry);
  return pair;
}

}  // namespace orbserve::cli
