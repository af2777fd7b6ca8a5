// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Watches the files of certificates and tokens, and reads them again when they change.

#ifndef ORBSERVE_SERVER_PROCESS_RELOADER_H_
#define ORBSERVE_SERVER_PROCESS_RELOADER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace orbserve {

// Device, inode, size and time of the last change of a file: they tell whether it was replaced or
// written to. Links are followed, so that a link that points elsewhere counts. All zero for a file
// that is not there.
using FileStamp = std::array<int64_t, 4>;

// Files that belong together, such as a certificate and its key.
struct WatchedFiles {
  std::string name;  // for the log
  std::vector<std::string> paths;
  // Reads the files and takes what they hold into use, or says why not and changes nothing.
  std::function<absl::Status()> load;
};

// Looks at files, and calls all functions, when Look() is called.
class Reloader {
 public:
  static constexpr std::chrono::milliseconds kPeriod{1000};  // of Look()

  // `on_look` is called at each look; may be null.
  explicit Reloader(std::vector<WatchedFiles> watched, std::function<void()> on_look = nullptr);

  // Reads files that have changed and that two looks found alike: several files are not replaced in
  // the same moment. After Reload() it reads all of them. To be called every kPeriod, by one
  // thread.
  void Look();
  // Returns the name of each group, and true where its files could not be used when they were read
  // last.
  // Thread-safe.
  std::vector<std::pair<std::string, bool>> failures() const;

  // The next look reads all files, whether they have changed or not. Thread-safe.
  void Reload() { is_wanted_ = true; }

 private:
  struct Group {
    WatchedFiles files;
    std::vector<FileStamp> loaded;  // when they were read last, with success or without
    std::vector<FileStamp> seen;    // at the last look
    std::atomic<bool> has_failed{false};
  };

  void Look(Group& group, bool anyway);

  const std::function<void()> on_look_;
  std::deque<Group> groups_;  // whose elements stay where they are
  std::atomic<bool> is_wanted_{false};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_RELOADER_H_
