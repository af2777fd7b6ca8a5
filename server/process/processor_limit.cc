// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/processor_limit.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/process/cgroup.h"

namespace orbserve {
namespace {

// QUOTA PERIOD, in microseconds. Version 2 writes "max" where there is no quota, version 1 -1.
std::optional<double> QuotaOf(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ' ', absl::SkipEmpty());
  double quota_us = 0;
  double period_us = 0;
  if (parts.size() != 2 || !absl::SimpleAtod(parts[0], &quota_us) ||
      !absl::SimpleAtod(parts[1], &period_us) || !(quota_us > 0) || !(period_us > 0)) {
    return std::nullopt;
  }
  return quota_us / period_us;
}

std::optional<double> QuotaIn(const std::string& folder) {
  if (const auto line = FirstLine(absl::StrCat(folder, "/cpu.max"))) return QuotaOf(*line);
  const auto quota = FirstLine(absl::StrCat(folder, "/cpu.cfs_quota_us"));
  const auto period = FirstLine(absl::StrCat(folder, "/cpu.cfs_period_us"));
  if (!quota.has_value() || !period.has_value()) return std::nullopt;
  return QuotaOf(absl::StrCat(*quota, " ", *period));
}

}  // namespace

double FindProcessorLimit(const std::string& root) {
  double limit = std::max(1U, std::thread::hardware_concurrency());
  for (const std::string& folder : CgroupFolders(root, "cpu")) {
    if (const std::optional<double> quota = QuotaIn(folder)) limit = std::min(limit, *quota);
  }
  return limit;
}

}  // namespace orbserve
