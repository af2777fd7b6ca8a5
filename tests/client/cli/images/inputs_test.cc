// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/inputs.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Relatives(const std::vector<InputFile>& files) {
  std::vector<std::string> names;
  for (const InputFile& file : files) names.push_back(file.relative);
  return names;
}

absl::StatusOr<std::vector<InputFile>> Expand(const std::vector<std::string>& inputs,
                                              const std::string& names = "",
                                              const std::string& excluded = "") {
  std::istringstream stream(names);
  return ExpandInputs(inputs, stream, excluded);
}

TEST(NaturalLessTest, NumbersCountByTheirValue) {
  std::vector<std::string> names = {"10.png", "9.png", "a10",  "a9b", "a9", "010.png",
                                    "1.png",  "a/2",   "a/10", "a.b", "B",  "b"};
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return NaturalLess(a, b); });
  EXPECT_THAT(names, ElementsAre("1.png", "9.png", "010.png", "10.png", "B", "a/2", "a/10", "a.b",
                                 "a9", "a9b", "a10", "b"));
}

TEST(NaturalLessTest, IsATotalOrder) {
  constexpr uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    std::string name;
    for (uint32_t length = random() % 6; length > 0; --length) name += "01a/9."[random() % 6];
    names.push_back(name);
  }
  for (const std::string& a : names) {
    EXPECT_FALSE(NaturalLess(a, a));
    for (const std::string& b : names) {
      if (a != b) {
        EXPECT_NE(NaturalLess(a, b), NaturalLess(b, a)) << a << " " << b;
      }
      for (const std::string& c : names) {
        if (NaturalLess(a, b) && NaturalLess(b, c)) {
          EXPECT_TRUE(NaturalLess(a, c)) << a << " " << b << " " << c;
        }
      }
    }
  }
}

TEST(ExpandInputsTest, FolderIsReadRecursivelyAndOthersThanImagesArePassedOver) {
  const TemporaryFolder folder;
  for (const char* name : {"b/10.png", "b/9.PNG", "a.jpeg", "notes.txt", "b/c/x.ppm", ".hidden.jpg",
                           ".git/y.png", "z.pnm", "image.jpg.npz"}) {
    folder.Write(name, "x");
  }
  const auto files = Expand({folder.path()});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(Relatives(*files),
              ElementsAre("a.jpeg", "b/9.PNG", "b/10.png", "b/c/x.ppm", "z.pnm"));
  EXPECT_EQ((*files)[0].path, folder / "a.jpeg");
}

TEST(ExpandInputsTest, ExplicitFileIsListedWhateverItsName) {
  const TemporaryFolder folder;
  const std::string odd = folder.Write("odd.dat", "x");
  const auto files = Expand({odd, "sub/./there.jpg", "../up/x.jpg"});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(Relatives(*files), ElementsAre("odd.dat", "sub/there.jpg", "x.jpg"));
}

TEST(ExpandInputsTest, DashReadsNamesFromStandardInput) {
  const auto files = Expand({"-"}, "a.jpg\r\n\nb c.png");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(Relatives(*files), ElementsAre("a.jpg", "b c.png"));
}

TEST(ExpandInputsTest, FolderWithoutImagesIsAnError) {
  const TemporaryFolder folder;
  folder.Write("notes.txt", "x");
  EXPECT_FALSE(Expand({folder.path()}).ok());
}

TEST(ExpandInputsTest, FoldersWithoutImagesAreAProblemOfTheirOwn) {
  const TemporaryFolder folder;
  const std::string image = folder.Write("a.png", "x");
  folder.Write("one/notes.txt", "x");
  folder.Write("two/notes.txt", "x");
  const auto files = Expand({folder / "one", image, "-"}, folder / "two");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(Relatives(*files), ElementsAre("one", "a.png", "two"));
  EXPECT_THAT(std::string((*files)[0].problem.message()), HasSubstr("no image in this folder"));
  EXPECT_TRUE((*files)[1].problem.ok());
  EXPECT_FALSE((*files)[2].problem.ok());
  const auto nothing = Expand({folder / "one", folder / "two"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(std::string(nothing.status().message()), HasSubstr("one: no image"));
}

TEST(ExpandInputsTest, ExcludedFolderIsNotEntered) {
  const TemporaryFolder folder;
  folder.Write("a.png", "x");
  folder.Write("overlays/a.png.png", "x");
  const auto files = Expand({folder.path()}, "", folder / "overlays");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(Relatives(*files), ElementsAre("a.png"));
}

TEST(ExpandInputsTest, PicturesAreNotDrawnIntoAFolderOfInputs) {
  const TemporaryFolder folder;
  folder.Write("in/a.png", "x");
  fs::create_directory_symlink("in", folder / "link");
  for (const std::string& pictures : {folder / "in", folder / "in/.", folder / "link"}) {
    for (const auto& files :
         {Expand({folder / "in"}, "", pictures), Expand({"-"}, folder / "in", pictures)}) {
      EXPECT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument) << pictures;
      EXPECT_THAT(std::string(files.status().message()), HasSubstr("--draw " + pictures));
    }
  }
}

}  // namespace
}  // namespace orbserve::cli
