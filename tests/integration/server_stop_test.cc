// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIGTERM to the real program under load: nothing that it accepted is lost, and it ends in time.

#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/integration/checked_load.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using Clock = std::chrono::steady_clock;

TEST(ServerStopTest, EveryFrameThatWasAcceptedIsAnsweredBeforeTheProcessEnds) {
  const auto expected = ExpectedAnswers::Compute(640, 480);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (int round = 0; round < 3; ++round) {
    auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
    ASSERT_TRUE(server.ok()) << server.status();
    CheckedLoad load(expected->get(), (*server)->address(), 8, "DRAINING");
    ASSERT_TRUE(WaitUntil([&] { return load.answered() > 60; }));
    const auto begin = Clock::now();
    kill((*server)->pid(), SIGTERM);
    const int code = (*server)->Wait(std::chrono::seconds(60));
    const std::chrono::duration<double> time = Clock::now() - begin;
    load.Join();

    EXPECT_EQ(code, 0);
    // The configured time for draining, and what cut calls may take to unwind.
    EXPECT_LT(time.count(), 13.0);
    const CheckedLoad::Counts counts = load.counts();
    EXPECT_EQ(counts.wrong, 0) << load.Complaints();
    const std::string log = (*server)->Log();
    EXPECT_NE(log.find("event=stopped complete=true"), std::string::npos) << log;
    EXPECT_EQ(NumberInLog(log, "stopped", "frames_ok"), counts.ok);
    EXPECT_EQ(NumberInLog(log, "stopped", "frames_failed"), counts.refused);
    EXPECT_EQ(NumberInLog(log, "stopped", "frames_received"), counts.ok + counts.refused);
    RecordProperty("seconds_to_stop", std::to_string(time.count()));
  }
}

// A server that cannot make or take connections any more ends, so that another one takes its place.
TEST(ServerStopTest, AServerThatFailsItsSelfCheckEndsByItself) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer of undefined behaviour needs descriptors";
#endif
  auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_NE((*server)->HttpGet("/readyz").find("200 OK"), std::string::npos);
  const rlimit none = {3, 3};  // no further descriptor
  ASSERT_EQ(prlimit((*server)->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  EXPECT_EQ((*server)->Wait(std::chrono::seconds(60)), 4);
  const std::string log = (*server)->Log();
  EXPECT_NE(log.find("event=self_check_failed"), std::string::npos) << log;
  EXPECT_NE(log.find("event=stopped complete=true"), std::string::npos) << log;
}

// Threads of gRPC would use what they free.
TEST(ServerStopTest, NoExitHandlerRuns) {
  // This program has one that aborts.
  auto server = ServerProcess::Start(
      ORBSERVE_FAULTS_PROGRAM, {"--fault", "error", "--fault-after", "9", "--backend", "cpu"});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->Stop(), 0) << (*server)->Log();
}

// gRPC, when it ends, may wait for ten seconds after a large message.
TEST(ServerStopTest, AProcessThatSentLargeAnswersEndsAtOnce) {
  constexpr int kSidePx = 128;
  constexpr int kKeypoints = 100'000;  // answers of 5 MB
  v1::ExtractRequest request;
  v1::Frame& frame = *request.mutable_frame();
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(kSidePx);
  frame.set_height_px(kSidePx);
  frame.set_pixels(std::string(kSidePx * kSidePx, '\x7f'));
  for (int i = 0; i < kKeypoints; ++i) {
    frame.mutable_keypoints()->add_x(kSidePx / 2);
    frame.mutable_keypoints()->add_y(kSidePx / 2);
    frame.mutable_keypoints()->add_angle(0);
    frame.mutable_keypoints()->add_octave(0);
  }
  for (int round = 0; round < 2; ++round) {
    auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
    ASSERT_TRUE(server.ok()) << server.status();
    {
      auto client = client::Client::Connect((*server)->address(), {});
      ASSERT_TRUE(client.ok()) << client.status();
      client::ExtractPipeline pipeline(client->get(), {.max_in_flight = 8});
      std::atomic<int> answers{0};
      for (int i = 0; i < 16; ++i) {
        pipeline.Submit(request, [&](const absl::StatusOr<v1::ExtractResponse>& answer) {
          if (answer.ok() && answer->features().x_size() == kKeypoints) ++answers;
        });
      }
      pipeline.Drain();
      ASSERT_EQ(answers, 16);
    }
    const auto begin = Clock::now();
    EXPECT_EQ((*server)->Stop(), 0) << (*server)->Log();
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(8));
  }
}

}  // namespace
}  // namespace orbserve
