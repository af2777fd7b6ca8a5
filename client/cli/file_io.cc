// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

// Larger than every image that fits into a message. Catches mistakes such as a video or a disk.
constexpr int64_t kMaxFileBytes = 512LL << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  // Returns the result of close(), which may be the first call to report a full disk.
  int Close() { return close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

absl::Status ErrnoStatus(const char* what) { return absl::ErrnoToStatus(errno, what); }

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, const std::atomic<bool>* stop) {
  // O_NONBLOCK opens a named pipe that has no writer yet; AwaitReadable then waits for one.
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return ErrnoStatus("cannot be opened");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus("cannot be read");
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError("is a folder, not a file");
  if (info.st_size > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("file too large: ", info.st_size, " bytes; allowed are ", kMaxFileBytes));
  }
  // One spare byte shows the end of a file of the reported size without growing the buffer. Pipes
  // report no size; for them the buffer grows.
  std::string bytes(static_cast<size_t>(std::max<int64_t>(info.st_size, 1 << 12)) + 1, '\0');
  size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() * 2);
    if (!S_ISREG(info.st_mode) && !AwaitReadable(file.get(), stop)) {
      return absl::CancelledError("interrupted");
    }
    const ssize_t count = read(file.get(), bytes.data() + used, bytes.size() - used);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return ErrnoStatus("cannot be read");
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (static_cast<int64_t>(used) > kMaxFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("file too large; allowed are ", kMaxFileBytes, " bytes"));
    }
  }
  if (used == 0) return absl::InvalidArgumentError("the file is empty");
  bytes.resize(used);
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  const std::string beside = absl::StrCat(path, ".part", getpid());
  int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 && errno == ENOENT) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": its folder cannot be created: ", error.message()));
    }
    fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd < 0) return ErrnoStatus(path.c_str());
  FileDescriptor file(fd);
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t count = write(file.get(), bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      status = ErrnoStatus(path.c_str());
    }
  }
  if (file.Close() != 0 && status.ok()) status = ErrnoStatus(path.c_str());
  if (status.ok() && std::rename(beside.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(path.c_str());
  }
  if (!status.ok()) unlink(beside.c_str());
  return status;
}

}  // namespace orbserve::cli
