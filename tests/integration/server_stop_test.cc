// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIGTERM to the real program under load: nothing that it accepted is lost, and it ends in time.

#include <signal.h>

#include <chrono>
#include <memory>

#include "gtest/gtest.h"
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

}  // namespace
}  // namespace orbserve
