// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/process/cgroup.h"

namespace orbserve {
namespace {

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
