// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/image_pairs.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> kImages = {"a.jpg", "in/b.jpg", "two words.jpg"};

TEST(ImagePairs, ExhaustiveHasEveryPairOnce) {
  EXPECT_THAT(ExhaustivePairs(3), ElementsAre(ImagePair{0, 1}, ImagePair{0, 2}, ImagePair{1, 2}));
  EXPECT_THAT(ExhaustivePairs(20), SizeIs(190));
  EXPECT_THAT(ExhaustivePairs(1), IsEmpty());
  EXPECT_THAT(ExhaustivePairs(0), IsEmpty());
}

TEST(ImagePairs, SequentialHasTheImagesBehindEach) {
  EXPECT_THAT(SequentialPairs(4, 1),
              ElementsAre(ImagePair{0, 1}, ImagePair{1, 2}, ImagePair{2, 3}));
  EXPECT_THAT(SequentialPairs(3, 9),
              ElementsAre(ImagePair{0, 1}, ImagePair{0, 2}, ImagePair{1, 2}));
}

TEST(ImagePairs, FilesNamePairsByLine) {
  const auto pairs = ParsePairs(
      "# first\na.jpg in/b.jpg\n\n  in/b.jpg\ttwo words.jpg \r\nin/b.jpg a.jpg\n", kImages);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  // The last line is the first pair once more.
  EXPECT_THAT(*pairs, ElementsAre(ImagePair{0, 1}, ImagePair{1, 2}));
}

TEST(ImagePairs, WrongLinesAreNamed) {
  const auto error = [](const char* text) {
    return std::string(ParsePairs(text, kImages).status().message());
  };
  EXPECT_THAT(error("a.jpg in/b.jpg\na.jpg\n"), HasSubstr("line 2 must have"));
  EXPECT_THAT(error("a.jpg two words.jpg"), HasSubstr("line 1 must have"));
  EXPECT_THAT(error("a.jpg c.jpg"), HasSubstr("no input is called c.jpg"));
  EXPECT_THAT(error("a.jpg a.jpg"), HasSubstr("the same image twice"));
}

}  // namespace
}  // namespace orbserve::cli
