// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Watches the files of certificates and tokens, and reads them again when they change.

#ifndef ORBSERVE_SERVER_RELOADER_H_
#define ORBSERVE_SERVER_RELOADER_H_

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/files/file_stamp.h"

namespace orbserve {

// Files that belong together, such as a certificate and its key.
struct WatchedFiles {
  std::string name;  // for the log
  std::vector<std::string> paths;
  // Reads the files and takes what they hold into use, or says why not and changes nothing.
  std::function<absl::Status()> load;
};

struct ReloaderOptions {
  std::vector<WatchedFiles> files;
  // Time between two looks at the files. Files are read when they have changed and two looks found
  // them alike: several files are not replaced in the same moment.
  std::chrono::milliseconds period{1000};
  std::function<void()> on_look;  // called at each look; may be empty
};

// Has a thread of its own, which calls all functions. Thread-safe.
class Reloader {
 public:
  explicit Reloader(ReloaderOptions options);
  // Waits for a function that runs.
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Reads all files soon, whether they have changed or not.
  void Reload() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Group {
    WatchedFiles files;
    std::vector<FileStamp> loaded;  // when they were read last, with success or without
    std::vector<FileStamp> seen;    // at the last look
  };

  void Run();
  void Look(Group& group, bool anyway);

  const std::chrono::milliseconds period_;
  const std::function<void()> on_look_;
  std::vector<Group> groups_;  // used by the thread
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;  // by Reload()
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RELOADER_H_
