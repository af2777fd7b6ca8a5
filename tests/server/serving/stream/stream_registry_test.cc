// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_registry.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

class StreamRegistryTest : public ::testing::Test {
 protected:
  void Make(const StreamRegistryOptions& options, OwnerWeights weights = {}) {
    registry_.reset();
    ledger_.emplace(std::move(weights));
    registry_.emplace(&*ledger_, options);
  }
  // Number of the stream, 0 when it was refused. Time passes before it.
  uint64_t Open(const std::string& owner, const std::string& name, milliseconds later = {},
                const std::string& connection = "one") {
    now_ += later;
    const auto admission =
        registry_->Add(nullptr, {.owner = owner, .name = name}, connection, now_);
    removed_ = admission.ok() ? admission->removed : 0;
    if (!admission.ok()) {
      EXPECT_EQ(ReasonOf(admission.status()), ErrorReason::kQuotaExceeded);
    }
    return admission.ok() ? admission->id : 0;
  }

  int64_t held() const { return ledger_->held(Resource::kStreams); }

  std::optional<Ledger> ledger_;
  std::optional<StreamRegistry> registry_;
  SteadyTime now_{};
  uint64_t removed_ = 0;
  int next_ = 0;
};

TEST_F(StreamRegistryTest, EveryoneGetsAPlaceWhilePlacesAreFree) {
  Make({.max_streams = 4});
  for (uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(Open("a", "1"), i);
  EXPECT_EQ(removed_, 0u);
  EXPECT_EQ(Open("a", "1"), 0u) << "it has all places already";
  registry_->Remove(2);
  EXPECT_EQ(Open("a", "1"), 5u);
}

TEST_F(StreamRegistryTest, AnOwnerWithoutAStreamTakesThePlaceThatWasSilentLongest) {
  Make({.max_streams = 3});
  for (uint64_t i = 1; i <= 3; ++i) {
    Open("greedy", "1", milliseconds(1));
    registry_->Touch(i, now_);
  }
  registry_->Touch(1, now_);
  EXPECT_NE(Open("b", "1"), 0u);
  EXPECT_EQ(removed_, 2u);
  EXPECT_EQ(held(), 3);
}

TEST_F(StreamRegistryTest, AStreamWithoutAFrameGoesFirst) {
  Make({.max_streams = 3});
  for (int i = 0; i < 3; ++i) Open("greedy", "1", milliseconds(1));
  registry_->Touch(1, now_);
  registry_->Touch(3, now_);
  EXPECT_NE(Open("b", "1", milliseconds(1000)), 0u);
  EXPECT_EQ(removed_, 2u);
}

TEST_F(StreamRegistryTest, PlacesDoNotGoToAndFro) {
  Make({.max_streams = 4});
  for (int i = 0; i < 4; ++i) Open("a", "1");
  EXPECT_NE(Open("b", "1"), 0u);
  EXPECT_NE(Open("b", "1"), 0u);
  EXPECT_EQ(Open("b", "1"), 0u) << "two each";
  EXPECT_EQ(Open("a", "1"), 0u);
  EXPECT_NE(Open("c", "1"), 0u) << "a third owner finds one, too";
  EXPECT_EQ(Open("c", "1"), 0u);
}

TEST_F(StreamRegistryTest, WeightsCount) {
  Make({.max_streams = 6, .max_streams_per_owner = 6}, {{"heavy", 2.0}});
  for (int i = 0; i < 6; ++i) Open("light", "1");
  int got = 0;
  while (Open("heavy", "1") != 0) ++got;
  EXPECT_EQ(got, 4);
  EXPECT_EQ(Open("light", "1"), 0u);
}

TEST_F(StreamRegistryTest, NamesOfOneOwnerAreEqual) {
  Make({.max_streams = 3});
  for (int i = 0; i < 3; ++i) Open("a", "greedy");
  EXPECT_NE(Open("a", "b"), 0u);
  EXPECT_EQ(removed_, 1u);
  EXPECT_EQ(Open("a", "b"), 0u);
  EXPECT_EQ(Open("a", "greedy"), 0u);
}

TEST_F(StreamRegistryTest, ANewcomerTakesThePlaceOfASilentStream) {
  Make({.max_streams = 2, .silence = milliseconds(100)});
  const uint64_t one = Open("a", "1");
  const uint64_t two = Open("b", "1");
  for (const uint64_t id : {one, two}) registry_->Touch(id, now_);
  EXPECT_EQ(Open("a", "2", milliseconds(99)), 0u);
  EXPECT_EQ(Open("c", "1"), 0u);
  registry_->Touch(one, now_);
  EXPECT_EQ(Open("a", "2", milliseconds(1)), 0u) << "the silent one is not of its owner";
  const uint64_t three = Open("c", "1");
  EXPECT_NE(three, 0u);
  EXPECT_EQ(removed_, two);
  registry_->Touch(three, now_);
  EXPECT_NE(Open("a", "2", milliseconds(99)), 0u);
  EXPECT_EQ(removed_, one);
}

TEST_F(StreamRegistryTest, AClientWithAStreamTakesNoSilentOne) {
  Make({.max_streams = 2, .silence = milliseconds(100)});
  Open("a", "1");
  Open("b", "1");
  EXPECT_EQ(Open("a", "1", milliseconds(1000)), 0u);
}

TEST_F(StreamRegistryTest, AnOwnerHasAMaximumOfItsOwn) {
  Make({.max_streams = 10, .max_streams_per_owner = 2, .silence = milliseconds(100)});
  for (const char* const name : {"1", "2"}) registry_->Touch(Open("a", name), now_);
  EXPECT_EQ(Open("a", "1"), 0u);
  EXPECT_EQ(Open("a", "3"), 0u);
  EXPECT_NE(Open("b", "1"), 0u);
  EXPECT_NE(Open("a", "3", milliseconds(100)), 0u) << "takes a silent one";
  EXPECT_EQ(removed_, 1u);
}

TEST_F(StreamRegistryTest, AStreamThatLostItsPlaceIsKnownNoMore) {
  Make({.max_streams = 2});
  Open("a", "1");
  Open("a", "1");
  ASSERT_NE(Open("b", "1"), 0u);
  ASSERT_EQ(removed_, 1u);
  registry_->Touch(1, now_);
  registry_->Remove(1);
  EXPECT_EQ(held(), 2);
  registry_->Remove(2);
  registry_->Remove(3);
  EXPECT_EQ(held(), 0);
}

TEST_F(StreamRegistryTest, ManyNamesOfOneAddressDoNotKeepAnotherOneOut) {
  Make({.max_streams = 256});
  for (int i = 0; i < 256; ++i) Open("addr", std::to_string(i));
  EXPECT_NE(Open("other", "x"), 0u) << "the owner has 256";
  const uint64_t robot = Open("addr", "robot");
  EXPECT_NE(robot, 0u) << "at once, because the others have sent no frame";
  registry_->Touch(robot, now_);
  // Its place is safe from clients that only open streams, however fast they are.
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(Open("addr", "new " + std::to_string(i)), 0u);
    EXPECT_NE(removed_, robot);
  }
}

TEST_F(StreamRegistryTest, AStreamOnAConnectionOfItsOwnHasTimeToSend) {
  Make({.max_streams = 256});
  const auto open_many = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Open("addr", "greedy " + std::to_string(next_++), {}, std::to_string(i % 20));
    }
  };
  open_many(256);
  const uint64_t robot = Open("addr", "robot", {}, "its own");
  ASSERT_NE(robot, 0u);
  for (int i = 0; i < 1000; ++i) {
    open_many(1);
    ASSERT_NE(removed_, 0u);
    ASSERT_NE(removed_, robot);
  }
  EXPECT_NE(Open("other", "x", {}, "another"), 0u);
  EXPECT_NE(removed_, robot);
  EXPECT_EQ(held(), 256);
}

TEST_F(StreamRegistryTest, TheOldestGoesWhereConnectionsHaveAsMany) {
  Make({.max_streams = 3});
  for (const char* const name : {"3", "1", "2"}) Open("a", name, {}, name);
  for (uint64_t oldest = 1; oldest <= 3; ++oldest) {
    EXPECT_NE(Open("a", "new " + std::to_string(oldest), {}, std::to_string(oldest + 10)), 0u);
    EXPECT_EQ(removed_, oldest);
  }
}

}  // namespace
}  // namespace orbserve
