// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/message_room.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr size_t kMost = 256 << 10;

TEST(MessageRoomTest, ConnectionsWithoutLargeMessagesAreRead) {
  MessageRoom room;
  room.SetBounds(0, [] { return false; });
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  EXPECT_EQ(room.waiting(), 0);
}

TEST(MessageRoomTest, OneIsReadInAnyCaseAndOthersWithinTheirShare) {
  MessageRoom room;
  room.SetBounds(4 * kMiB, nullptr);
  for (const int connection : {1, 2, 3}) room.Set(connection, 0, 0, 12 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  EXPECT_EQ(room.MayRead(2, 5 * kMiB, 0), size_t{4 * kMiB});
  room.Set(1, 0, 11 * kMiB, kMiB);
  room.Set(2, 0, 3 * kMiB, 9 * kMiB);
  EXPECT_EQ(room.MayRead(3, kMost, 0), kMost);
  room.Set(3, 0, kMiB, 11 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  EXPECT_EQ(room.MayRead(2, kMost, 0), 0u);
  EXPECT_EQ(room.MayRead(3, kMost, 0), 0u);
  EXPECT_EQ(room.waiting(), 2);
  EXPECT_THAT(room.GoOn(1).go_on, IsEmpty());
}

TEST(MessageRoomTest, TheNextFirstIsTheOneThatHasWaitedLongest) {
  MessageRoom room;
  room.SetBounds(0, nullptr);
  for (const int connection : {1, 2, 3}) room.Set(connection, 0, 0, 12 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  EXPECT_EQ(room.MayRead(3, kMost, 0), 0u);
  EXPECT_EQ(room.MayRead(2, kMost, 0), 0u);
  EXPECT_EQ(room.MayRead(3, kMost, 0), 0u);  // it has waited already
  room.Set(1, 0, 0, 0);
  EXPECT_THAT(room.GoOn(1).go_on, ElementsAre(3));
  EXPECT_EQ(room.MayRead(3, kMost, 1), kMost);
  room.Set(3, 0, 0, 0);
  EXPECT_THAT(room.GoOn(2).go_on, ElementsAre(2));
  EXPECT_EQ(room.waiting(), 0);
}

TEST(MessageRoomTest, AnAddressWithManyConnectionsDoesNotKeepOthersWaiting) {
  MessageRoom room;
  room.SetBounds(0, nullptr);
  room.Set(0, /*address=*/7, 0, 12 * kMiB);
  EXPECT_EQ(room.MayRead(0, kMost, 0), kMost);
  for (int connection = 1; connection < 50; ++connection) {
    room.Set(connection, /*address=*/7, 0, 12 * kMiB);
    EXPECT_EQ(room.MayRead(connection, kMost, 0), 0u);
  }
  room.Set(50, /*address=*/8, 0, 12 * kMiB);
  EXPECT_EQ(room.MayRead(50, kMost, 0), 0u);
  room.Set(0, 7, 0, 0);
  EXPECT_THAT(room.GoOn(1).go_on, ElementsAre(50));
}

TEST(MessageRoomTest, AFirstThatBringsNothingMakesWayForThoseThatWait) {
  MessageRoom room;
  room.SetBounds(kMiB, nullptr);
  room.Set(1, 0, kMiB / 2, 12 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  const int64_t later = 10 * MessageRoom::kFirstMs;
  EXPECT_THAT(room.GoOn(later).go_on, IsEmpty());
  EXPECT_EQ(room.MayRead(1, kMost, later), kMost);  // nobody waits
  room.Set(2, 0, kMiB, 12 * kMiB);
  EXPECT_EQ(room.MayRead(2, kMost, later), 0u);
  EXPECT_THAT(room.GoOn(later + MessageRoom::kStallMs - 1).go_on, IsEmpty());
  EXPECT_THAT(room.GoOn(later + MessageRoom::kStallMs).go_on, ElementsAre(2));
  room.Set(2, 0, 6 * kMiB, 7 * kMiB);
  EXPECT_EQ(room.MayRead(2, kMost, later), kMost);
  EXPECT_EQ(room.MayRead(1, kMost, later), kMost);
  room.Set(1, 0, kMiB, 11 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, later), 0u);
}

TEST(MessageRoomTest, AFirstThatHoldsTooMuchToMakeWayIsClosed) {
  MessageRoom room;
  room.SetBounds(kMiB, nullptr);
  room.Set(1, 0, 0, 12 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  room.Set(2, 0, kMiB, 12 * kMiB);
  EXPECT_EQ(room.MayRead(2, kMost, 0), 0u);
  room.Set(1, 0, 2 * kMiB, 10 * kMiB);
  EXPECT_EQ(room.GoOn(MessageRoom::kStallMs).late, -1);  // it has brought enough since it began
  EXPECT_EQ(room.GoOn(2 * MessageRoom::kStallMs - 1).late, -1);
  EXPECT_EQ(room.GoOn(2 * MessageRoom::kStallMs).late, 1);
  room.Set(1, 0, 0, 0);
  EXPECT_THAT(room.GoOn(2 * MessageRoom::kStallMs).go_on, ElementsAre(2));
}

TEST(MessageRoomTest, AFirstThatBringsLittleForLongMakesWay) {
  MessageRoom room;
  room.SetBounds(kMiB, nullptr);
  room.Set(1, 0, 0, 12 * kMiB);
  EXPECT_EQ(room.MayRead(1, kMost, 0), kMost);
  room.Set(2, 0, kMiB, 12 * kMiB);
  EXPECT_EQ(room.MayRead(2, kMost, 0), 0u);
  int64_t now_ms = 0;
  for (int64_t held = 0; now_ms < 2 * MessageRoom::kFirstMs; held += MessageRoom::kLeastBytes) {
    room.Set(1, 0, held, 12 * kMiB - held);
    const MessageRoom::Decision decision = room.GoOn(now_ms);
    if (decision.late == 1 || !decision.go_on.empty()) break;
    now_ms += MessageRoom::kStallMs;
  }
  EXPECT_EQ(now_ms, MessageRoom::kFirstMs);
}

TEST(MessageRoomTest, AllWaitWhileTheServerTakesNoMore) {
  MessageRoom room;
  bool takes_more = false;
  room.SetBounds(kMiB, [&] { return takes_more; });
  for (const int connection : {1, 2}) {
    room.Set(connection, 0, 0, 12 * kMiB);
    EXPECT_EQ(room.MayRead(connection, kMost, 0), 0u);
  }
  // Time in which it could not go on does not count against the first.
  MessageRoom::Decision decision = room.GoOn(MessageRoom::kFirstMs);
  EXPECT_THAT(decision.go_on, IsEmpty());
  EXPECT_EQ(decision.late, -1);
  takes_more = true;
  decision = room.GoOn(MessageRoom::kFirstMs + 1);
  EXPECT_THAT(decision.go_on, UnorderedElementsAre(1, 2));
  EXPECT_EQ(decision.late, -1);
}

// Clients send messages of any size in any order. All of them end, and together they never hold
// more than the common share, one message, and what the last reads of each brought.
TEST(MessageRoomTest, AllMessagesEndWithinTheBounds) {
  constexpr int64_t kShared = 4 * kMiB;
  constexpr int64_t kLargest = 12 * kMiB;
  constexpr int kConnections = 20;
  std::mt19937 random(1);
  MessageRoom room;
  room.SetBounds(kShared, nullptr);
  struct Client {
    int messages = 0;
    int64_t held = 0;
    int64_t length = 0;
    bool waits = false;
  };
  std::vector<Client> clients(kConnections);
  int ended = 0;
  int64_t most = 0;
  for (int64_t now_ms = 0; ended < 100 * kConnections && now_ms < 10'000'000; ++now_ms) {
    for (const int connection : room.GoOn(now_ms).go_on) {
      clients[static_cast<size_t>(connection)].waits = false;
    }
    for (int turn = 0; turn < kConnections; ++turn) {
      const auto number = static_cast<int>(random() % kConnections);
      Client& client = clients[static_cast<size_t>(number)];
      if (client.waits || client.messages == 100) continue;
      if (client.length == 0) {
        client.length = static_cast<int64_t>(kMiB + random() % (kLargest - kMiB + 1));
        room.Set(number, 0, 0, client.length);
      }
      const size_t may = room.MayRead(number, kMost, now_ms);
      client.waits = may == 0;
      client.held = std::min(client.held + static_cast<int64_t>(may), client.length);
      room.Set(number, 0, client.held, client.length - client.held);
      if (client.held == client.length) {
        client.held = client.length = 0;
        ++client.messages;
        ++ended;
      }
    }
    int64_t held = 0;
    for (const Client& client : clients) held += client.held;
    most = std::max(most, held);
  }
  EXPECT_EQ(ended, 100 * kConnections);
  EXPECT_EQ(room.waiting(), 0);
  EXPECT_LE(most, kShared + kLargest + kConnections * static_cast<int64_t>(kMost));
  EXPECT_GT(most, kLargest);
}

}  // namespace
}  // namespace orbserve
