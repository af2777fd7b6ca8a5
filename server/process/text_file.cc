// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status Unreadable(const std::string& path, absl::string_view why) {
  return MakeError(ErrorReason::kBadOptions, absl::StrCat(path, ": cannot be read: ", why));
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t max_bytes) {
  // Without O_NONBLOCK this would wait for a pipe that nobody writes to.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return Unreadable(path, std::strerror(errno));
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat info = {};
  if (fstat(file, &info) != 0) return Unreadable(path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return Unreadable(path, std::strerror(EISDIR));
  if (!S_ISREG(info.st_mode)) return Unreadable(path, "Not a regular file");
  // The size of the file is not trusted: it may grow while it is read, and files of /proc claim to
  // be empty.
  std::string text;
  char bytes[1 << 14];
  for (;;) {
    const ssize_t count = read(file, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, std::strerror(errno));
    if (count == 0) return text;
    text.append(bytes, static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return Unreadable(path, absl::StrCat("it has more than ", max_bytes, " bytes"));
    }
  }
}

}  // namespace orbserve
