// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/json_writer.h"

#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

TEST(JsonWriterTest, TextThatIsNotUtf8StaysJson) {
  const auto quoted = [](absl::string_view text) {
    std::string out;
    AppendJsonString(text, &out);
    return out;
  };
  EXPECT_EQ(quoted("a\tb\\\n"), "\"a\\u0009b\\\\\\u000a\"");
  EXPECT_EQ(quoted("gr\xC3\xBC\xC3\x9F"), "\"gr\xC3\xBC\xC3\x9F\"");
  EXPECT_EQ(quoted("\xF0\x9F\x98\x80"), "\"\xF0\x9F\x98\x80\"");
  EXPECT_EQ(quoted("\xC3(\xFF"), "\"\xEF\xBF\xBD(\xEF\xBF\xBD\"");
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonWriterTest, FloatsReadBackExactlyAndWhatIsNoNumberIsNull) {
  for (const float value : {0.1f, 1.0f / 3, 1e-38f, 3.4028235e38f, -0.0f, 16777216.0f}) {
    std::string text;
    AppendFloat(value, &text);
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
  }
  std::string text;
  AppendFloat(std::numeric_limits<float>::quiet_NaN(), &text);
  EXPECT_EQ(text, "null");
}

}  // namespace
}  // namespace orbserve::cli
