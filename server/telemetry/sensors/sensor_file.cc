// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/sensors/sensor_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status Unreadable(const std::string& path, absl::string_view why) {
  return MakeError(ErrorReason::kUnsupported, absl::StrCat(path, " cannot be read: ", why));
}

// hwmon2 before hwmon10.
bool ComesBefore(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

SensorFile::~SensorFile() { Close(); }

void SensorFile::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

absl::StatusOr<int64_t> SensorFile::Read() {
  if (fd_ < 0) fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) return Unreadable(path_, std::strerror(errno));
  char text[32];
  const ssize_t size = pread(fd_, text, sizeof(text), 0);
  if (size < 0) {
    const int error = errno;
    Close();  // the driver may have been loaded anew
    return Unreadable(path_, std::strerror(error));
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(absl::string_view(text, static_cast<size_t>(size)), &value)) {
    return Unreadable(path_, "it holds no whole number");
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
  std::sort(names.begin(), names.end(), &ComesBefore);
  return names;
}

}  // namespace orbserve
