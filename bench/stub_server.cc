// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// stub_server: orbserve-server, put together the same way, with a backend that computes nothing
// and answers every frame with the same features. What is left is what serving itself costs, for
// stream_bench to compare with echo_server on a machine of any kind.
//
//   stub_server [--features N] [--batch-us N] [--match-us N] ARGUMENT...
//
// --features: number of features of each answer (default 1000). --batch-us: microseconds that each
// of two lanes takes for a batch of frames, whatever their number (default 0). --match-us: the same
// of the one lane for calls of SubmitMatches() (default 0). The other arguments are the server's.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
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

// Features of an image of this size, spread over it.
std::shared_ptr<const Features> MakeFeatures(int count, int width_px, int height_px) {
  auto features = std::make_shared<Features>();
  features->image_width_px = width_px;
  features->image_height_px = height_px;
  features->descriptor_bytes = 32;
  features->Resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    features->x[at] = static_cast<float>(i * 37 % width_px);
    features->y[at] = static_cast<float>(i * 53 % height_px);
    features->size[at] = 31.0f;
    features->angle_deg[at] = static_cast<float>(i % 360);
    features->response[at] = 1.0f / static_cast<float>(i + 1);
    features->octave[at] = i % 8;
  }
  return features;
}

// Microseconds that the device takes for each batch.
struct DeviceTimes {
  std::chrono::microseconds frames{};
  std::chrono::microseconds matches{};
};

// Slots, plans and states are those of the backend inside.
class StubBackend final : public FeatureBackend {
 public:
  StubBackend(std::unique_ptr<FeatureBackend> backend, int features, const DeviceTimes& times)
      : backend_(std::move(backend)), feature_count_(features), times_(times) {
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

  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    auto batch = std::make_shared<std::pair<std::vector<FrameJob>, FrameBatchDone>>(
        std::move(jobs), std::move(done));
    frame_lanes_.Post([this, plan = std::move(plan), batch] {
      FrameBatchAnswer answer;
      answer.cost = Take(times_.frames);
      const Frame frame = FrameOf(plan->spec());
      for (const FrameJob& job : batch->first) {
        answer.frames.push_back({absl::OkStatus(), frame.features,
                                 job.keep_state != KeepState::kNone ? frame.state : nullptr});
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
      answer.cost = Take({});
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
      answer.cost = Take(times_.matches);
      answer.pairs.assign(batch->first.size(), {absl::OkStatus(), matches_});
      batch->first.clear();
      std::move(batch->second)(std::move(answer));
    });
  }

 private:
  // Answer to every frame of one size.
  struct Frame {
    std::shared_ptr<const Features> features;
    std::shared_ptr<const FrameState> state;
  };

  Frame FrameOf(const PlanSpec& spec) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Frame& frame = frames_[{spec.width_px, spec.height_px}];
    if (frame.features == nullptr) {
      frame.features = MakeFeatures(feature_count_, spec.width_px, spec.height_px);
      if (auto state = backend_->ImportState(frame.features); state.ok()) {
        frame.state = *std::move(state);
      }
    }
    return frame;
  }

  // Is busy for `time`.
  BatchCost Take(std::chrono::microseconds time) const {
    BatchCost cost;
    cost.backend = backend_->name();
    cost.device = "cpu";
    cost.busy_begin = SteadyClock::now();
    if (time.count() > 0) std::this_thread::sleep_until(cost.busy_begin + time);
    cost.busy_end = SteadyClock::now();
    return cost;
  }

  const std::unique_ptr<FeatureBackend> backend_;
  const int feature_count_;
  const DeviceTimes times_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, Frame> frames_;  // by width and height; guarded by mutex_
  Matches matches_;
  Lanes frame_lanes_{2};  // last: their threads use everything above
  Lanes match_lane_{1};
  Lanes track_lane_{1};
};

int Usage() {
  std::fputs(
      "usage: stub_server [--features N] [--batch-us N] [--match-us N] [argument of "
      "orbserve-server]...\n",
      stderr);
  return 2;
}

int Run(int argc, char** argv) {
  int features = 1000;
  int batch_us = 0;
  int match_us = 0;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--features" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &features) || features < 1) return Usage();
    } else if (word == "--batch-us" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &batch_us) || batch_us < 0) return Usage();
    } else if (word == "--match-us" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &match_us) || match_us < 0) return Usage();
    } else {
      rest.push_back(argv[i]);
    }
  }
  const DeviceTimes times = {std::chrono::microseconds(batch_us),
                             std::chrono::microseconds(match_us)};
  return RunServerProgram(static_cast<int>(rest.size()), rest.data(),
                          [&](std::unique_ptr<FeatureBackend> backend)
                              -> absl::StatusOr<std::unique_ptr<FeatureBackend>> {
                            return std::make_unique<StubBackend>(std::move(backend), features,
                                                                 times);
                          });
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
