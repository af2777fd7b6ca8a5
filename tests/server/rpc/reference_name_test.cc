// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/reference_name.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/server/rpc/reason_of_failure.h"

namespace orbserve {
namespace {

TEST(ReferenceNameTest, HasOneTo128BytesOfPrintableAscii) {
  for (const std::string& name : {std::string("a"), std::string(" ~"), std::string(128, 'x')}) {
    EXPECT_TRUE(CheckReferenceName(name).ok()) << name;
  }
  for (const std::string& name : {std::string(), std::string(129, 'x'), std::string("a\nb"),
                                  std::string("\x7f"), std::string("\xc3\xa9")}) {
    EXPECT_EQ(ReasonOfFailure(CheckReferenceName(name)), ErrorReason::kBadRequest) << name;
  }
}

}  // namespace
}  // namespace orbserve
