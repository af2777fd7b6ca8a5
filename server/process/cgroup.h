// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Files of the cgroups that this process is in.

#ifndef ORBSERVE_SERVER_PROCESS_CGROUP_H_
#define ORBSERVE_SERVER_PROCESS_CGROUP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace orbserve {

// Folders in which `controller` ("memory", "cpu") has the files of these cgroups and of their
// parents, of version 1 and 2. Some may not exist. `root`: where /proc and /sys lie, for tests.
std::vector<std::string> CgroupFolders(const std::string& root, absl::string_view controller);

// First line of a file, or nothing.
std::optional<std::string> FirstLine(const std::string& path);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_CGROUP_H_
