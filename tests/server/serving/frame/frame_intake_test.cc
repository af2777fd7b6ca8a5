// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/frame/frame_intake.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "features/errors.h"
#include "gtest/gtest.h"
#include "server/clients/ledger.h"
#include "server/serving/observer.h"
#include "tests/decode/jpeg_oracle.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

constexpr int kWidthPx = 640;
constexpr int kHeightPx = 480;

class JpegInput final : public FrameInput {
 public:
  absl::Status Read(const ImageLimits& limits) override {
    image = {.width_px = kWidthPx, .height_px = kHeightPx, .bytes = bytes_};
    ORBSERVE_ASSIGN_OR_RETURN(header, ReadImageHeader(image, limits));
    return absl::OkStatus();
  }

 private:
  const std::vector<uint8_t> bytes_ = WriteJpeg({.width_px = kWidthPx, .height_px = kHeightPx});
};

// Tasks run one after another, by hand. Three threads are idle.
class IdleExecutor final : public Executor {
 public:
  void Run(const ClientId& /*client*/, const TaskNeeds& /*needs*/, Task task) override {
    tasks.push_back(std::move(task));
  }
  int IdleThreads() const override { return 3; }
  void RunNext() {
    Task task = std::move(tasks.front());
    tasks.pop_front();
    std::move(task)();
  }

  std::deque<Task> tasks;
};

class FrameIntakeTest : public ::testing::Test {
 protected:
  std::shared_ptr<FrameRecord> Submit() {
    auto frame = std::make_shared<FrameRecord>();
    auto input = std::make_shared<JpegInput>();
    input->client = Named("robot");
    input->pipeline = std::make_shared<const PipelineOptions>();
    frame->client = input->client;
    frame->input = std::move(input);
    frame->message_bytes = 1000;
    frame->done = [](FrameRecord&) {};
    intake_.Submit(frame, absl::OkStatus());
    return frame;
  }

  FakeClock clock_;
  HandBackend backend_;
  ServingObserver observer_;
  Ledger ledger_;
  IdleExecutor executor_;
  PlanCache plans_{&backend_, &executor_, {}};
  Batcher batcher_{&backend_, &clock_, &observer_, {.queue = {.ledger = &ledger_}}};
  absl::Status room_;
  int64_t asked_bytes_ = 0;
  FrameIntake intake_{&backend_, &batcher_, &plans_, &executor_, {}, [this](int64_t bytes) {
                        asked_bytes_ = bytes;
                        return room_;
                      }};
};

TEST_F(FrameIntakeTest, IdleThreadsHelpToDecodeAFrameThatIsAlone) {
  Submit();
  executor_.RunNext();  // makes the plan
  ASSERT_EQ(executor_.tasks.size(), 1u);
  executor_.RunNext();  // decodes
  EXPECT_EQ(executor_.tasks.size(), 3u);
  ASSERT_EQ(backend_.batches.size(), 1u);

  // The first one is still being computed.
  Submit();
  ASSERT_EQ(executor_.tasks.size(), 4u);
  for (int i = 0; i < 4; ++i) executor_.RunNext();
  EXPECT_TRUE(executor_.tasks.empty());
  EXPECT_EQ(batcher_.open_items(), 2);
  while (!backend_.batches.empty()) backend_.FinishBatch();
}

TEST_F(FrameIntakeTest, AFrameWithoutRoomFailsAndLeavesTheQueue) {
  room_ = MakeError(ErrorReason::kQueueFull, "no room");
  const std::shared_ptr<FrameRecord> frame = Submit();
  EXPECT_EQ(asked_bytes_, 1000);
  EXPECT_EQ(frame->outcome.status, room_);
  EXPECT_EQ(ledger_.held(Resource::kFrameBytes), 0);
  EXPECT_EQ(batcher_.open_items(), 0);
  EXPECT_TRUE(executor_.tasks.empty());
}

}  // namespace
}  // namespace orbserve
