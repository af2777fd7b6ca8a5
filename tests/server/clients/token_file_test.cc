// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/token_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// printf %s secret | sha256sum
constexpr char kSecret[] = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
constexpr char kOther[] = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";

TokenTable Table(const std::string& text) {
  auto entries = ParseTokens(text, "tokens");
  EXPECT_TRUE(entries.ok()) << entries.status();
  return TokenTable(*std::move(entries));
}

// Null for a token that has expired.
const TokenEntry* FindValid(const TokenTable& table, absl::string_view token, absl::Time now) {
  const TokenEntry* const entry = table.Find(token);
  return entry != nullptr && now < entry->expires ? entry : nullptr;
}

TEST(TokenFileTest, ATokenNamesItsClient) {
  const TokenTable table = Table(absl::StrCat("# robots\n\nrobot-7  sha256:", kSecret,
                                              " weight=2.5\r\n\tcamera.1 sha256:", kOther, "\n"));
  const absl::Time now = absl::Now();
  const TokenEntry* const entry = FindValid(table, "secret", now);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->name, "robot-7");
  EXPECT_EQ(entry->weight, 2.5);
  EXPECT_TRUE(table.Knows("camera.1", now));
  EXPECT_FALSE(table.Knows("camera.2", now));
  for (const char* const wrong : {"", "Secret", "secret ", "secre", kSecret}) {
    EXPECT_EQ(table.Find(wrong), nullptr) << wrong;
  }
}

TEST(TokenFileTest, ATokenExpires) {
  const TokenTable table =
      Table(absl::StrCat("a sha256:", kSecret, " expires=2027-01-31\nb sha256:", kOther,
                         " expires=2027-01-31T12:00:00+01:00\n"));
  const absl::Time end = absl::FromCivil(absl::CivilDay(2027, 1, 31), absl::UTCTimeZone());
  EXPECT_NE(FindValid(table, "secret", end - absl::Seconds(1)), nullptr);
  EXPECT_EQ(FindValid(table, "secret", end), nullptr);
  ASSERT_NE(table.Find("secret"), nullptr);
  EXPECT_EQ(table.Find("no token"), nullptr);
  EXPECT_FALSE(table.Knows("a", end));
  EXPECT_TRUE(table.Knows("b", end + absl::Hours(11) - absl::Seconds(1)));
  EXPECT_FALSE(table.Knows("b", end + absl::Hours(11)));
}

TEST(TokenFileTest, AClientMayHaveAnOldAndANewToken) {
  const TokenTable table =
      Table(absl::StrCat("a sha256:", kSecret, " expires=2027-01-31\na sha256:", kOther, "\n"));
  EXPECT_NE(FindValid(table, "secret", absl::FromUnixSeconds(0)), nullptr);
  EXPECT_TRUE(table.Knows("a", absl::FromCivil(absl::CivilDay(2028, 1, 1), absl::UTCTimeZone())));
}

TEST(TokenFileTest, AWrongLineIsNamedAndItsHashIsNot) {
  struct Row {
    std::string line;
    const char* wrong;
  };
  const std::string hash = absl::StrCat("sha256:", kSecret);
  for (const Row& row : {Row{"robot", "must be NAME"}, Row{"ro/bot " + hash, "the name"},
                         Row{std::string(129, 'a') + " " + hash, "the name"},
                         Row{"a " + std::string(kSecret), "sha256:"},
                         Row{"a sha256:" + std::string(63, '0'), "64 digits"},
                         Row{"a sha256:" + std::string(64, 'g'), "64 digits"},
                         Row{"a " + hash + " weight=0", "weight must be in"},
                         Row{"a " + hash + " weight=nan", "weight must be in"},
                         Row{"a " + hash + " expires=tomorrow", "expires must be"},
                         Row{"a " + hash + " owner=b", "only weight="}}) {
    const absl::Status status = ParseTokens("# first line\n" + row.line, "tokens").status();
    EXPECT_EQ(ReasonOf(status), ErrorReason::kBadOptions) << row.line;
    EXPECT_THAT(std::string(status.message()), HasSubstr("tokens:2: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.wrong));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(kSecret)));
  }
  const std::string twice = absl::StrCat("a ", hash, "\nb ", hash, "\n");
  EXPECT_THAT(std::string(ParseTokens(twice, "tokens").status().message()),
              HasSubstr("tokens:2: the hash"));
  const std::string weights = absl::StrCat("a ", hash, "\na sha256:", kOther, " weight=2\n");
  EXPECT_THAT(std::string(ParseTokens(weights, "tokens").status().message()),
              HasSubstr("the weight 1; got 2"));
}

}  // namespace
}  // namespace orbserve
