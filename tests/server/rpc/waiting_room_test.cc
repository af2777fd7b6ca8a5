// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/waiting_room.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Room = WaitingRoom<std::unique_ptr<std::string>>;

// The payload of a frame is the text of its index, so that no frame can be taken for another.
Room::Frame FrameOf(uint64_t index, DropPolicy policy, int64_t bytes = 10) {
  return {index, bytes, policy, std::make_unique<std::string>(std::to_string(index))};
}

template <typename Frames>
std::vector<uint64_t> IndexesOf(const Frames& frames) {
  std::vector<uint64_t> indexes;
  for (const Room::Frame& frame : frames) {
    EXPECT_EQ(*frame.payload, std::to_string(frame.index));
    indexes.push_back(frame.index);
  }
  return indexes;
}

TEST(WaitingRoomTest, FramesLeaveInTheOrderOfTheirArrival) {
  Room room(4, 1000);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(room.Add(FrameOf(i, DropPolicy::kNewest)), IsEmpty());
  }
  EXPECT_EQ(room.size(), 4u);
  EXPECT_EQ(room.bytes(), 40);
  EXPECT_EQ(room.first().index, 0u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(room.TakeFirst()->index, i);
  EXPECT_FALSE(room.TakeFirst().has_value());
  EXPECT_EQ(room.bytes(), 0);
}

TEST(WaitingRoomTest, NewestDropsTheOldestFrameThatWaits) {
  Room room(2, 1000);
  EXPECT_THAT(room.Add(FrameOf(0, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(1, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(2, DropPolicy::kNewest))), ElementsAre(0));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest))), ElementsAre(1));
  EXPECT_EQ(room.bytes(), 20);
  EXPECT_THAT(IndexesOf(room.TakeAll()), ElementsAre(2, 3));
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(room.bytes(), 0);
}

TEST(WaitingRoomTest, OldestDropsTheArrivingFrame) {
  Room room(2, 1000);
  EXPECT_THAT(room.Add(FrameOf(0, DropPolicy::kOldest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(1, DropPolicy::kOldest)), IsEmpty());
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(2, DropPolicy::kOldest))), ElementsAre(2));
  EXPECT_EQ(room.TakeFirst()->index, 0u);
  EXPECT_THAT(room.Add(FrameOf(3, DropPolicy::kOldest)), IsEmpty());
  EXPECT_THAT(IndexesOf(room.TakeAll()), ElementsAre(1, 3));
}

TEST(WaitingRoomTest, BytesAreBoundedToo) {
  Room room(8, 100);
  for (uint64_t i = 0; i < 3; ++i) room.Add(FrameOf(i, DropPolicy::kNewest, 30));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest, 70))), ElementsAre(0, 1));
  EXPECT_EQ(room.bytes(), 100);
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(4, DropPolicy::kOldest, 1))), ElementsAre(4));
  EXPECT_EQ(room.bytes(), 100);
}

TEST(WaitingRoomTest, AFrameLargerThanTheRoomWaitsAlone) {
  Room room(8, 100);
  room.Add(FrameOf(0, DropPolicy::kNewest));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(1, DropPolicy::kNewest, 500))), ElementsAre(0));
  EXPECT_EQ(room.bytes(), 500);
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(2, DropPolicy::kOldest))), ElementsAre(2));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest))), ElementsAre(1));
  EXPECT_THAT(IndexesOf(room.TakeAll()), ElementsAre(3));
}

TEST(WaitingRoomTest, AFrameUnderBlockIsNeverDroppedAndDropsNone) {
  Room room(2, 100);
  EXPECT_THAT(room.Add(FrameOf(0, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(1, DropPolicy::kNewest)), IsEmpty());
  EXPECT_THAT(room.Add(FrameOf(2, DropPolicy::kBlock)), IsEmpty()) << "the stream reads no further";
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(3, DropPolicy::kNewest))), ElementsAre(0, 1));
  EXPECT_THAT(IndexesOf(room.Add(FrameOf(4, DropPolicy::kNewest))), ElementsAre(3));
  EXPECT_THAT(IndexesOf(room.TakeAll()), ElementsAre(2, 4));
}

TEST(WaitingRoomTest, AFrameThatIsLateLeavesItsPlace) {
  Room room(2, 100);
  room.Add(FrameOf(0, DropPolicy::kNewest, 60));
  room.Add(FrameOf(1, DropPolicy::kNewest, 40));
  EXPECT_EQ(*room.Take(0)->payload, "0");
  EXPECT_FALSE(room.Take(0).has_value());
  EXPECT_EQ(room.bytes(), 40);
  EXPECT_THAT(room.Add(FrameOf(2, DropPolicy::kNewest, 60)), IsEmpty());
}

}  // namespace
}  // namespace orbserve
