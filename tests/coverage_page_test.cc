// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// docs/coverage.md names tests that exist.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace orbserve {
namespace {

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "Suite.Test" of every test in the sources.
std::set<std::string> Tests() {
  const std::regex pattern(R"((?:^|\n)TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  std::set<std::string> tests;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORBSERVE_TEST_SOURCES)) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = Contents(entry.path());
    for (std::sregex_iterator i(text.begin(), text.end(), pattern); i != std::sregex_iterator();
         ++i) {
      tests.insert((*i)[1].str() + "." + (*i)[2].str());
    }
  }
  return tests;
}

TEST(CoveragePageTest, EveryTestThatItNamesExists) {
  const std::set<std::string> tests = Tests();
  const std::string page = Contents(ORBSERVE_COVERAGE_PAGE);
  const std::regex pattern(R"(`(\w+Test\.\w+)`)");
  int named = 0;
  for (std::sregex_iterator i(page.begin(), page.end(), pattern); i != std::sregex_iterator();
       ++i) {
    ++named;
    EXPECT_TRUE(tests.contains((*i)[1].str())) << "no test is called " << (*i)[1].str();
  }
  EXPECT_GT(named, 30);
}

}  // namespace
}  // namespace orbserve
