// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/client_activity.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/clients/identity.h"
#include "tests/server/serving/fake_clock.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::SizeIs;

ClientId NamedPeer(const std::string& name) { return {"addr:192.0.2.7", "id:" + name}; }

// A frame of a batch of two that was busy for 100 ms.
FrameOutcome Done() {
  FrameOutcome outcome;
  outcome.batch_frames = 2;
  outcome.cost.busy_begin = SteadyTime() + seconds(1);
  outcome.cost.busy_end = outcome.cost.busy_begin + milliseconds(100);
  outcome.energy_joules = 0.25;
  return outcome;
}

class ClientActivityTest : public ::testing::Test {
 protected:
  // A frame of the client was computed and its result was sent.
  void Complete(const std::string& name, const FrameOutcome& outcome = Done()) {
    activity_.FrameComputed(NamedPeer(name), outcome);
    activity_.FrameEnded(NamedPeer(name), absl::OkStatus());
  }
  std::vector<server::ClientRow> Busiest(size_t most) {
    const server::ClientTable table = activity_.Busiest(most);
    known_ = table.known();
    return {table.clients().begin(), table.clients().end()};
  }

  FakeClock clock_;
  Ledger ledger_;
  ClientActivity activity_{&clock_, &ledger_};
  size_t known_ = 0;
};

TEST_F(ClientActivityTest, NobodyIsKnownAtFirst) {
  EXPECT_THAT(Busiest(5), SizeIs(0));
  EXPECT_EQ(known_, 0u);
}

TEST_F(ClientActivityTest, FramesAreCountedByTheirEnds) {
  for (int i = 0; i < 4; ++i) activity_.FrameReceived(NamedPeer("a"), 1000);
  Complete("a");
  Complete("a");
  activity_.FrameEnded(NamedPeer("a"), MakeError(ErrorReason::kDropped, "failed"));
  activity_.FrameEnded(NamedPeer("a"), MakeError(ErrorReason::kBadImage, "failed"));
  const std::vector<server::ClientRow> uses = Busiest(5);
  ASSERT_THAT(uses, SizeIs(1));
  EXPECT_EQ(uses[0].client(), DisplayName(NamedPeer("a")));
  EXPECT_EQ(uses[0].received(), 4);
  EXPECT_EQ(uses[0].ok(), 2);
  EXPECT_EQ(uses[0].dropped(), 1);
  EXPECT_EQ(uses[0].failed(), 1);
  EXPECT_EQ(uses[0].bytes(), 4000);
  EXPECT_DOUBLE_EQ(uses[0].joules(), 0.5);
}

// At a steady rate the rates are those of the last ten seconds or so.
TEST_F(ClientActivityTest, RatesFollowTheLoad) {
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(milliseconds(100));
    activity_.FrameReceived(NamedPeer("a"), 1000);
    Complete("a");
  }
  server::ClientRow use = Busiest(1)[0];
  EXPECT_NEAR(use.frames_per_second(), 10, 0.1);
  EXPECT_NEAR(use.bytes_per_second(), 10'000, 100);
  EXPECT_NEAR(use.device_share(), 0.5, 0.005);
  EXPECT_NEAR(use.watts(), 2.5, 0.025);
  EXPECT_EQ(use.idle_seconds(), 0);
  clock_.Advance(seconds(60));
  use = Busiest(1)[0];
  EXPECT_LT(use.frames_per_second(), 0.03);
  EXPECT_EQ(use.idle_seconds(), 60);
  EXPECT_EQ(use.received(), 1000);
}

TEST_F(ClientActivityTest, TheBusiestComeFirst) {
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k <= i; ++k) {
      activity_.FrameReceived(NamedPeer(absl::StrCat(i)), 1);
      Complete(absl::StrCat(i));
    }
  }
  const std::vector<server::ClientRow> uses = Busiest(2);
  ASSERT_THAT(uses, SizeIs(2));
  EXPECT_EQ(uses[0].client(), DisplayName(NamedPeer("4")));
  EXPECT_EQ(uses[1].client(), DisplayName(NamedPeer("3")));
  EXPECT_EQ(known_, 5u);
}

TEST_F(ClientActivityTest, EnergyThatIsNotKnownIsAbsent) {
  FrameOutcome outcome = Done();
  outcome.energy_joules.reset();
  activity_.FrameReceived(NamedPeer("a"), 1);
  Complete("a", outcome);
  const server::ClientRow use = Busiest(1)[0];
  EXPECT_FALSE(use.has_joules());
  EXPECT_FALSE(use.has_watts());
}

TEST_F(ClientActivityTest, WhatAClientHoldsIsWhatTheLedgerSays) {
  activity_.StreamOpened(NamedPeer("a"));
  EXPECT_EQ(Busiest(1)[0].streams(), 0u);
  const Ledger::AccountPtr account = ledger_.Open(NamedPeer("a"));
  const auto hold = [&](Resource resource, int64_t amount) {
    Holding holding(account, resource);
    holding.Set(amount);
    return holding;
  };
  {
    const Holding streams = hold(Resource::kStreams, 2);
    const Holding frames = hold(Resource::kFrames, 3);
    const Holding messages = hold(Resource::kFrameBytes, 100);
    const Holding answers = hold(Resource::kStreamResponseBytes, 20);
    const server::ClientRow use = Busiest(1)[0];
    EXPECT_EQ(use.streams(), 2u);
    EXPECT_EQ(use.waiting(), 3);
    EXPECT_EQ(use.held_bytes(), 120);
  }
  EXPECT_EQ(Busiest(1)[0].held_bytes(), 0);
}

TEST_F(ClientActivityTest, IdleClientsMakeRoomAndThoseWithStreamsStay) {
  activity_.StreamOpened(NamedPeer("open"));
  Holding stream(ledger_.Open(NamedPeer("open")), Resource::kStreams);
  stream.Set(1);
  for (size_t i = 0; i < 3 * ClientActivity::kMaxClients; ++i) {
    clock_.Advance(milliseconds(1));
    activity_.FrameReceived(NamedPeer(absl::StrCat(i)), 1);
  }
  const std::vector<server::ClientRow> uses = Busiest(ClientActivity::kMaxClients);
  EXPECT_LE(known_, ClientActivity::kMaxClients);
  EXPECT_GT(known_, ClientActivity::kMaxClients / 2);
  bool has_open = false;
  bool has_last = false;
  for (const server::ClientRow& use : uses) {
    has_open = has_open || use.client() == DisplayName(NamedPeer("open"));
    has_last =
        has_last ||
        use.client() == DisplayName(NamedPeer(absl::StrCat(3 * ClientActivity::kMaxClients - 1)));
  }
  EXPECT_TRUE(has_open);
  EXPECT_TRUE(has_last);
}

}  // namespace
}  // namespace orbserve
