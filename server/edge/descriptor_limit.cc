// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/descriptor_limit.h"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>

namespace orbserve {
namespace {

constexpr int kDescriptorsPerConnection = 2;  // gRPC's and the connection table's

int OpenDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;  // ".", ".." and the folder itself
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return std::max(count, 0);
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
