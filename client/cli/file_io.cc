// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/new_file.h"
#include "client/cli/output/table_cells.h"

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

 private:
  const int fd_;
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
        absl::StrCat("file too large: ", BytesText(static_cast<uint64_t>(info.st_size)),
                     "; allowed are ", BytesText(kMaxFileBytes)));
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
          absl::StrCat("file too large; allowed are ", BytesText(kMaxFileBytes)));
    }
  }
  if (used == 0) return absl::InvalidArgumentError("the file is empty");
  bytes.resize(used);
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  absl::StatusOr<std::unique_ptr<NewFile>> file = NewFile::Create(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = (*file)->Append(bytes); !status.ok()) return status;
  return (*file)->Publish();
}

}  // namespace orbserve::cli
