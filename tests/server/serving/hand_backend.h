// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A backend that computes nothing: a test sees what was submitted and answers it by hand.

#ifndef ORBSERVE_TESTS_SERVER_SERVING_HAND_BACKEND_H_
#define ORBSERVE_TESTS_SERVER_SERVING_HAND_BACKEND_H_

#include <deque>
#include <memory>
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
  size_t size_bytes() const override { return 1000; }

 private:
  const PlanSpec spec_;
  const int max_batch_;
};

// Features and states are told apart by their number of keypoints.
class HandState final : public FrameState {
 public:
  explicit HandState(size_t count) : count_(count) {}
  size_t feature_count() const override { return count_; }
  int descriptor_bytes() const override { return 32; }
  size_t size_bytes() const override { return count_; }

 private:
  const size_t count_;
};

inline std::shared_ptr<Features> MakeFeatures(size_t count) {
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = 32;
  features->Resize(count);
  return features;
}

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

  absl::string_view name() const override { return "hand"; }
  std::vector<DeviceDescription> devices() const override { return {}; }
  BackendState state() const override { return BackendState::kOk; }

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    ++plans_made;
    if (!plan_status.ok()) return plan_status;
    return std::make_shared<HandPlan>(spec, 64);
  }
  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int, int, bool) override {
    return std::make_shared<InputSlot>();
  }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    batches.push_back({std::move(plan), std::move(jobs), std::move(done)});
  }
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    matches.push_back({std::move(jobs), std::move(done)});
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    ++imports;
    return std::make_shared<HandState>(features->count());
  }
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    return MakeFeatures(state.feature_count());
  }

  // Answers the oldest batch: each frame gets as many features as its max_features says.
  void FinishBatch() {
    Batch batch = std::move(batches.front());
    batches.pop_front();
    FrameBatchAnswer answer;
    answer.cost.device = "hand";
    for (const FrameJob& job : batch.jobs) {
      FrameAnswer frame;
      if (job.cancelled->load()) {
        frame.status = MakeError(ErrorReason::kCancelled, "cancelled");
      } else {
        const auto count = static_cast<size_t>(job.parameters.max_features);
        frame.features = MakeFeatures(count);
        if (job.keep_state) frame.state = std::make_shared<HandState>(count);
      }
      answer.frames.push_back(std::move(frame));
    }
    std::move(batch.done)(std::move(answer));
  }

  // Answers the oldest matches: one match each, its distance query * 1000 + train. `stops`: those
  // that were cancelled are not computed any more.
  void FinishMatches(bool stops = true) {
    MatchBatch batch = std::move(matches.front());
    matches.pop_front();
    MatchBatchAnswer answer;
    answer.cost.device = "hand";
    for (const MatchJob& job : batch.jobs) {
      MatchAnswer pair;
      if (stops && job.cancelled->load()) {
        answer.pairs.push_back({.status = MakeError(ErrorReason::kCancelled, "cancelled")});
        continue;
      }
      pair.matches.query_index = {0};
      pair.matches.train_index = {0};
      pair.matches.distance = {
          static_cast<uint32_t>(job.query->feature_count() * 1000 + job.train->feature_count())};
      answer.pairs.push_back(std::move(pair));
    }
    std::move(batch.done)(std::move(answer));
  }

  // What the frames of batch `i` asked for as max_features: tests number their frames by it.
  std::vector<int> Numbers(size_t i) const {
    std::vector<int> numbers;
    for (const FrameJob& job : batches.at(i).jobs) numbers.push_back(job.parameters.max_features);
    return numbers;
  }

  std::deque<Batch> batches;
  std::deque<MatchBatch> matches;
  int plans_made = 0;
  int imports = 0;
  absl::Status plan_status;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_HAND_BACKEND_H_
