// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/nearest_word.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

TEST(NearestWord, SlipsOfTheFingerAreUnderstood) {
  const std::vector<std::string> words = {"extract", "match",  "stream", "reference",
                                          "info",    "health", "bench",  "presets"};
  for (const auto& [typed, meant] :
       {std::pair("exract", "extract"), std::pair("extarct", "extract"),
        std::pair("macth", "match"), std::pair("streams", "stream"), std::pair("inf", "info"),
        std::pair("ref", "reference"), std::pair("preset", "presets"), std::pair("delete", ""),
        std::pair("x", ""), std::pair("photos/", ""), std::pair("", "")}) {
    EXPECT_EQ(NearestWord(typed, words), meant) << typed;
  }
  EXPECT_EQ(NearestWord("ex", {"extract", "export"}), "");
}

}  // namespace
}  // namespace orbserve::cli
