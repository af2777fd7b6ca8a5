// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The frames of a stream on a fake clock, with queues and a backend that tests drive by hand.

#ifndef ORBSERVE_TESTS_SERVER_SERVING_STREAM_FRAME_SEQUENCE_FIXTURE_H_
#define ORBSERVE_TESTS_SERVER_SERVING_STREAM_FRAME_SEQUENCE_FIXTURE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/serving/stream/frame_sequence.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"
#include "tests/server/serving/stream/test_sequence.h"

namespace orbserve {

class StreamObserver final : public ServingObserver {
 public:
  std::optional<double> OnBatchFinished(WorkKind, int, const BatchCost&) override { return joules; }
  void OnTrackBytes(int64_t change) override { track_bytes += change; }

  std::optional<double> joules;
  int64_t track_bytes = 0;
};

class FrameSequenceTest : public ::testing::Test {
 protected:
  void Open(StreamOptions options) {
    options.client = Named("robot");
    sequence_ = std::make_shared<TestSequence>(
        StreamParts{&backend_, &clock_, &observer_, &matcher_, &tracker_, &references_},
        std::move(options), [this](TestResult result) {
          results_.push_back(std::move(result));
          if (!holds_results_) HandOver();
        });
  }
  // Hands the result that was given out last over to the client, who sees nothing of it but its
  // status if it fails.
  void HandOver() {
    TestResult& result = results_.back();
    const uint64_t index = result.index;
    const absl::Status told = sequence_->HandOver(result.outcome.status);
    if (told.ok()) return;
    result = {};
    result.index = index;
    result.outcome.status = told;
  }
  // Frames are numbered from 0; their sequence is 100 + number.
  void Add(int count) {
    for (int i = 0; i < count; ++i) sequence_->AddFrame({.sequence = 100 + next_++});
  }
  // Extraction of frame `index` ended with `features` features.
  void Extracted(uint64_t index, size_t features, std::optional<double> joules = {}) {
    FrameOutcome outcome;
    outcome.energy_joules = joules;
    outcome.features = MakeFeatures(features);
    outcome.state = std::make_shared<HandState>(features);
    sequence_->FrameDone(index, std::move(outcome));
  }
  void Failed(uint64_t index) {
    FrameOutcome outcome;
    outcome.status = MakeError(ErrorReason::kBadImage, "broken");
    sequence_->FrameDone(index, std::move(outcome));
  }
  void AddWithDeadline(int microseconds_from_now) {
    sequence_->AddFrame(
        {.sequence = 100 + next_++,
         .deadline = clock_.Now() + std::chrono::microseconds(microseconds_from_now)});
  }
  ErrorReason ReasonFor(size_t result) const {
    return ReasonOf(results_.at(result).outcome.status);
  }
  std::vector<uint64_t> Keyframes() const {
    std::vector<uint64_t> keyframes;
    for (const TestResult& result : results_) {
      if (result.is_keyframe) keyframes.push_back(result.index);
    }
    return keyframes;
  }
  // Kinds and sequences of a result's targets.
  static std::pair<MatchTarget, uint64_t> Target(MatchTarget target, uint64_t sequence) {
    return {target, sequence};
  }
  std::vector<std::pair<MatchTarget, uint64_t>> Targets(size_t result) const {
    std::vector<std::pair<MatchTarget, uint64_t>> targets;
    for (const TargetMatches& target : results_.at(result).matches) {
      targets.push_back(Target(target.target, target.sequence));
    }
    return targets;
  }
  std::vector<uint64_t> Order() const {
    std::vector<uint64_t> order;
    for (const TestResult& result : results_) order.push_back(result.index);
    return order;
  }

  FakeClock clock_;
  HandBackend backend_;
  StreamObserver observer_;
  ReferenceStore references_{{}};
  std::vector<TestResult> results_;  // given out
  bool holds_results_ = false;       // the test hands them over
  MatchQueue matcher_{&backend_, &clock_, &observer_, {}};
  TrackQueue tracker_{&backend_, &clock_, &observer_, {}};
  std::shared_ptr<TestSequence> sequence_;
  uint64_t next_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_STREAM_FRAME_SEQUENCE_FIXTURE_H_
