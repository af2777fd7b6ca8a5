// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/inputs.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
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

TEST(ExpandInputsTest, TwoInputsOfOneOutputAreAnError) {
  const auto files = Expand({"/x/1.jpg", "/y/1.jpg"});
  ASSERT_TRUE(files.ok()) << files.status();
  const absl::Status status = CheckOneOutputEach(*files);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/x/1.jpg and /y/1.jpg"));
  EXPECT_TRUE(CheckOneOutputEach(*Expand({"/x/1.jpg", "y/1.jpg"})).ok());
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
  // They write nothing, so that their names do not clash.
  EXPECT_TRUE(CheckOneOutputEach(*Expand({folder / "one", folder / "one", image})).ok());
  const auto nothing = Expand({folder / "one", folder / "two"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(std::string(nothing.status().message()), HasSubstr("one: no image"));
}

TEST(NameOnOneLineTest, TellsEveryNameApart) {
  EXPECT_EQ(NameOnOneLine("a b/\xC3\xBC'\".png"), "a b/\xC3\xBC'\".png");
  EXPECT_EQ(NameOnOneLine("a\nb\\n\x1b[1m\x7f"), "a\\nb\\\\n\\x1b[1m\\x7f");
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

TEST(CheckNoInputReplacedTest, KnowsAFileByEveryName) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("in/a.png", "x");
  const std::string other = folder.Write("in/b.png", "x");
  const std::string link = folder / "in/link.png";
  fs::create_symlink("a.png", link);
  fs::create_directory_symlink("in", folder / "again");
  const auto replaced = [](const std::string& input, const std::string& output) {
    return !CheckNoInputReplaced({"", "/not/there.png", input}, {"/not/there", output}).ok();
  };
  EXPECT_TRUE(replaced(file, file));
  EXPECT_TRUE(replaced(file, folder / "in/../again/a.png"));
  EXPECT_TRUE(replaced(link, file));
  EXPECT_TRUE(replaced(link, link));
  EXPECT_FALSE(replaced(file, link));  // only the link would be gone
  EXPECT_FALSE(replaced(file, other));
  EXPECT_FALSE(replaced(file, folder / "in/c.png"));
}

TEST(ParseShardTest, TakesOnlyIndexBelowCount) {
  const auto shard = ParseShard("2/7");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->index, 2);
  EXPECT_EQ(shard->count, 7);
  for (const char* bad : {"", "/", "1", "7/7", "-1/3", "0/0", "1/-2", "a/b", "1/2/3", "1/"}) {
    EXPECT_FALSE(ParseShard(bad).ok()) << bad;
  }
}

TEST(TakeShardTest, ShardsPartTheFilesEvenlyByByteSortedPath) {
  std::vector<InputFile> files;
  for (int i = 0; i < 103; ++i) {
    files.push_back({"/in/" + std::to_string(i) + ".png", std::to_string(i) + ".png"});
  }
  std::vector<std::string> sorted = Relatives(files);
  std::sort(sorted.begin(), sorted.end());
  for (const int64_t count : {1, 2, 7, 103, 200}) {
    std::set<std::string> seen;
    for (int64_t index = 0; index < count; ++index) {
      std::vector<std::string> part = Relatives(TakeShard(files, {index, count}));
      EXPECT_LE(part.size(), 103u / static_cast<size_t>(count) + 1);
      if (!part.empty()) {
        std::sort(part.begin(), part.end());
        EXPECT_EQ(part[0], sorted[static_cast<size_t>(index)]);
      }
      for (const std::string& name : part) EXPECT_TRUE(seen.insert(name).second) << name;
    }
    EXPECT_EQ(seen.size(), 103u) << count;
  }
}

TEST(TakeShardTest, PartDoesNotDependOnTheOrderOfTheInputs) {
  std::vector<InputFile> files;
  for (int i = 0; i < 20; ++i) files.push_back({"", std::to_string(i)});
  std::vector<InputFile> reversed(files.rbegin(), files.rend());
  std::vector<std::string> a = Relatives(TakeShard(files, {1, 3}));
  std::vector<std::string> b = Relatives(TakeShard(reversed, {1, 3}));
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace orbserve::cli
