// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A backend behind a gate: batches that are submitted while the gate is closed reach the real
// backend when it opens. A test can thus act while frames, matches or tracks are in flight.

#ifndef ORBSERVE_TESTS_INTEGRATION_GATED_BACKEND_H_
#define ORBSERVE_TESTS_INTEGRATION_GATED_BACKEND_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "tests/support/forwarding_backend.h"

namespace orbserve {

// One gate per kind of work. Thread-safe.
struct Gates {
  class Gate {
   public:
    void Close() {
      absl::MutexLock lock(&mutex_);
      is_open_ = false;
    }
    void Open() {
      std::deque<std::function<void()>> held;
      {
        absl::MutexLock lock(&mutex_);
        is_open_ = true;
        held.swap(held_);
      }
      for (auto& submit : held) submit();
    }
    void Pass(std::function<void()> submit) {
      {
        absl::MutexLock lock(&mutex_);
        if (!is_open_) {
          held_.push_back(std::move(submit));
          return;
        }
      }
      submit();
    }
    int held() {
      absl::MutexLock lock(&mutex_);
      return static_cast<int>(held_.size());
    }

   private:
    absl::Mutex mutex_;
    bool is_open_ ABSL_GUARDED_BY(mutex_) = true;
    std::deque<std::function<void()>> held_ ABSL_GUARDED_BY(mutex_);
  };

  Gate frames;
  Gate matches;
  Gate tracks;
  std::atomic<int> leases{0};  // of input slots: what decoding begins with
};

class GatedBackend final : public testing::ForwardingBackend {
 public:
  // `gates` must outlive the backend.
  GatedBackend(std::unique_ptr<FeatureBackend> inner, Gates* gates)
      : ForwardingBackend(std::move(inner)), gates_(gates) {}
  ~GatedBackend() override {
    gates_->frames.Open();
    gates_->matches.Open();
    gates_->tracks.Open();
  }

  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    ++gates_->leases;
    return ForwardingBackend::LeaseInput(width_px, height_px, with_mask);
  }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    gates_->frames.Pass(Held(
        [this, plan = std::move(plan), jobs = std::move(jobs), done = std::move(done)]() mutable {
          inner().Submit(std::move(plan), std::move(jobs), std::move(done));
        }));
  }
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    gates_->matches.Pass(Held([this, jobs = std::move(jobs), done = std::move(done)]() mutable {
      inner().SubmitMatches(std::move(jobs), std::move(done));
    }));
  }
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    gates_->tracks.Pass(Held([this, jobs = std::move(jobs), done = std::move(done)]() mutable {
      inner().SubmitTracks(std::move(jobs), std::move(done));
    }));
  }

 private:
  // A std::function wants a target that can be copied.
  template <typename Submit>
  static std::function<void()> Held(Submit submit) {
    return [shared = std::make_shared<Submit>(std::move(submit))] { (*shared)(); };
  }

  Gates* const gates_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_INTEGRATION_GATED_BACKEND_H_
