// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/folder_source.h"

#include <optional>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

TEST(TimestampInNameTest, NamesOfNanosecondsAndOfSecondsAreTimestamps) {
  EXPECT_EQ(TimestampInName("1403636579763555584.png"), 1'403'636'579'763'555'584);
  EXPECT_EQ(TimestampInName("cam0/data/1403636579763555584.png"), 1'403'636'579'763'555'584);
  EXPECT_EQ(TimestampInName("1305031102.175304.png"), 1'305'031'102'175'304'000);
  EXPECT_EQ(TimestampInName("1305031102.5.jpg"), 1'305'031'102'500'000'000);
  EXPECT_EQ(TimestampInName("1305031102.123456789.jpg"), 1'305'031'102'123'456'789);
}

TEST(TimestampInNameTest, OtherNamesAreNone) {
  for (const char* name :
       {"000007.png", "frame.png", ".png", "", "1305031102.png", "20240131123456.png",
        "1305031102.17a.png", "-305031102.5.png", "9999999999999999999.png",
        "1403636579763555584.1.png", "1305031102.1234567890.jpg"}) {
    EXPECT_EQ(TimestampInName(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace orbserve::cli
