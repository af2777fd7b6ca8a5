// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace orbserve {
namespace {

constexpr int kDescriptorsPerConnection = 2;  // gRPC's and the connection table's

int64_t OpenDescriptors() {
  std::error_code ignored;
  const std::filesystem::directory_iterator folder("/proc/self/fd", ignored);
  return std::max<int64_t>(std::distance(begin(folder), end(folder)) - 1, 0);  // less its own
}

int64_t DescriptorLimit() {
  constexpr rlim_t kMuch = 1 << 30;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMuch;
  return static_cast<int64_t>(std::min(limit.rlim_cur, kMuch));  // "infinity" is larger
}

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int AffordableConnections(int wanted, int reserve) {
  const int64_t affordable =
      (DescriptorLimit() - OpenDescriptors() - reserve) / kDescriptorsPerConnection;
  return static_cast<int>(std::clamp<int64_t>(affordable, 1, wanted));
}

int AffordableHttpConnections(int wanted) {
  return static_cast<int>(std::clamp<int64_t>(DescriptorLimit() / 8, 1, wanted));
}

}  // namespace orbserve
