// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/waiting_room.h"

#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StreamFramePtr FrameOf(uint64_t index, DropPolicy policy, int64_t bytes = 10) {
  auto options = std::make_shared<StreamOptions>();
  options->drop_policy = policy;
  auto frame = std::make_shared<StreamFrame>();
  frame->index = index;
  frame->message_bytes = bytes;
  frame->options = std::move(options);
  return frame;
}

std::vector<uint64_t> IndexesOf(const std::vector<StreamFramePtr>& frames) {
  std::vector<uint64_t> indexes;
  for (const StreamFramePtr& frame : frames) indexes.push_back(frame->index);
  return indexes;
}

// Empties the room.
std::vector<uint64_t> TakeAll(WaitingRoom& room) {
  std::vector<uint64_t> indexes;
  while (!room.empty()) indexes.push_back(room.TakeFirst()->index);
  return indexes;
}

TEST(WaitingRoomTest, FramesLeaveInTheOrderOfTheirArrival) {
  WaitingRoom room(4, 1000);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(room.Add(FrameOf(i, DropPolicy::kNewest)), IsEmpty());
  }
  EXPECT_EQ(room.size(), 4u);
  EXPECT_EQ(room.bytes(), 40);
  EXPECT_EQ(room.first().index, 0u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(room.TakeFirst()->index, i);
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(room.bytes(), 0);
}

TEST(WaitingRoomTest, NewestDropsTheOldestFrameThatWaits) {
  WaitingRoom room(2, 1000);
  EXPECT_THAT(room.Add(FrameOf(0, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(1, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(2, DropPolicy::kNewest))), ElementsAre(0));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest))), ElementsAre(1));
  EXPECT_EQ(room.bytes(), 20);
  EXPECT_THAT(TakeAll(room), ElementsAre(2, 3));
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(room.bytes(), 0);
}

TEST(WaitingRoomTest, OldestDropsTheArrivingFrame) {
  WaitingRoom room(2, 1000);
  EXPECT_THAT(room.Add(FrameOf(0, DropPolicy::kOldest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(1, DropPolicy::kOldest)), IsEmpty());
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(2, DropPolicy::kOldest))), ElementsAre(2));
  EXPECT_EQ(room.TakeFirst()->index, 0u);
  EXPECT_THAT(room.Add(FrameOf(3, DropPolicy::kOldest)), IsEmpty());
  EXPECT_THAT(TakeAll(room), ElementsAre(1, 3));
}

TEST(WaitingRoomTest, BytesAreBoundedToo) {
  WaitingRoom room(8, 100);
  for (uint64_t i = 0; i < 3; ++i) room.Add(FrameOf(i, DropPolicy::kNewest, 30));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest, 70))), ElementsAre(0, 1));
  EXPECT_EQ(room.bytes(), 100);
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(4, DropPolicy::kOldest, 1))), ElementsAre(4));
  EXPECT_EQ(room.bytes(), 100);
}

TEST(WaitingRoomTest, AFrameLargerThanTheRoomWaitsAlone) {
  WaitingRoom room(8, 100);
  room.Add(FrameOf(0, DropPolicy::kNewest));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(1, DropPolicy::kNewest, 500))), ElementsAre(0));
  EXPECT_EQ(room.bytes(), 500);
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(2, DropPolicy::kOldest))), ElementsAre(2));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest))), ElementsAre(1));
  EXPECT_THAT(TakeAll(room), ElementsAre(3));
}

TEST(WaitingRoomTest, AFrameUnderBlockIsNeverDroppedAndDropsNone) {
  WaitingRoom room(2, 100);
  EXPECT_THAT(room.Add(FrameOf(0, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(1, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(2, DropPolicy::kBlock)), IsEmpty()) << "the stream reads no further";
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest))), ElementsAre(0, 1));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(4, DropPolicy::kNewest))), ElementsAre(3));
  EXPECT_THAT(TakeAll(room), ElementsAre(2, 4));
}

TEST(WaitingRoomTest, AFrameThatIsLateLeavesItsPlace) {
  WaitingRoom room(2, 100);
  const StreamFramePtr late = FrameOf(0, DropPolicy::kNewest, 60);
  room.Add(late);
  room.Add(FrameOf(1, DropPolicy::kNewest, 40));
  room.Take(*late);
  room.Take(*late);  // waits no more
  EXPECT_EQ(room.bytes(), 40);
  EXPECT_THAT(room.Add(FrameOf(2, DropPolicy::kNewest, 60)), IsEmpty());
  EXPECT_THAT(TakeAll(room), ElementsAre(1, 2));
}

TEST(WaitingRoomTest, AClearedRoomHasSpaceForAll) {
  WaitingRoom room(2, 100);
  room.Add(FrameOf(0, DropPolicy::kNewest, 60));
  room.Clear();
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(room.bytes(), 0);
}

}  // namespace
}  // namespace orbserve
