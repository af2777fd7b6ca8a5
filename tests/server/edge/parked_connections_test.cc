// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/parked_connections.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <vector>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

class ParkedConnectionsTest : public ::testing::Test {
 protected:
  uint64_t Park(int64_t now_ms) {
    descriptors_.push_back(eventfd(0, EFD_CLOEXEC));
    return parked_.Add(FileDescriptor(descriptors_.back()), now_ms);
  }
  bool IsOpen(size_t index) const { return fcntl(descriptors_[index], F_GETFD) >= 0; }

  ParkedConnections parked_;
  std::vector<int> descriptors_;
};

TEST_F(ParkedConnectionsTest, TheOldestIsClosedForOneMoreThanThereArePlaces) {
  EXPECT_FALSE(parked_.has_places());
  parked_.SetMax(2);
  EXPECT_TRUE(parked_.has_places());
  for (int i = 0; i < 2; ++i) Park(0);
  EXPECT_TRUE(IsOpen(0));
  parked_.Add(FileDescriptor(), 0);
  EXPECT_FALSE(IsOpen(0));
  EXPECT_TRUE(IsOpen(1));
  EXPECT_EQ(parked_.size(), 2u);
}

TEST_F(ParkedConnectionsTest, ClosesThoseThatSpeakAndThoseWhoseTimeIsOver) {
  parked_.SetMax(4);
  Park(0);
  const uint64_t speaks = Park(1);
  Park(2);
  parked_.Close(speaks);
  EXPECT_TRUE(IsOpen(0));
  EXPECT_FALSE(IsOpen(1));
  parked_.CloseLate(ParkedConnections::kStayMs + 1);
  EXPECT_FALSE(IsOpen(0));
  EXPECT_TRUE(IsOpen(2));
  parked_.CloseLate(ParkedConnections::kStayMs + 2);
  EXPECT_EQ(parked_.size(), 0u);
}

TEST_F(ParkedConnectionsTest, ClosesTheOldestWhereDescriptorsAreWanted) {
  parked_.SetMax(4);
  EXPECT_FALSE(parked_.CloseOldest(2));
  for (int i = 0; i < 3; ++i) Park(0);
  EXPECT_TRUE(parked_.CloseOldest(2));
  EXPECT_FALSE(IsOpen(1));
  EXPECT_TRUE(IsOpen(2));
  parked_.CloseAll();
  EXPECT_FALSE(IsOpen(2));
}

}  // namespace
}  // namespace orbserve
