// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/guard.h"

#include <sys/epoll.h>
#include <sys/uio.h>

#include <string>

#include "gtest/gtest.h"
#include "server/edge/guard/guard_table.h"
#include "server/process/file_descriptor.h"
#include "tests/server/edge/listener_fixture.h"

namespace orbserve {
namespace {

using ::orbserve::testing::Eventually;
using GuardTest = ::orbserve::testing::ListenerTest;

TEST_F(GuardTest, APausedConnectionIsReadAgainWhenOthersHaveEnded) {
  StartListener({.guard = {.max_unproven_calls = 24}});
  GuardTable& guards = GuardTable::Get();
  const FileDescriptor poller(epoll_create1(0));
  const auto make_calls = [&](int descriptor, int count) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    guards.Watched(descriptor, poller.get(), event);
    epoll_ctl(poller.get(), EPOLL_CTL_ADD, descriptor, &event);
    epoll_wait(poller.get(), &event, 1, 0);
    std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (int i = 0; i < count; ++i) {
      bytes += std::string("\0\0\1\1\5\0\0\0", 8);
      bytes += {static_cast<char>(2 * i + 1), 'h'};
    }
    const iovec piece = {bytes.data(), bytes.size()};
    EXPECT_TRUE(guards.Received(descriptor, &piece, 1, bytes.size()));
  };
  FileDescriptor other = Connect();
  ASSERT_TRUE(WaitForTaken(1));
  make_calls(taken_[0].get(), 6);
  const FileDescriptor client = Connect();
  ASSERT_TRUE(WaitForTaken(2));
  make_calls(taken_[1].get(), 4);
  EXPECT_EQ(guards.MayRead(taken_[1].get()), 0u);
  EXPECT_EQ(guards.paused(), 1);
  other.Reset();
  EXPECT_TRUE(Eventually([&] { return guards.paused() == 0; }));
  EXPECT_GT(guards.MayRead(taken_[1].get()), 0u);
  listener_.reset();  // before the poller, which its thread uses
}

}  // namespace
}  // namespace orbserve
