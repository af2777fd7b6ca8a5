// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What has been written into an output folder, from which images and with which options, so that
// `--resume` can pass it over. One file a shard, `.orbserve-done.I-of-N`, so that the shards of a
// run may share the folder; all of them are read.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_RESUME_LOG_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_RESUME_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/images/inputs.h"

namespace orbserve::cli {

// A number for everything that decides the bytes of an output; equal for equal `options` text.
std::string OptionsFingerprint(absl::string_view options);

// Thread-safe.
class ResumeLog {
 public:
  // Reads what the folder has; a folder that is not there yet is empty.
  static absl::StatusOr<std::unique_ptr<ResumeLog>> Open(const std::string& folder,
                                                         const Shard& shard,
                                                         const std::string& fingerprint);
  ~ResumeLog();

  ResumeLog(const ResumeLog&) = delete;
  ResumeLog& operator=(const ResumeLog&) = delete;

  // Whether `output`, relative to the folder, was written from `input` as it is now (size and time
  // of change), with the same options, and is still there and as long as it was.
  bool IsDone(const std::string& input, const std::string& output) const;

  // `output`, of `output_bytes`, has been written from `input`. In the file when it returns, so
  // that a run that is killed loses nothing that is done.
  absl::Status MarkDone(const std::string& input, const std::string& output, size_t output_bytes);

  // Sorts the shard's file, so that equal runs leave equal folders.
  absl::Status Close();

 private:
  ResumeLog() = default;

  std::string folder_;
  std::string path_;
  std::string fingerprint_;
  std::map<std::string, std::string> known_;  // NameOnOneLine(output) -> line of any shard
  absl::Mutex mutex_;
  std::map<std::string, std::string> own_ ABSL_GUARDED_BY(mutex_);  // the same of this shard
  int fd_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_RESUME_LOG_H_
