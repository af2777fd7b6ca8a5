// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// docs/coverage.md names tests that exist, and has the rows of the tables that they go through.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/option_values.h"

namespace orbserve {
namespace {

using ::testing::ElementsAreArray;

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Page() { return Contents(ORBSERVE_COVERAGE_PAGE); }

std::vector<std::string> AllMatches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern); i != std::sregex_iterator();
       ++i) {
    found.push_back((*i)[1].str());
  }
  return found;
}

// The names, without ".cc", of the sources that have a test "Suite.Test".
std::map<std::string, std::set<std::string>> SourcesOfTests() {
  const std::regex pattern(R"((?:^|\n)TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  std::map<std::string, std::set<std::string>> sources;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORBSERVE_TEST_SOURCES)) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = Contents(entry.path());
    for (std::sregex_iterator i(text.begin(), text.end(), pattern); i != std::sregex_iterator();
         ++i) {
      sources[(*i)[1].str() + "." + (*i)[2].str()].insert(entry.path().stem().string());
    }
  }
  return sources;
}

// True if the build makes `binary` of `source`, by the names in the CMake lists.
bool IsBuiltFrom(const std::string& binary, const std::string& source) {
  // Binaries of several sources, or of a source with another name.
  const std::set<std::string> others = {"cpu_steps_test", "simd_kernels_test", "gpu_parity_test",
                                        "gpu_tracks_test"};
  return others.contains(binary) || binary == source || binary == "rpc_conversion_" + source ||
         binary == "pipeline_" + source;
}

TEST(CoveragePageTest, EveryTestThatItNamesExistsInItsBinary) {
  const auto sources = SourcesOfTests();
  const std::string page = Page();
  const std::regex pattern(R"(`(\w+_test)/(\w+\.\w+)`)");
  int named = 0;
  for (std::sregex_iterator i(page.begin(), page.end(), pattern); i != std::sregex_iterator();
       ++i) {
    const std::string binary = (*i)[1].str();
    const std::string test = (*i)[2].str();
    ++named;
    const auto found = sources.find(test);
    if (found == sources.end()) {
      ADD_FAILURE() << "no test is called " << test;
      continue;
    }
    EXPECT_TRUE(std::any_of(found->second.begin(), found->second.end(),
                            [&](const auto& source) { return IsBuiltFrom(binary, source); }))
        << test << " is not in " << binary;
  }
  EXPECT_GT(named, 30);
}

// "option_value" of each row in the section of the page that begins with `title`.
std::vector<std::string> RowsOfSection(const std::string& title) {
  const std::string page = Page();
  const size_t begin = page.find("\n## " + title + "\n");
  EXPECT_NE(begin, std::string::npos) << title;
  if (begin == std::string::npos) return {};
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  std::vector<std::string> rows;
  const std::regex row(R"(\n\| `(\w+)` \| ([^|]*) \|)");
  for (std::sregex_iterator i(section.begin(), section.end(), row); i != std::sregex_iterator();
       ++i) {
    for (const std::string& value : AllMatches((*i)[2].str(), std::regex(R"(`(\w+)`)"))) {
      rows.push_back((*i)[1].str() + "_" + value);
    }
  }
  return rows;
}

template <typename Value>
std::vector<std::string> NamesOf(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value& value : values) names.push_back(value.name);
  return names;
}

TEST(CoveragePageTest, HasTheRowsOfTheTablesInTheirOrder) {
  EXPECT_THAT(RowsOfSection("Options of a pipeline"),
              ElementsAreArray(NamesOf(testing::OptionValues())));
  EXPECT_THAT(RowsOfSection("Options of matching"),
              ElementsAreArray(NamesOf(testing::MatchOptionValues())));
  EXPECT_THAT(RowsOfSection("Options of tracks"),
              ElementsAreArray(NamesOf(testing::TrackOptionValues())));
}

}  // namespace
}  // namespace orbserve
