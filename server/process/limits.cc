// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace orbserve {
namespace {

// Appends the folder of the cgroup `path` below `mount`, and those of its parents. A container sees
// its own cgroup as the mount itself, whatever its path is outside.
void AppendFolders(const std::string& mount, absl::string_view path,
                   std::vector<std::string>* folders) {
  std::string folder = mount;
  folders->push_back(folder);
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&folder, "/", part);
    folders->push_back(folder);
  }
}

// Folders in which `controller` ("memory", "cpu") has the files of the cgroups that this process is
// in and of their parents, of version 1 and 2. Some may not exist.
std::vector<std::string> CgroupFolders(const std::string& root, absl::string_view controller) {
  std::vector<std::string> folders;
  std::ifstream groups(absl::StrCat(root, "/proc/self/cgroup"));
  std::string line;
  while (std::getline(groups, line)) {
    // NUMBER:CONTROLLERS:PATH; no controllers: version 2.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        AppendFolders(absl::StrCat(root, mount), parts[2], &folders);
      }
      continue;
    }
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) == controllers.end()) {
      continue;
    }
    AppendFolders(absl::StrCat(root, "/sys/fs/cgroup/", controller), parts[2], &folders);
  }
  return folders;
}

// First line of a file, or nothing.
std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

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

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// A number of bytes in a file of a cgroup. "max", and no file, are no limit.
int64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  if (!(file >> bytes)) return kNoLimit;
  // Version 1 writes a number near 2^63 where there is no limit.
  return static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t{1} << 62));
}

int64_t CgroupLimit(const std::string& root) {
  int64_t limit = kNoLimit;
  for (const std::string& folder : CgroupFolders(root, "memory")) {
    for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
      limit = std::min(limit, LimitIn(absl::StrCat(folder, "/", file)));
    }
  }
  return limit;
}

// Bytes of the line NAME of /proc/meminfo.
std::optional<int64_t> MemInfo(const std::string& root, absl::string_view name) {
  std::ifstream file(absl::StrCat(root, "/proc/meminfo"));
  const std::string wanted = absl::StrCat(name, ":");
  std::string key;
  std::string rest;
  int64_t kib = 0;
  while (file >> key >> kib && std::getline(file, rest)) {
    if (key == wanted) return kib * 1024;
  }
  return std::nullopt;
}

int64_t HostMemory(const std::string& root) {
  if (const auto bytes = MemInfo(root, "MemTotal"); bytes.has_value()) return *bytes;
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_bytes = sysconf(_SC_PAGE_SIZE);
  constexpr int64_t kFallbackBytes = int64_t{4} << 30;
  return pages > 0 && page_bytes > 0 ? pages * page_bytes : kFallbackBytes;
}

}  // namespace

double FindProcessorLimit(const std::string& root) {
  double limit = std::max(1U, std::thread::hardware_concurrency());
  for (const std::string& folder : CgroupFolders(root, "cpu")) {
    if (const std::optional<double> quota = QuotaIn(folder)) limit = std::min(limit, *quota);
  }
  return limit;
}

int64_t FindMemoryLimit(const std::string& root) {
  int64_t limit = std::min(HostMemory(root), CgroupLimit(root));
  if (const int64_t address = AddressSpaceLimit(); address > 0) {
    limit = std::min(limit, address - kAddressOverheadBytes);
  }
  return std::max(limit, kLeastMemoryBytes);
}

int64_t AddressSpaceLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, rlim_t{1} << 62));
}

MemoryState ReadMemoryState(const std::string& root) {
  MemoryState state;
  std::ifstream pages(absl::StrCat(root, "/proc/self/statm"));
  int64_t all = 0;
  int64_t resident = 0;
  if (pages >> all >> resident) {
    const int64_t page_bytes = sysconf(_SC_PAGE_SIZE);
    state.address_bytes = all * page_bytes;
    state.resident_bytes = resident * page_bytes;
  }
  state.available_bytes = MemInfo(root, "MemAvailable").value_or(-1);
  return state;
}

}  // namespace orbserve
