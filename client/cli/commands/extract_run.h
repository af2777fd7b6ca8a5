// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The work of `orbserve extract`. Reading, extraction and writing of different files overlap.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_RUN_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_RUN_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/engine.h"
#include "client/cli/images/inputs.h"
#include "client/cli/output/console.h"

namespace orbserve::cli {

struct ExtractTotals {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t features = 0;
  bool interrupted = false;
  absl::Status lost;  // not OK: the run ended early, for example because the server went away
};

// Calls to have under way: two batches, one that is computed and one that fills, but never more
// than the server queues for a client, nor than keep busy the `cpu_threads` that compute on this
// machine; 0 = it computes elsewhere, or on a GPU.
int ExtractCallsInFlight(const v1::ServerLimits& limits, int cpu_threads);

// Loader threads read files and submit them, gRPC's threads receive answers, writer threads create
// the outputs; the calling thread waits. The number of calls under way is bounded, and so are the
// bytes of files between reading and answer (about 192 MiB).
class ExtractRun {
 public:
  // Says what became of an image. One whose picture has an error has a text, and counts as failed.
  struct Outcome {
    absl::StatusOr<std::string> text;  // for standard output
    absl::Status picture;
  };
  // Creates the outputs of one image, on a writer thread.
  using Write = std::function<Outcome(const InputFile& file, const v1::ExtractResponse& response)>;
  // Called once per file, in the order of the files, by one thread at a time. `outcome` is the
  // result of Write, or has an earlier error in place of the text.
  using Report = std::function<void(const InputFile& file, const Outcome& outcome)>;

  // Every pointer outlives the run.
  ExtractRun(Engine* engine, Console* console, const RequestSetup* setup, Write write,
             Report report);

  // Returns when every file is reported, or when the run was interrupted or has ended early.
  ExtractTotals Run(const std::vector<InputFile>& files);

 private:
  struct Answer {
    size_t index;
    size_t bytes;
    absl::StatusOr<v1::ExtractResponse> response;
  };

  void LoadLoop(client::ExtractPipeline* pipeline);
  void WriteLoop();
  // Waits for room and takes the next file; false if there is none or the run ends.
  bool TakeNext(size_t* index);
  void Answered(Answer answer);
  // Stores the outcome of the file `index` and reports the files that are ready, in order.
  void Deliver(size_t index, Outcome outcome, int64_t features);
  bool Stopping() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Engine* const engine_;
  Console* const console_;
  const RequestSetup* const setup_;
  const Write write_;
  const Report report_;
  const PictureLimits limits_;
  const int max_in_flight_;
  const std::vector<InputFile>* files_ = nullptr;
  std::atomic<bool> stop_loading_ = false;  // set with `stop_`; ends waits of loaders for pipes

  mutable absl::Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;      // first file that is not taken by a loader
  size_t reported_ ABSL_GUARDED_BY(mutex_) = 0;  // files before it are reported
  size_t bytes_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int loaders_ ABSL_GUARDED_BY(mutex_) = 0;
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // files taken by a loader and not reported
  bool loaders_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::map<size_t, Outcome> ready_ ABSL_GUARDED_BY(mutex_);
  bool reporting_ ABSL_GUARDED_BY(mutex_) = false;
  ExtractTotals totals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_RUN_H_
