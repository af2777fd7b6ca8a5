// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace orbserve::cli {
namespace {

std::string FolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path), beside_(absl::StrCat(path, ".part", getpid())) {}

NewFile::~NewFile() {
  if (fd_ >= 0) close(fd_);
  if (has_name_) unlink(beside_.c_str());
}

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(const std::string& path) {
  std::unique_ptr<NewFile> file(new NewFile(path));
  if (file->Open()) return file;
  if (errno != ENOENT && errno != ENOTDIR) return file->Failed();
  std::error_code error;
  std::filesystem::create_directories(FolderOf(path), error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its folder cannot be created: ", error.message()));
  }
  if (!file->Open()) return file->Failed();
  return file;
}

bool NewFile::Open() {
  constexpr mode_t kMode = 0666;
  // Link() needs /proc. A kernel or file system without unnamed files answers one of the errors.
  const bool can_link = access("/proc/self/fd", X_OK) == 0;
  if (can_link) fd_ = open(FolderOf(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (!can_link || (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))) {
    fd_ = open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
    has_name_ = fd_ >= 0;
  }
  return fd_ >= 0;
}

absl::Status NewFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return Failed();
    }
  }
  return absl::OkStatus();
}

absl::Status NewFile::Truncate(int64_t bytes) {
  return ftruncate(fd_, bytes) == 0 ? absl::OkStatus() : Failed();
}

bool NewFile::Link(const std::string& to) const {
  const std::string from = absl::StrCat("/proc/self/fd/", fd_);
  return linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

absl::Status NewFile::Publish() {
  if (!has_name_ && !Link(path_)) {
    if (errno != EEXIST) return Failed();
    unlink(beside_.c_str());  // left by a process that had this number
    if (!Link(beside_)) return Failed();
    has_name_ = true;
  }
  // close() may be the first call to report a full disk.
  if (close(std::exchange(fd_, -1)) != 0) return Failed();
  if (!has_name_) return absl::OkStatus();
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) return Failed();
  has_name_ = false;
  return absl::OkStatus();
}

absl::Status NewFile::Failed() const { return absl::ErrnoToStatus(errno, path_); }

}  // namespace orbserve::cli
