// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Clients that keep a server busy until it stops serving, and look at every answer.

#ifndef ORBSERVE_TESTS_INTEGRATION_CHECKED_LOAD_H_
#define ORBSERVE_TESTS_INTEGRATION_CHECKED_LOAD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "orbserve/client.h"

namespace orbserve {

// A few frames and what the CPU backend says of them.
class ExpectedAnswers {
 public:
  static constexpr uint64_t kFrames = 4;

  static absl::StatusOr<std::unique_ptr<ExpectedAnswers>> Compute(int width_px, int height_px);

  // Frame number `sequence` of an endless sequence that repeats the few.
  v1::Frame FrameOf(uint64_t sequence) const;
  // Returns true if these are the features of that frame, bit for bit.
  bool IsRight(uint64_t sequence, const v1::FeatureSet& features) const;
  // Returns true if these are its matches against the features of frame `target`.
  bool IsRight(uint64_t sequence, uint64_t target, const v1::MatchSet& matches) const;

 private:
  ExpectedAnswers() = default;

  std::vector<v1::Frame> frames_;
  std::vector<std::string> features_;              // serialised
  std::vector<std::vector<std::string>> matches_;  // [query][train], serialised
};

// Half of the clients call Extract one frame at a time, half have a stream that matches each frame
// against the one before; each ends when it is told that the server stops or cannot reach it, or
// when the load is destroyed.
class CheckedLoad {
 public:
  struct Counts {
    int64_t ok = 0;         // frames answered as expected
    int64_t refused = 0;    // frames answered with the expected reason
    int64_t unreached = 0;  // calls that ended on the way, without an answer of the server
    int64_t wrong = 0;      // anything else
  };

  // `refusal`: the reason that a stopping server gives. `expected` must outlive the load.
  CheckedLoad(const ExpectedAnswers* expected, std::string address, int clients,
              std::string refusal);
  ~CheckedLoad();
  CheckedLoad(const CheckedLoad&) = delete;
  CheckedLoad& operator=(const CheckedLoad&) = delete;

  // Waits until every client has ended.
  void Join();
  int64_t answered() const { return ok_; }
  Counts counts() const { return {ok_, refused_, unreached_, wrong_}; }
  // Names the first few answers that were wrong, a line each.
  std::string Complaints() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void CallUntilRefused(int number);
  void StreamUntilRefused(int number);
  void CheckResult(const v1::FrameResult& result);
  void Complain(const std::string& what) ABSL_LOCKS_EXCLUDED(mutex_);

  const ExpectedAnswers& expected_;
  const std::string address_;
  const std::string refusal_;
  std::atomic<bool> abandoned_{false};
  std::atomic<int64_t> ok_{0};
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> unreached_{0};
  std::atomic<int64_t> wrong_{0};
  mutable absl::Mutex mutex_;
  std::vector<std::string> complaints_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_INTEGRATION_CHECKED_LOAD_H_
