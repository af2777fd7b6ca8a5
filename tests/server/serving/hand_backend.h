// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A backend that computes nothing: a test sees what was submitted and answers it by hand.

#ifndef ORBSERVE_TESTS_SERVER_SERVING_HAND_BACKEND_H_
#define ORBSERVE_TESTS_SERVER_SERVING_HAND_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "features/backend.h"
#include "features/errors.h"

namespace orbserve {

class HandPlan final : public FeaturePlan {
 public:
  HandPlan(const PlanSpec& spec, int max_batch) : spec_(spec), max_batch_(max_batch) {}
  const PlanSpec& spec() const override { return spec_; }
  int max_batch_frames() const override { return max_batch_; }
  size_t size_bytes() const override { return bytes; }
  bool is_large() const override { return large; }
  size_t frame_bytes(bool /*has_mask*/) const override { return workspace_bytes; }

  size_t bytes = 1000;  // a test makes a plan grow
  bool large = false;
  size_t workspace_bytes = 0;  // of a frame

 private:
  const PlanSpec spec_;
  const int max_batch_;
};

// Features and states are told apart by their number of keypoints, and states by their backend.
class HandState final : public FrameState {
 public:
  explicit HandState(size_t count, std::string owner = "hand",
                     std::shared_ptr<InputSlot> input = nullptr, int levels = 0,
                     size_t copy_bytes = 0)
      : count_(count),
        owner_(std::move(owner)),
        input_(std::move(input)),
        levels_(levels),
        copy_bytes_(copy_bytes) {}
  size_t feature_count() const override { return count_; }
  int descriptor_bytes() const override { return 32; }
  Descriptor descriptor_kind() const override { return Descriptor::kRBrief256; }
  size_t size_bytes() const override { return count_; }
  size_t copy_bytes() const override { return copy_bytes_; }
  std::shared_ptr<InputSlot> input() const override { return input_; }
  int pyramid_levels() const override { return levels_; }
  const std::string& owner() const { return owner_; }

 private:
  const size_t count_;
  const std::string owner_;
  const std::shared_ptr<InputSlot> input_;
  const int levels_;
  const size_t copy_bytes_;
};

inline std::shared_ptr<Features> MakeFeatures(size_t count) {
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = 32;
  features->image_width_px = 640;
  features->image_height_px = 480;
  features->Resize(count);
  return features;
}

class HandSlot final : public InputSlot {
 public:
  HandSlot(int width_px, int height_px, bool has_mask) {
    pixels_.resize(static_cast<size_t>(width_px) * static_cast<size_t>(height_px) * 2);
    image = {pixels_.data(), width_px, height_px, width_px};
    if (has_mask) mask = {pixels_.data() + pixels_.size() / 2, width_px, height_px, width_px};
  }

 private:
  std::vector<uint8_t> pixels_;
};

// Calls come from one thread.
class HandBackend final : public FeatureBackend {
 public:
  struct Batch {
    std::shared_ptr<FeaturePlan> plan;
    std::vector<FrameJob> jobs;
    FrameBatchDone done;
  };
  struct MatchBatch {
    std::vector<MatchJob> jobs;
    MatchBatchDone done;
  };
  struct TrackBatch {
    std::vector<TrackJob> jobs;
    TrackBatchDone done;
  };

  // Its only device is "<name>:0"; it knows its own states only.
  explicit HandBackend(std::string name = "hand") : name_(std::move(name)) {}
  ~HandBackend() override {
    if (destroyed != nullptr) *destroyed = true;
  }

  absl::string_view name() const override { return name_; }
  std::vector<DeviceDescription> devices() const override { return {{device_}}; }
  BackendState state() const override { return BackendState::kOk; }
  uint64_t progress() const override { return progress_made; }
  std::vector<MemoryUse> memory() const override {
    ++memory_calls;
    return memory_held;
  }

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    ++plans_made;
    if (on_make_plan) on_make_plan();
    if (!plan_status.ok()) return plan_status;
    return std::make_shared<HandPlan>(spec, max_batch_frames);
  }
  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool has_mask) override {
    ++leases;
    if (!lease_status.ok()) return lease_status;
    return std::make_shared<HandSlot>(width_px, height_px, has_mask);
  }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    if (on_submit) on_submit();
    if (!has_memory) throw std::bad_alloc();
    batches.push_back({std::move(plan), std::move(jobs), std::move(done)});
  }
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    if (!has_memory) throw std::bad_alloc();
    matches.push_back({std::move(jobs), std::move(done)});
    if (on_matches) on_matches();
  }
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    if (!has_memory) throw std::bad_alloc();
    tracks.push_back({std::move(jobs), std::move(done)});
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    if (state.input() == nullptr) return MakeError(ErrorReason::kInternal, "no pyramid");
    ++rebuilt_pyramids;
    return std::make_shared<HandState>(state.feature_count(), name_, state.input(),
                                       state.pyramid_levels());
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    ++imports;
    return std::make_shared<HandState>(features->count(), name_, nullptr, 0, copy_bytes);
  }
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    if (!exports || dynamic_cast<const HandState&>(state).owner() != name_) {
      return MakeError(ErrorReason::kInternal, "not a state that can be exported here");
    }
    return MakeFeatures(state.feature_count());
  }

  // Answers the oldest batch with `statuses`, one per frame, OK where there are too few. A frame
  // that is OK, and was not cancelled, gets as many features as its max_features says.
  void FinishBatch(std::vector<absl::Status> statuses = {}) {
    Batch batch = std::move(batches.front());
    batches.pop_front();
    FrameBatchAnswer answer;
    answer.cost.device = device_;
    answer.cost.work_ns = work_ns;
    statuses.resize(batch.jobs.size());
    for (size_t i = 0; i < batch.jobs.size(); ++i) {
      const FrameJob& job = batch.jobs[i];
      FrameAnswer frame;
      frame.status = statuses[i];
      frame.decoded_on_host = frames_decoded_on_host.contains(job.parameters.max_features);
      if (IsCancelled(job.cancelled)) {
        frame.status = MakeError(ErrorReason::kCancelled, "cancelled");
      } else if (frame.status.ok()) {
        const auto count = static_cast<size_t>(job.parameters.max_features);
        frame.features = MakeFeatures(count);
        if (job.keep_state == KeepState::kPyramid) {
          frame.state =
              std::make_shared<HandState>(count, name_, job.input, batch.plan->spec().track_levels);
        } else if (job.keep_state == KeepState::kFeatures) {
          frame.state = std::make_shared<HandState>(count, name_);
        }
      }
      answer.frames.push_back(std::move(frame));
    }
    std::move(batch.done)(std::move(answer));
  }

  // Answers the oldest matches with `status`: where it is OK one match each, its distance
  // query * 1000 + train. `stops`: those that were cancelled are not computed any more.
  void FinishMatches(const absl::Status& status = absl::OkStatus(), bool stops = true) {
    MatchBatch batch = std::move(matches.front());
    matches.pop_front();
    MatchBatchAnswer answer;
    answer.cost.device = device_;
    for (const MatchJob& job : batch.jobs) {
      MatchAnswer pair;
      pair.status = status;
      if (stops && IsCancelled(job.cancelled)) {
        pair.status = MakeError(ErrorReason::kCancelled, "cancelled");
      }
      if (pair.status.ok()) {
        pair.matches.query_index = {0};
        pair.matches.train_index = {0};
        pair.matches.distance = {
            static_cast<uint32_t>(job.query->feature_count() * 1000 + job.train->feature_count())};
      }
      answer.pairs.push_back(std::move(pair));
    }
    std::move(batch.done)(std::move(answer));
  }
  void FinishAllMatches() {
    while (!matches.empty()) FinishMatches();
  }

  // Answers the oldest searches for tracks with `status`: where it is OK every point has moved by
  // one pixel to the right, with a residual of 1. `stops`: as in FinishMatches().
  void FinishTracks(const absl::Status& status = absl::OkStatus(), bool stops = true) {
    TrackBatch batch = std::move(tracks.front());
    tracks.pop_front();
    TrackBatchAnswer answer;
    answer.cost.device = device_;
    for (const TrackJob& job : batch.jobs) {
      TrackAnswer found;
      found.status = status;
      if (stops && IsCancelled(job.cancelled)) {
        found.status = MakeError(ErrorReason::kCancelled, "cancelled");
      }
      if (found.status.ok()) {
        const size_t count = job.points->count();
        found.tracked.status.assign(count, TrackStatus::kOk);
        found.tracked.x = job.points->x;
        for (int32_t& x : found.tracked.x) x += 1 << kTrackFractionBits;
        found.tracked.y = job.points->y;
        found.tracked.gain = job.points->gain;
        found.tracked.offset = job.points->offset;
        found.tracked.residual.assign(count, 1.0f);
      }
      answer.jobs.push_back(std::move(found));
    }
    std::move(batch.done)(std::move(answer));
  }

  // Returns max_features of the frames of batch `i`: tests number their frames by it.
  std::vector<int> Numbers(size_t i) const {
    std::vector<int> numbers;
    for (const FrameJob& job : batches.at(i).jobs) numbers.push_back(job.parameters.max_features);
    return numbers;
  }

  std::deque<Batch> batches;
  std::deque<MatchBatch> matches;
  std::deque<TrackBatch> tracks;
  bool has_memory = true;  // else no batch is taken
  int plans_made = 0;
  uint64_t progress_made = 0;
  std::vector<MemoryUse> memory_held;
  mutable int memory_calls = 0;
  std::set<int> frames_decoded_on_host;  // of frames by their max_features
  int64_t work_ns = 0;  // of each batch of frames that is answered; 0 = the backend does not say
  int leases = 0;
  int imports = 0;
  size_t copy_bytes = 0;  // of states that are imported
  int rebuilt_pyramids = 0;
  absl::Status plan_status;
  absl::Status lease_status;
  bool exports = true;        // its own states
  int max_batch_frames = 64;  // of the plans that it makes
  std::function<void()> on_make_plan;
  std::function<void()> on_submit;  // of frames
  std::function<void()> on_matches;
  bool* destroyed = nullptr;  // becomes true

 private:
  static bool IsCancelled(const std::shared_ptr<const std::atomic<bool>>& flag) {
    return flag != nullptr && flag->load();
  }

  const std::string name_;
  const std::string device_ = name_ + ":0";
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_HAND_BACKEND_H_
