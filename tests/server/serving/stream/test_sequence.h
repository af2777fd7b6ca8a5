// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames of a stream without a call: tests add, extract and hand over its frames.

#ifndef ORBSERVE_TESTS_SERVER_SERVING_STREAM_TEST_SEQUENCE_H_
#define ORBSERVE_TESTS_SERVER_SERVING_STREAM_TEST_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "server/serving/stream/frame_sequence.h"

namespace orbserve {

// What a frame is added with. The others are those of the stream.
struct TestFrame {
  uint64_t sequence = 0;
  MatchOptions match;
  int max_features = 0;
  bool keyframe = false;
  SteadyTime deadline = kNever;
};

// Result of a frame as it was given out.
struct TestResult : StreamResult {
  uint64_t index = 0;
};

// Frames of a stream that tests extract and hand over.
class TestSequence final : public FrameSequence {
 public:
  using Emit = absl::AnyInvocable<void(TestResult)>;

  TestSequence(const StreamParts& parts, StreamOptions options, Emit emit)
      : FrameSequence(parts), emit_(std::move(emit)) {
    SetOptions(std::move(options));
  }

  void SetOptions(StreamOptions options) {
    options_ = std::make_shared<const StreamOptions>(std::move(options));
  }
  // The record of the next frame, which AddFrame() puts into the stream.
  StreamFramePtr NewFrame(const TestFrame& asked) const {
    auto frame = std::make_shared<StreamFrame>();
    frame->sequence = asked.sequence;
    frame->match = asked.match;
    frame->max_features = asked.max_features;
    frame->keyframe = asked.keyframe;
    frame->deadline = asked.deadline;
    frame->options = options_;
    return frame;
  }
  uint64_t AddFrame(const TestFrame& asked) { return AddFrame(NewFrame(asked)); }
  uint64_t AddFrame(const StreamFramePtr& frame) {
    absl::MutexLock lock(&mutex_);
    Append(frame);
    added_.push_back(frame);
    return frame->index;
  }
  void FrameDone(uint64_t index, FrameOutcome outcome) {
    const StreamFramePtr frame = Added(index);
    if (frame == nullptr) return;
    frame->outcome = std::move(outcome);
    FrameDone(*frame);
  }
  void FrameDone(StreamFrame& frame) {
    {
      absl::MutexLock lock(&mutex_);
      Extracted(frame);
    }
    frame.outcome = {};
    Advance();
  }
  void Fail(uint64_t index, const absl::Status& status) {
    const StreamFramePtr frame = Added(index);
    if (frame == nullptr) return;
    Released released;
    {
      absl::MutexLock lock(&mutex_);
      FrameSequence::Fail(*frame, status, released);
    }
    Release(std::move(released));
    Advance();
  }
  absl::Status HandOver(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    return closed_ ? status : FrameSequence::HandOver(status);
  }
  void Resume() { Advance(); }
  void Close() {
    Released released;
    {
      absl::MutexLock lock(&mutex_);
      released = FrameSequence::Close();
    }
    Release(std::move(released));
  }

 private:
  // Null once the frame was handed over or the sequence is closed.
  StreamFramePtr Added(uint64_t index) {
    absl::MutexLock lock(&mutex_);
    return added_.at(index).lock();
  }
  void Encode(StreamFrame& frame) override {
    TestResult result;
    static_cast<StreamResult&>(result) = std::move(frame.result);
    frame.result = {};
    result.index = frame.index;
    emit_(std::move(result));
  }
  void GiveOut(const StreamFramePtr&) override {}

  Emit emit_;
  std::shared_ptr<const StreamOptions> options_;
  std::vector<std::weak_ptr<StreamFrame>> added_ ABSL_GUARDED_BY(mutex_);  // by index
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_STREAM_TEST_SEQUENCE_H_
