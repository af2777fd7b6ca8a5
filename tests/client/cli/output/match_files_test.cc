// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/match_files.h"

#include <string>

#include "client/cli/output/files/npz_file.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

MatchedPair Pair(int count, bool verify, bool has_geometry) {
  MatchedPair pair{.query = "a/1.png", .train = "2.png", .verify = verify};
  for (int i = 0; i < count; ++i) {
    pair.matches.add_query_index(static_cast<uint32_t>(3 * i));
    pair.matches.add_train_index(static_cast<uint32_t>(100'000 - i));
    pair.matches.add_distance(static_cast<uint32_t>(i));
  }
  if (!has_geometry) return pair;
  pair.geometry = {.f = {0, 1e-300, -3.25, 4, 5, 6, 7, 8, 9}};
  for (int i = 0; i < count; ++i) {
    pair.geometry->inliers.push_back(i % 3 == 0);
    pair.geometry->inlier_count += i % 3 == 0 ? 1 : 0;
  }
  return pair;
}

TEST(MatchFiles, WhatIsEncodedIsDecoded) {
  for (const int count : {0, 1, 20}) {
    for (const auto& [verify, has_geometry] :
         {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
      const MatchedPair pair = Pair(count, verify, has_geometry);
      const std::string bytes = EncodeMatches(pair);
      const auto decoded = DecodeMatches(bytes, "a/1.png", "2.png");
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(decoded->query, pair.query);
      EXPECT_EQ(decoded->train, pair.train);
      EXPECT_EQ(decoded->verify, verify);
      EXPECT_EQ(decoded->matches.SerializeAsString(), pair.matches.SerializeAsString());
      ASSERT_EQ(decoded->geometry.has_value(), has_geometry);
      if (has_geometry) {
        EXPECT_EQ(decoded->geometry->f, pair.geometry->f);
        EXPECT_EQ(decoded->geometry->inliers, pair.geometry->inliers);
        EXPECT_EQ(decoded->geometry->inlier_count, pair.geometry->inlier_count);
      }
      EXPECT_EQ(EncodeMatches(*decoded), bytes);
    }
  }
}

TEST(MatchFiles, FilesOfOtherKindsAreRefused) {
  const std::string two(2 * sizeof(int32_t), '\0');
  const std::string four(4 * sizeof(int32_t), '\0');
  const NpzArray matches{.name = "matches", .type = "<i4", .shape = {2, 2}, .data = four};
  const NpzArray distance{.name = "distance", .type = "<i4", .shape = {2}, .data = two};
  EXPECT_TRUE(DecodeMatches(EncodeNpz({matches, distance}), "a", "b").ok());
  const NpzArray floats{.name = "matches", .type = "<f4", .shape = {2, 2}, .data = four};
  const NpzArray flat{.name = "matches", .type = "<i4", .shape = {4}, .data = four};
  const NpzArray longer{.name = "distance", .type = "<i4", .shape = {4}, .data = four};
  const NpzArray inliers{.name = "inliers", .type = "|b1", .shape = {2}, .data = "ab"};
  for (const std::string& bytes :
       {std::string("no file"), EncodeNpz({matches}), EncodeNpz({distance}),
        EncodeNpz({floats, distance}), EncodeNpz({flat, distance}), EncodeNpz({matches, longer}),
        EncodeNpz({matches, distance, inliers})}) {
    EXPECT_EQ(DecodeMatches(bytes, "a", "b").status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace orbserve::cli
