// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/console.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ProgressLine, ShowsRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine(10, 40, 2, "images", absl::Seconds(5), 120),
            "[#######.....................] 10/40 images  2.0/s  0:15 left, 2 failed");
}

TEST(ProgressLine, LivesBeforeTheFirstImageEnds) {
  EXPECT_EQ(ProgressLine(0, 3, 0, "images", absl::Seconds(7), 120),
            "[............................] 0/3 images  0:07 so far");
}

TEST(ProgressLine, FitsAnyTerminal) {
  for (size_t columns = 2; columns <= 200; ++columns) {
    for (const int64_t done : {int64_t{0}, int64_t{999}, int64_t{123'456}}) {
      const std::string line = ProgressLine(done, 123'456, 17, "images", absl::Hours(3), columns);
      EXPECT_LT(line.size(), columns) << line;
    }
  }
  const std::string narrow = ProgressLine(10, 40, 0, "images", absl::Seconds(5), 40);
  EXPECT_THAT(narrow, StartsWith("[##"));
  EXPECT_THAT(narrow, HasSubstr("10/40"));
  EXPECT_THAT(narrow, HasSubstr("0:15 left"));
}

}  // namespace
}  // namespace orbserve::cli
