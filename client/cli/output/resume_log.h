// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Record of the files in an output folder: which images and which options each was made from.
// `--resume` skips what is recorded. Each shard writes a file of its own, `.orbserve-done.I-of-N`,
// and reads those of all shards. The shards of a run may share the folder.

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
#include "absl/types/span.h"
#include "client/cli/images/shard.h"

namespace orbserve::cli {

// Hash of `options`, a text of everything that decides the bytes of an output.
std::string OptionsFingerprint(absl::string_view options);

// Thread-safe.
class ResumeLog {
 public:
  // Reads the records of `folder`, which is created if it does not exist.
  static absl::StatusOr<std::unique_ptr<ResumeLog>> Open(const std::string& folder,
                                                         const Shard& shard,
                                                         const std::string& fingerprint);
  ~ResumeLog();

  ResumeLog(const ResumeLog&) = delete;
  ResumeLog& operator=(const ResumeLog&) = delete;

  // True if `output`, relative to the folder, exists with its recorded length and was written with
  // the same options from `inputs`, whose sizes and times of change are still the same. Like
  // WasDone() it knows the records of earlier runs, not those of this one.
  bool IsDone(absl::Span<const std::string> inputs, const std::string& output) const;

  // True if `output` was written like that, whether it still exists or not.
  bool WasDone(absl::Span<const std::string> inputs, const std::string& output) const;

  // Records that `output`, of `output_bytes`, was written from `inputs`. The record is in the file
  // when the function returns: a run that is killed later keeps it.
  absl::Status MarkDone(absl::Span<const std::string> inputs, const std::string& output,
                        size_t output_bytes);

  // Sorts the records of this shard: equal runs leave equal folders.
  absl::Status Close();

 private:
  ResumeLog() = default;

  std::string folder_;
  std::string path_;
  std::string fingerprint_;
  std::map<std::string, std::string> known_;  // NameOnOneLine(output) -> record of any shard
  absl::Mutex mutex_;
  std::map<std::string, std::string> own_ ABSL_GUARDED_BY(mutex_);  // records of this shard
  int fd_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_RESUME_LOG_H_
