// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/sensor_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {

absl::StatusOr<int64_t> ReadNumber(const std::string& path) {
  const auto unreadable = [&path](absl::string_view why) {
    return MakeError(ErrorReason::kUnsupported, absl::StrCat(path, " cannot be read: ", why));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char text[32];
  const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));
  const int error = errno;
  if (fd >= 0) close(fd);
  if (size < 0) return unreadable(std::strerror(error));
  int64_t value = 0;
  if (!absl::SimpleAtoi(absl::string_view(text, static_cast<size_t>(size)), &value)) {
    return unreadable("it holds no whole number");
  }
  return value;
}

std::string ReadWord(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == '\0' || line.back() == ' ' || line.back() == '\r')) {
    line.pop_back();
  }
  return line;
}

std::vector<std::string> NamesIn(const std::string& folder, absl::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (absl::StartsWith(name, prefix)) names.push_back(std::move(name));
  }
  // hwmon2 before hwmon10.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return names;
}

std::vector<std::string> FoldersIn(const std::string& folder, absl::string_view prefix) {
  std::vector<std::string> paths = NamesIn(folder, prefix);
  for (std::string& path : paths) path = absl::StrCat(folder, path, "/");
  return paths;
}

}  // namespace orbserve
