// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A stream on a fake clock, with a call that only notes what the stream starts, and a backend that
// tests drive by hand.

#include "server/serving/stream/stream.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kSidePx = 8;

// A grey image, or one that cannot be read.
class TestInput final : public FrameInput {
 public:
  explicit TestInput(bool is_broken) : is_broken_(is_broken) {}

  absl::Status Read(const ImageLimits& limits) override {
    if (is_broken_) return MakeError(ErrorReason::kBadImage, "broken");
    image = {.format = PixelFormat::kGray8,
             .width_px = kSidePx,
             .height_px = kSidePx,
             .bytes = {bytes_.data(), bytes_.size()}};
    ORBSERVE_ASSIGN_OR_RETURN(header, ReadImageHeader(image, limits));
    parameters.max_features = 3;
    return absl::OkStatus();
  }

 private:
  const bool is_broken_;
  const std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kSidePx * kSidePx);
};

// Plans are built at once.
class InlineExecutor final : public Executor {
 public:
  void Run(const ClientId&, const TaskNeeds&, Task task) override { std::move(task)(); }
};

// Results appear in `told` when they are encoded, and again with their error where that is decided
// later; `written` has the sizes of the messages.
class TestWire final : public StreamWire {
 public:
  void Read() override { ++reads; }
  void Write(MessageBytes message) override { written.push_back(message.size); }
  void End(const absl::Status& status) override { ends.push_back(status); }
  void Cancel() override { ++cancels; }
  bool IsCancelled() const override { return false; }
  MessageBytes Encode(StreamFrame& frame) override {
    const absl::Status status = frame.result.outcome.status;
    frame.result = {};
    frame.result.outcome.status = status;
    return EncodeFailure(frame, status);
  }
  MessageBytes EncodeFailure(const StreamFrame& frame, const absl::Status& status) override {
    told.emplace_back(frame.sequence, status.ok() ? "OK" : InfoOf(ReasonOf(status)).name);
    return Bytes(10);
  }
  MessageBytes EncodeGoingAway(const absl::Status&) override { return Bytes(1); }
  static MessageBytes Bytes(size_t size) {
    MessageBytes bytes;
    bytes.data.reset(static_cast<uint8_t*>(::operator new(size)));
    bytes.size = size;
    return bytes;
  }

  using Told = std::pair<uint64_t, std::string>;

  int reads = 0;
  int cancels = 0;
  std::vector<size_t> written;
  std::vector<Told> told;
  std::vector<absl::Status> ends;
};

class StreamTest : public ::testing::Test {
 protected:
  using Told = TestWire::Told;

  void Open(StreamOptions options) {
    parts_.backend = &backend_;
    parts_.clock = &clock_;
    parts_.observer = &observer_;
    parts_.matcher = &matcher_;
    parts_.tracker = &tracker_;
    parts_.references = &references_;
    parts_.batcher = &batcher_;
    parts_.intake = &intake_;
    parts_.ledger = &ledger_;
    parts_.frames = &frames_;
    parts_.metrics = &metrics_;
    parts_.clients = &clients_;
    parts_.send_timeout = [] { return milliseconds(2000); };
    options.client = Named("robot");
    options_ = std::make_shared<const StreamOptions>(std::move(options));
    stream_ = std::make_shared<Stream>(parts_, &registry_, wire_);
    stream_->Start(absl::OkStatus(), Named("robot"), "peer", kNever);
    EXPECT_TRUE(stream_->Received());
    stream_->Open(options_, 100, TestWire::Bytes(2));
    stream_->ReadOn(absl::OkStatus());
    stream_->Written(true);
    wire_->written.clear();
  }
  void TearDown() override {
    if (wire_->ends.empty()) stream_->Cancelled();
    stream_->Done();
    while (!backend_.batches.empty()) backend_.FinishBatch();
    const FrameCounts counts = metrics_.frame_counts();
    EXPECT_EQ(counts.received, received_);
    EXPECT_EQ(counts.ok + counts.failed, received_) << "each frame is counted once";
    EXPECT_EQ(ledger_.held(Resource::kStreamResponseBytes), 0);
    EXPECT_EQ(ledger_.held(Resource::kFrames), 0);
    EXPECT_EQ(ledger_.held(Resource::kStreams), 0);
    std::weak_ptr<Stream> weak = stream_;
    stream_.reset();
    EXPECT_TRUE(weak.expired());
  }

  // The client sends a frame.
  void Send(uint64_t sequence, milliseconds time_limit = {}, bool is_broken = false) {
    ++received_;
    auto frame = std::make_shared<StreamFrame>();
    frame->sequence = sequence;
    frame->time_limit = time_limit;
    frame->response_bound = {.fixed = 100};
    frame->message_bytes = 10;
    frame->options = options_;
    auto input = std::make_shared<TestInput>(is_broken);
    input->client = Named("robot");
    input->pipeline = std::make_shared<const PipelineOptions>();
    input_ = input;
    frame->input = std::move(input);
    EXPECT_TRUE(stream_->Received());
    stream_->Take(frame, kSidePx * kSidePx, absl::OkStatus());
    stream_->ReadOn(absl::OkStatus());
  }
  int64_t held_answers() { return ledger_.held(Resource::kStreamResponseBytes); }

  FakeClock clock_;
  HandBackend backend_;
  ServingObserver observer_;
  Ledger ledger_;
  Metrics metrics_{{.version = "1", .devices = {{"hand", "hand:0"}}}};
  ClientActivity clients_{&clock_, &ledger_};
  FrameAccount frames_{&clock_, &metrics_, &clients_};
  ReferenceStore references_{{}};
  InlineExecutor executor_;
  PlanCache plans_{&backend_, &executor_, {}};
  Batcher batcher_{&backend_, &clock_, &observer_, {.queue = {.ledger = &ledger_}}};
  MatchQueue matcher_{&backend_, &clock_, &observer_, {}};
  TrackQueue tracker_{&backend_, &clock_, &observer_, {}};
  FrameIntake intake_{&backend_, &batcher_, &plans_, &executor_, {}};
  StreamRegistry registry_{&ledger_, {}};
  StreamParts parts_;
  std::shared_ptr<const StreamOptions> options_;
  std::shared_ptr<TestWire> wire_ = std::make_shared<TestWire>();
  std::shared_ptr<Stream> stream_;
  std::weak_ptr<FrameInput> input_;  // of the last frame
  int64_t received_ = 0;
};

TEST_F(StreamTest, AFrameIsComputedToldAndCountedAndItsInputIsFreedAtOnce) {
  Open({.max_in_flight = 2});
  Send(7);
  EXPECT_TRUE(input_.expired()) << "its pixels are in their slot";
  EXPECT_EQ(held_answers(), 100) << "reserved";
  ASSERT_EQ(backend_.batches.size(), 1u);
  backend_.FinishBatch();
  EXPECT_THAT(wire_->told, ElementsAre(Told(7, "OK")));
  EXPECT_THAT(wire_->written, ElementsAre(10));
  EXPECT_EQ(held_answers(), 10) << "the size of the answer";
  stream_->Written(true);
  EXPECT_EQ(held_answers(), 0);
  EXPECT_EQ(stream_->use().ok(), 1);
}

TEST_F(StreamTest, UnderBlockNothingIsReadWithoutAPlaceInFlight) {
  Open({.max_in_flight = 2});
  const int reads = wire_->reads;
  Send(1);
  EXPECT_EQ(wire_->reads, reads + 1);
  Send(2);
  EXPECT_EQ(wire_->reads, reads + 1) << "both places are taken";
  backend_.FinishBatch();
  EXPECT_EQ(wire_->reads, reads + 1) << "the result is not written yet";
  stream_->Written(true);
  EXPECT_EQ(wire_->reads, reads + 2);
}

TEST_F(StreamTest, NewestDropsTheFrameThatHasWaitedLongestAndTellsItInOrder) {
  parts_.streams.max_frames_waiting = 1;
  Open({.drop_policy = DropPolicy::kNewest, .max_in_flight = 1, .max_waiting = 1});
  Send(1);
  Send(2);
  const std::weak_ptr<FrameInput> waiting = input_;
  EXPECT_EQ(stream_->use().waiting(), 1u);
  EXPECT_FALSE(waiting.expired());
  Send(3);
  EXPECT_TRUE(waiting.expired()) << "its message is freed, though its answer waits";
  EXPECT_THAT(wire_->told, IsEmpty());
  backend_.FinishBatch();
  stream_->Written(true);
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "OK"), Told(2, "DROPPED")));
  backend_.FinishBatch();
  stream_->Written(true);
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "OK"), Told(2, "DROPPED"), Told(3, "OK")));
  EXPECT_EQ(stream_->use().dropped(), 1);
}

TEST_F(StreamTest, AFrameThatIsBeingComputedIsToldAtItsDeadline) {
  Open({.max_in_flight = 2});
  Send(1, milliseconds(5));
  clock_.Advance(milliseconds(5));
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "DEADLINE_EXCEEDED")));
  EXPECT_THAT(wire_->written, ElementsAre(10));
  stream_->Written(true);
  backend_.FinishBatch();
  EXPECT_EQ(wire_->told.size(), 1u);
}

TEST_F(StreamTest, AResultThatWaitedBeyondItsDeadlineIsToldToBeLate) {
  Open({.max_in_flight = 3});
  Send(1);
  Send(2, milliseconds(5));
  backend_.FinishBatch();
  backend_.FinishBatch();
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "OK"), Told(2, "OK")));
  clock_.StandStill(milliseconds(6));
  stream_->Written(true);  // only now the second one can be handed over
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "OK"), Told(2, "OK"), Told(2, "DEADLINE_EXCEEDED")));
  stream_->Written(true);
  EXPECT_EQ(stream_->use().failed(), 1);
}

TEST_F(StreamTest, ABrokenFrameFailsAloneAndLeavesItsPlace) {
  Open({.max_in_flight = 1});
  Send(1, {}, /*is_broken=*/true);
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "BAD_IMAGE")));
  stream_->Written(true);
  Send(2);
  backend_.FinishBatch();
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "BAD_IMAGE"), Told(2, "OK")));
}

TEST_F(StreamTest, AFrameThatTheQueueRefusesIsToldSo) {
  Open({.max_in_flight = 4});
  batcher_.BeginDrain();
  Send(1);
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "DRAINING")));
}

TEST_F(StreamTest, ACancelledCallEndsAndItsFramesAreCountedOnce) {
  Open({.max_in_flight = 2});
  Send(1);
  Send(2);
  stream_->Cancelled();
  ASSERT_EQ(wire_->ends.size(), 1u);
  EXPECT_EQ(ReasonOf(wire_->ends[0]), ErrorReason::kCancelled);
  EXPECT_EQ(metrics_.frame_counts().failed, 2);
  while (!backend_.batches.empty()) backend_.FinishBatch();
  EXPECT_THAT(wire_->told, IsEmpty());
}

TEST_F(StreamTest, AStreamThatOwesAResultIsNotIdleAndIsCancelledWhereNobodyReads) {
  parts_.streams.idle_timeout = milliseconds(500);
  Open({.max_in_flight = 2});
  Send(1);
  clock_.Advance(milliseconds(1500));
  EXPECT_THAT(wire_->ends, IsEmpty()) << "it owes a result";
  backend_.FinishBatch();
  clock_.Advance(milliseconds(2000));  // the result is not read
  EXPECT_THAT(wire_->ends, IsEmpty()) << "its status would wait behind the result";
  EXPECT_EQ(wire_->cancels, 0);
  clock_.Advance(milliseconds(1000));
  EXPECT_EQ(wire_->cancels, 1);
}

TEST_F(StreamTest, AStreamThatStopsAnswersWhatItHasRead) {
  Open({.max_in_flight = 2});
  Send(1);
  stream_->Stop(MakeError(ErrorReason::kDraining, "stop"));
  EXPECT_THAT(wire_->ends, IsEmpty());
  backend_.FinishBatch();
  stream_->Written(true);
  ASSERT_EQ(wire_->ends.size(), 1u);
  EXPECT_EQ(ReasonOf(wire_->ends[0]), ErrorReason::kDraining);
  EXPECT_THAT(wire_->told, ElementsAre(Told(1, "OK")));
}

}  // namespace
}  // namespace orbserve
