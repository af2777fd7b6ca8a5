// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/frame/frame_account.h"

#include <chrono>
#include <string>
#include <vector>

#include "features/errors.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/telemetry/metrics_page.h"

namespace orbserve {
namespace {

class FrameAccountTest : public ::testing::Test {
 protected:
  void End(const absl::Status& told, int64_t keypoints = 0) {
    FrameTimes times;
    times.Begin(clock_.Now() - std::chrono::milliseconds(20));
    account_.Ended("StreamFrames", client_, times, told, keypoints);
  }
  double Value(const std::string& series) const { return ValueOf(metrics_.Render(), series); }

  const ClientId client_{"addr:192.0.2.7", "id:a"};
  FakeClock clock_;
  Metrics metrics_{{.version = "1", .devices = {{"cpu", "cpu"}}}};
  Ledger ledger_;
  ClientActivity clients_{&clock_, &ledger_};
  FrameAccount account_{&clock_, &metrics_, &clients_};
};

TEST_F(FrameAccountTest, ThePageTheLogAndThePagesAboutClientsSayTheSame) {
  for (int i = 0; i < 3; ++i) account_.Received(client_, 150);
  account_.Received(client_, 7);
  End(absl::OkStatus(), 8);
  End(absl::OkStatus(), 9);
  End(MakeError(ErrorReason::kDropped, "x"));
  End(MakeError(ErrorReason::kDeadlineExceeded, "x"));

  EXPECT_EQ(Value("orbserve_frames_received_total"), 4);
  EXPECT_EQ(Value("orbserve_received_bytes_total"), 3 * 150 + 7);
  EXPECT_EQ(Value("orbserve_keypoints_total"), 17);
  EXPECT_EQ(Value("orbserve_frames_total{outcome=\"ok\"}"), 2);
  EXPECT_EQ(Value("orbserve_frames_total{outcome=\"DROPPED\"}"), 1);
  EXPECT_EQ(Value("orbserve_frames_total{outcome=\"DEADLINE_EXCEEDED\"}"), 1);
  EXPECT_EQ(Value("orbserve_frame_duration_seconds_count{method=\"StreamFrames\"}"), 4);
  EXPECT_NEAR(Value("orbserve_frame_duration_seconds_sum{method=\"StreamFrames\"}"), 0.08, 1e-9);

  const FrameCounts counts = metrics_.frame_counts();
  EXPECT_EQ(counts.received, 4);
  EXPECT_EQ(counts.ok, 2);
  EXPECT_EQ(counts.failed, 2);

  const server::ClientTable clients = clients_.Busiest(5);
  ASSERT_EQ(clients.clients_size(), 1);
  EXPECT_EQ(clients.clients(0).received(), 4);
  EXPECT_EQ(clients.clients(0).ok(), 2);
  EXPECT_EQ(clients.clients(0).dropped(), 1);
  EXPECT_EQ(clients.clients(0).failed(), 1);
  EXPECT_EQ(clients.clients(0).bytes(), 3 * 150 + 7);
}

TEST_F(FrameAccountTest, NoClientIsToldOkFromTheDeadlineOn) {
  const SteadyTime deadline = clock_.Now() + std::chrono::microseconds(5);
  const absl::Status bad = MakeError(ErrorReason::kBadImage, "x");
  EXPECT_TRUE(account_.Told(absl::OkStatus(), kNever).ok());
  EXPECT_TRUE(account_.Told(absl::OkStatus(), deadline).ok());
  clock_.Advance(std::chrono::microseconds(5));
  EXPECT_EQ(ReasonOf(account_.Told(absl::OkStatus(), deadline)), ErrorReason::kDeadlineExceeded);
  EXPECT_EQ(account_.Told(bad, deadline), bad);
}

}  // namespace
}  // namespace orbserve
