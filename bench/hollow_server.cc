// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// hollow_server: orbserve-server, put together the same way, with a backend that computes nothing
// and answers every frame with the same features. What is left is what serving itself costs, for
// stream_bench to compare with echo_server on a machine of any kind.
//
//   hollow_server [--features N] [--match-us N] ARGUMENT...
//
// N features of each answer (default 1000), and N microseconds that the one device takes for each
// call of SubmitMatches() whatever the number of pairs (default 0). The other arguments are the
// server's.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "features/backend.h"
#include "server/program.h"

namespace orbserve::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Threads that answer, as a device has them.
class Lanes {
 public:
  explicit Lanes(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  // Runs what is left.
  ~Lanes() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Post(std::function<void()> task) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;                    // guarded by mutex_
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

std::shared_ptr<const Features> MakeFeatures(int count) {
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = 32;
  features->Resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    features->x[at] = features->y[at] = 100.5f + static_cast<float>(i % 300);
    features->size[at] = 31.0f;
    features->angle_deg[at] = static_cast<float>(i % 360);
    features->response[at] = 1.0f / static_cast<float>(i + 1);
    features->octave[at] = i % 8;
  }
  return features;
}

// Slots, plans and states are those of the backend inside.
class HollowBackend final : public FeatureBackend {
 public:
  HollowBackend(std::unique_ptr<FeatureBackend> backend, int features,
                std::chrono::microseconds match_time)
      : backend_(std::move(backend)), features_(MakeFeatures(features)), match_time_(match_time) {
    if (auto state = backend_->ImportState(features_); state.ok()) state_ = *std::move(state);
    for (int i = 0; i < features; ++i) {
      matches_.query_index.push_back(static_cast<uint32_t>(i));
      matches_.train_index.push_back(static_cast<uint32_t>(i));
      matches_.distance.push_back(0);
    }
  }

  absl::string_view name() const override { return backend_->name(); }
  std::vector<DeviceDescription> devices() const override { return backend_->devices(); }
  BackendState state() const override { return backend_->state(); }
  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    return backend_->MakePlan(spec);
  }
  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    return backend_->LeaseInput(width_px, height_px, with_mask);
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    return backend_->ImportState(std::move(features));
  }
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    return backend_->ExportState(state);
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    return backend_->RebuildPyramid(state);
  }

  void Submit(std::shared_ptr<FeaturePlan>, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    auto batch = std::make_shared<std::pair<std::vector<FrameJob>, FrameBatchDone>>(
        std::move(jobs), std::move(done));
    frame_lanes_.Post([this, batch] {
      FrameBatchAnswer answer;
      answer.cost = Cost();
      for (const FrameJob& job : batch->first) {
        answer.frames.push_back(
            {absl::OkStatus(), features_, job.keep_state != KeepState::kNone ? state_ : nullptr});
      }
      batch->first.clear();
      std::move(batch->second)(std::move(answer));
    });
  }

  // Every point stays where it was.
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    auto batch = std::make_shared<std::pair<std::vector<TrackJob>, TrackBatchDone>>(
        std::move(jobs), std::move(done));
    track_lane_.Post([this, batch] {
      TrackBatchAnswer answer;
      answer.cost = Cost();
      for (const TrackJob& job : batch->first) {
        const size_t count = job.points->count();
        TrackedPoints& tracked = answer.jobs.emplace_back().tracked;
        tracked.status.assign(count, TrackStatus::kOk);
        tracked.x = job.points->x;
        tracked.y = job.points->y;
        tracked.gain = job.points->gain;
        tracked.offset = job.points->offset;
        tracked.residual.assign(count, 0.0f);
      }
      batch->first.clear();
      std::move(batch->second)(std::move(answer));
    });
  }

  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    auto batch = std::make_shared<std::pair<std::vector<MatchJob>, MatchBatchDone>>(
        std::move(jobs), std::move(done));
    match_lane_.Post([this, batch] {
      MatchBatchAnswer answer;
      answer.cost = Cost();
      std::this_thread::sleep_until(answer.cost.busy_begin + match_time_);
      answer.pairs.assign(batch->first.size(), {absl::OkStatus(), matches_});
      batch->first.clear();
      std::move(batch->second)(std::move(answer));
    });
  }

 private:
  BatchCost Cost() const {
    BatchCost cost;
    cost.backend = backend_->name();
    cost.device = "cpu";
    cost.busy_begin = cost.busy_end = SteadyClock::now();
    return cost;
  }

  const std::unique_ptr<FeatureBackend> backend_;
  const std::shared_ptr<const Features> features_;
  const std::chrono::microseconds match_time_;
  std::shared_ptr<const FrameState> state_;
  Matches matches_;
  Lanes frame_lanes_{2};  // last: their threads use everything above
  Lanes match_lane_{1};
  Lanes track_lane_{1};
};

int Usage() {
  std::fputs(
      "usage: hollow_server [--features N] [--match-us N] [argument of orbserve-server]...\n",
      stderr);
  return 2;
}

int Run(int argc, char** argv) {
  int features = 1000;
  int match_us = 0;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--features" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &features) || features < 1) return Usage();
    } else if (word == "--match-us" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &match_us) || match_us < 0) return Usage();
    } else {
      rest.push_back(argv[i]);
    }
  }
  return RunServerProgram(static_cast<int>(rest.size()), rest.data(),
                          [&](std::unique_ptr<FeatureBackend> backend)
                              -> absl::StatusOr<std::unique_ptr<FeatureBackend>> {
                            return std::make_unique<HollowBackend>(
                                std::move(backend), features, std::chrono::microseconds(match_us));
                          });
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
