// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/cgroup.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

}  // namespace

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

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

}  // namespace orbserve
