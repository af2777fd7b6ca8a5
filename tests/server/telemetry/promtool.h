// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_TELEMETRY_PROMTOOL_H_
#define ORBSERVE_TESTS_SERVER_TELEMETRY_PROMTOOL_H_

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace orbserve {

// Returns what `promtool check metrics` says of a page, "" being nothing, with its exit status in
// front where that is not 0; no value where promtool (Debian package prometheus) is not installed.
inline std::optional<std::string> WhatPromtoolSays(const std::string& page) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) return std::nullopt;
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      absl::StrCat(::testing::TempDir(), "orbserve_", test.test_suite_name(), "_page.txt");
  std::ofstream(path) << page;
  const int status = std::system(
      absl::StrCat("promtool check metrics < ", path, " > ", path, ".out 2>&1").c_str());
  std::ifstream said(path + ".out");
  const std::string text{std::istreambuf_iterator<char>(said), std::istreambuf_iterator<char>()};
  return status == 0 ? text : absl::StrCat("status ", status, ": ", text);
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_TELEMETRY_PROMTOOL_H_
