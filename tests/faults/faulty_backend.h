// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A backend that is as good as another one until it is told to fail.

#ifndef ORBSERVE_TESTS_FAULTS_FAULTY_BACKEND_H_
#define ORBSERVE_TESTS_FAULTS_FAULTY_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "tests/support/forwarding_backend.h"

namespace orbserve::faults {

enum class Fault {
  // A real CUDA device breaks; the backend must be the CUDA one.
  kTrap,  // a kernel traps
  kHang,  // a kernel spins for 30 s on every multiprocessor
  // A broken device is imitated, with any backend.
  kError,    // from now on every answer is DEVICE_LOST
  kSilence,  // from now on nothing is answered
};

// INVALID_ARGUMENT unless `name` is trap, hang, error or silence.
absl::StatusOr<Fault> FaultByName(absl::string_view name);

// Thread-safe. A line on standard error, `event=fault_injected fault=NAME monotonic_ns=N`, says
// when the fault came.
class FaultyBackend final : public testing::ForwardingBackend {
 public:
  // Fails with the first batch after `requested` is true or `after_frames` frames were submitted; a
  // negative number of frames never comes. `requested` must outlive the backend.
  FaultyBackend(std::unique_ptr<FeatureBackend> backend, Fault fault, int64_t after_frames,
                const std::atomic<bool>* requested);
  ~FaultyBackend() override { DestroyInner(); }

  absl::string_view name() const override { return name_; }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override;
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override;
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override;

 private:
  void Inject();
  bool Simulates() const { return fault_ == Fault::kError || fault_ == Fault::kSilence; }
  // Returns `done`, or for the faults that are simulated a function that puts them into the answer
  // before it calls `done`, or keeps `done` in `unanswered`.
  template <typename Answer, typename Item>
  absl::AnyInvocable<void(Answer) &&> WithFault(
      absl::AnyInvocable<void(Answer) &&> done, std::vector<Item> Answer::*items,
      std::vector<absl::AnyInvocable<void(Answer) &&>>* unanswered);

  const Fault fault_;
  const int64_t after_frames_;
  const std::atomic<bool>& requested_;
  const std::string name_;
  std::atomic<int64_t> frames_{0};
  std::atomic<bool> failed_{false};
  absl::Mutex mutex_;
  std::vector<FrameBatchDone> unanswered_frames_ ABSL_GUARDED_BY(mutex_);
  std::vector<MatchBatchDone> unanswered_matches_ ABSL_GUARDED_BY(mutex_);
  std::vector<TrackBatchDone> unanswered_tracks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::faults

#endif  // ORBSERVE_TESTS_FAULTS_FAULTY_BACKEND_H_
