// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_NEW_FILE_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_NEW_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve::cli {

// A file that is not seen under its name before it is whole. Until then it has no name at all where
// the file system can do that, and nothing stays of it when the process is killed. Elsewhere, and
// for the moment in which it takes the place of another file, it has a name beside its own that
// ends with ".part" and the number of the process.
//
// Nothing here waits for the disk, which would dominate the time of small outputs: after a power
// failure the file may be shorter.
class NewFile {
 public:
  // Creates missing folders.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path);
  // Throws the file away unless Publish() succeeded.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  absl::Status Append(absl::string_view bytes);
  // Cuts the file off behind its first `bytes`.
  absl::Status Truncate(int64_t bytes);
  // Gives the file its name, in place of a file that has it. Called once, at the end.
  absl::Status Publish();

 private:
  explicit NewFile(const std::string& path);
  bool Open();
  // Gives an unnamed file the name `to`. False where the name is taken or for other reasons
  // (errno).
  bool Link(const std::string& to) const;
  absl::Status Failed() const;  // errno

  const std::string path_;
  const std::string beside_;
  int fd_ = -1;
  bool has_name_ = false;  // beside_ exists
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_NEW_FILE_H_
