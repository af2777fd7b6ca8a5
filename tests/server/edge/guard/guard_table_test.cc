// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/guard_table.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "gtest/gtest.h"
#include "server/process/file_descriptor.h"

namespace orbserve {
namespace {

// HEADERS frames of calls, one byte of payload each.
std::string Calls(int count) {
  std::string frames;
  for (int i = 0; i < count; ++i) {
    const int stream = 2 * i + 1;
    frames += std::string("\0\0\1\1\5", 5);  // length, type, END_STREAM and END_HEADERS
    for (int shift = 24; shift >= 0; shift -= 8) frames += static_cast<char>(stream >> shift);
    frames += 'h';
  }
  return frames;
}

class GuardTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int pair[2] = {};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    own_.Reset(pair[0]);
    peer_.Reset(pair[1]);
    poller_.Reset(epoll_create1(0));
    wake_.Reset(eventfd(0, EFD_NONBLOCK));
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    table_.Arm(own_.get(), /*is_plain=*/true, "address", /*max_calls=*/100);
    // The hook of epoll_ctl() does this in the server.
    table_.Watched(own_.get(), poller_.get(), event);
    ASSERT_EQ(epoll_ctl(poller_.get(), EPOLL_CTL_ADD, own_.get(), &event), 0);
    Receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  }
  void TearDown() override {
    table_.Attach(-1, 0, 0);
    table_.BeginTurns();
    table_.Disarm(own_.get());
  }

  void Receive(const std::string& bytes) {
    const iovec piece = {const_cast<char*>(bytes.data()), bytes.size()};
    EXPECT_TRUE(table_.Received(own_.get(), &piece, 1, bytes.size()));
  }
  bool IsReady() {
    epoll_event event = {};
    return epoll_wait(poller_.get(), &event, 1, 0) == 1;
  }
  bool IsWoken() {
    uint64_t count = 0;
    return read(wake_.get(), &count, sizeof(count)) == sizeof(count);
  }

  GuardTable& table_ = GuardTable::Get();
  FileDescriptor own_;
  FileDescriptor peer_;
  FileDescriptor poller_;
  FileDescriptor wake_;
};

TEST_F(GuardTableTest, AConnectionWaitsForItsTurnAlthoughMoreArrives) {
  table_.Attach(wake_.get(), INT64_MAX, INT64_MAX);
  ASSERT_GT(table_.MayRead(own_.get()), 0u);
  Receive(Calls(20));
  EXPECT_EQ(table_.MayRead(own_.get()), 0u);
  EXPECT_TRUE(IsWoken());
  ASSERT_EQ(send(peer_.get(), "more", 4, 0), 4);
  EXPECT_TRUE(IsReady());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(table_.MayRead(own_.get()), 0u);
  EXPECT_FALSE(IsWoken());
  EXPECT_FALSE(IsReady());
  EXPECT_EQ(table_.BeginTurns(), 1);
  EXPECT_TRUE(IsReady());
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
  EXPECT_EQ(table_.BeginTurns(), 0);
}

TEST_F(GuardTableTest, OpenCallsCountUntilTheConnectionIsProven) {
  table_.Attach(wake_.get(), INT64_MAX, 4);
  Receive(Calls(4));
  EXPECT_EQ(table_.View(own_.get()).unproven_calls, 4);
  EXPECT_FALSE(IsWoken());
  Receive(Calls(5).substr(4 * 10));
  EXPECT_EQ(table_.unproven_calls(), 5);
  EXPECT_TRUE(IsWoken());
  table_.Prove(own_.get());
  EXPECT_EQ(table_.unproven_calls(), 0);
  EXPECT_EQ(table_.View(own_.get()).calls, 5);
}

TEST_F(GuardTableTest, AnUnprovenConnectionIsPausedWithAsManyCallsAsAreLeft) {
  table_.Attach(wake_.get(), INT64_MAX, 16);
  Receive(Calls(3));
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
  EXPECT_FALSE(IsWoken());
  Receive(Calls(4).substr(3 * 10));
  EXPECT_EQ(table_.MayRead(own_.get()), 0u);
  EXPECT_EQ(table_.paused(), 1);
  EXPECT_TRUE(IsWoken());
  ASSERT_EQ(send(peer_.get(), "more", 4, 0), 4);
  EXPECT_TRUE(IsReady());
  EXPECT_EQ(table_.MayRead(own_.get()), 0u);
  table_.Resume(own_.get());
  EXPECT_FALSE(IsReady());
  EXPECT_FALSE(IsWoken());
  // Others have ended theirs.
  table_.Attach(wake_.get(), INT64_MAX, 100);
  EXPECT_FALSE(IsReady());
  table_.Resume(own_.get());
  EXPECT_TRUE(IsReady());
  EXPECT_EQ(table_.paused(), 0);
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
}

TEST_F(GuardTableTest, APausedConnectionIsReadWhenItIsProvenAnsweredOrClosed) {
  const std::string end("\0\0\4\3\0\0\0\0\1\0\0\0\0", 13);  // RST_STREAM of the first call
  const iovec piece = {const_cast<char*>(end.data()), end.size()};
  for (const char* const what : {"proven", "answered", "closed"}) {
    SCOPED_TRACE(what);
    TearDown();
    SetUp();
    table_.Attach(wake_.get(), INT64_MAX, 8);
    Receive(Calls(4));
    ASSERT_EQ(send(peer_.get(), "more", 4, 0), 4);
    EXPECT_TRUE(IsReady());
    EXPECT_EQ(table_.MayRead(own_.get()), 0u);
    EXPECT_FALSE(IsReady());
    switch (*what) {
      case 'p':
        table_.Prove(own_.get());
        break;
      case 'a':
        table_.Sent(own_.get(), &piece, 1, end.size());
        break;
      default:
        table_.Close(own_.get(), CloseReason::kUnproven);
    }
    EXPECT_TRUE(IsReady());
    EXPECT_GT(table_.MayRead(own_.get()), 0u);
    EXPECT_EQ(table_.paused(), 0);
  }
}

TEST_F(GuardTableTest, AMessageThatHasBegunIsReadToItsEnd) {
  table_.Attach(wake_.get(), INT64_MAX, 8);
  // DATA of the first call: the prefix of a message of two bytes, and the first of them.
  Receive(Calls(4) + std::string("\0\0\6\0\0\0\0\0\1\0\0\0\0\2m", 15));
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
  Receive(std::string("\0\0\1\0\0\0\0\0\1m", 10));
  EXPECT_EQ(table_.MayRead(own_.get()), 0u);
}

TEST_F(GuardTableTest, AConnectionWaitsUntilItsLargeMessageHasRoom) {
  const absl::Cleanup no_bounds = [] { GuardTable::room().SetBounds(INT64_MAX, nullptr); };
  bool takes_more = false;
  GuardTable::room().SetBounds(0, [&] { return takes_more; });
  table_.Attach(wake_.get(), INT64_MAX, INT64_MAX);
  // DATA of the first call: the prefix of a message of 16 MiB, and its first byte.
  const std::string begin("\0\0\6\0\0\0\0\0\1\0\1\0\0\0m", 15);
  Receive(Calls(1));
  Receive(begin);
  EXPECT_EQ(table_.MayRead(own_.get()), 0u);
  EXPECT_TRUE(IsWoken());
  EXPECT_EQ(table_.ReadOn(), -1);
  EXPECT_FALSE(IsReady());
  takes_more = true;
  ASSERT_EQ(write(peer_.get(), "x", 1), 1);
  EXPECT_TRUE(IsReady());
  EXPECT_FALSE(IsReady());  // the edge is gone
  EXPECT_EQ(table_.ReadOn(), -1);
  EXPECT_TRUE(IsReady());
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
  EXPECT_EQ(GuardTable::room().waiting(), 0);
  // The call is cancelled: the connection has nothing large any more.
  takes_more = false;
  EXPECT_EQ(table_.MayRead(own_.get()), 0u);
  Receive(std::string("\0\0\4\3\0\0\0\0\1\0\0\0\x8", 13));
  EXPECT_EQ(GuardTable::room().waiting(), 0);
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
}

TEST_F(GuardTableTest, AConnectionThatAloneHoldsTooMuchIsClosedAtOnce) {
  table_.Attach(wake_.get(), /*max_bytes=*/1, INT64_MAX);
  Receive(Calls(1));
  const std::string bytes("\0\0\7\0\0\0\0\0\1\0\1\0\0\0mm", 16);
  const iovec piece = {const_cast<char*>(bytes.data()), bytes.size()};
  EXPECT_FALSE(table_.Received(own_.get(), &piece, 1, bytes.size()));
  EXPECT_EQ(table_.View(own_.get()).violation, CloseReason::kUnfinished);
  EXPECT_EQ(table_.unfinished_bytes(), 0);
}

TEST_F(GuardTableTest, WithoutAListenerNoConnectionWaits) {
  ASSERT_GT(table_.MayRead(own_.get()), 0u);
  Receive(Calls(20));
  EXPECT_GT(table_.MayRead(own_.get()), 0u);
}

}  // namespace
}  // namespace orbserve
