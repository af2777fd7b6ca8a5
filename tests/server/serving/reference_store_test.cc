// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/reference_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a reference of 100 features called by one letter takes.
size_t OneReference() { return Reference("x", 1, MakeFeatures(100)).size_bytes(); }

std::vector<std::string> Names(const ReferenceStore& store, const std::string& client) {
  std::vector<std::string> names;
  for (const auto& reference : store.List(Named(client))) names.push_back(reference->name());
  return names;
}

TEST(ReferenceStoreTest, NamesBelongToTheirClient) {
  ReferenceStore store({});
  ASSERT_TRUE(store.Put(Named("a"), "map", MakeFeatures(1)).ok());
  ASSERT_TRUE(store.Put(Named("b"), "map", MakeFeatures(2)).ok());
  EXPECT_EQ((*store.Get(Named("a"), "map"))->features().count(), 1u);
  EXPECT_EQ((*store.Get(Named("b"), "map"))->features().count(), 2u);
  EXPECT_EQ(ReasonOf(store.Get(Named("c"), "map").status()), ErrorReason::kReferenceNotFound);
  EXPECT_TRUE(store.Delete(Named("a"), "map").ok());
  EXPECT_EQ(ReasonOf(store.Delete(Named("a"), "map")), ErrorReason::kReferenceNotFound);
  EXPECT_THAT(Names(store, "b"), ElementsAre("map"));
}

TEST(ReferenceStoreTest, AReplacedReferenceIsANewVersionAndTheOldOneLivesOn) {
  ReferenceStore store({});
  const auto first = store.Put(Named("a"), "map", MakeFeatures(1))->reference;
  const auto second = store.Put(Named("a"), "map", MakeFeatures(2))->reference;
  EXPECT_GT(second->version(), first->version());
  EXPECT_EQ(first->features().count(), 1u);
  EXPECT_EQ(store.use().references, 1);
  EXPECT_EQ(store.use().bytes, static_cast<int64_t>(second->size_bytes()));
  ASSERT_TRUE(store.Delete(Named("a"), "map").ok());
  EXPECT_EQ(store.use().references, 0);
  EXPECT_EQ(store.use().bytes, 0);
  EXPECT_GT(store.Put(Named("a"), "map", MakeFeatures(1))->reference->version(), second->version());
}

TEST(ReferenceStoreTest, TheLeastRecentlyUsedGoesFirstAndIsReported) {
  ReferenceStore store({.max_bytes = 3 * OneReference()});
  for (const char* name : {"p", "q", "r"}) {
    EXPECT_THAT(store.Put(Named("a"), name, MakeFeatures(100))->evicted, IsEmpty());
  }
  ASSERT_TRUE(store.Get(Named("a"), "p").ok());
  EXPECT_THAT(store.Put(Named("a"), "s", MakeFeatures(100))->evicted, ElementsAre("q"));
  EXPECT_THAT(store.Put(Named("a"), "t", MakeFeatures(200))->evicted, ElementsAre("r", "p"));
  EXPECT_THAT(Names(store, "a"), ElementsAre("s", "t"));
}

TEST(ReferenceStoreTest, AClientThatFillsTheStoreForgetsItsOwn) {
  ReferenceStore store({.max_bytes = 4 * OneReference()});
  ASSERT_TRUE(store.Put(Named("small"), "m", MakeFeatures(100)).ok());
  for (const char* name : {"p", "q", "r", "s", "t", "u"}) {
    ASSERT_TRUE(store.Put(Named("big"), name, MakeFeatures(100)).ok());
  }
  EXPECT_THAT(Names(store, "small"), ElementsAre("m"));
  EXPECT_THAT(Names(store, "big"), ElementsAre("s", "t", "u"));
}

TEST(ReferenceStoreTest, ANewcomerFindsRoomAtTheCostOfTheLargestAndIsToldNothingOfIt) {
  ReferenceStore store({.max_bytes = 3 * OneReference()});
  for (const char* name : {"p", "q", "r"}) {
    ASSERT_TRUE(store.Put(Named("big"), name, MakeFeatures(100)).ok());
  }
  EXPECT_THAT(store.Put(Named("new"), "m", MakeFeatures(100))->evicted, IsEmpty());
  EXPECT_THAT(Names(store, "big"), ElementsAre("q", "r"));
  EXPECT_THAT(Names(store, "new"), ElementsAre("m"));
}

TEST(ReferenceStoreTest, ALargeReferenceOfAClientWithNothingElseTakesTheRoomOfOthers) {
  ReferenceStore store({.max_bytes = 3 * OneReference()});
  ASSERT_TRUE(store.Put(Named("a"), "p", MakeFeatures(100)).ok());
  ASSERT_TRUE(store.Put(Named("b"), "q", MakeFeatures(100)).ok());
  ASSERT_TRUE(store.Put(Named("c"), "r", MakeFeatures(250)).ok());
  EXPECT_THAT(Names(store, "c"), ElementsAre("r"));
  EXPECT_EQ(store.use().max_bytes, static_cast<int64_t>(3 * OneReference()));
  EXPECT_LE(store.use().bytes, store.use().max_bytes);
}

TEST(ReferenceStoreTest, AReferenceLargerThanTheStoreIsRefusedAndNothingIsForgotten) {
  ReferenceStore store({.max_bytes = 2 * OneReference()});
  ASSERT_TRUE(store.Put(Named("a"), "p", MakeFeatures(100)).ok());
  const auto result = store.Put(Named("a"), "q", MakeFeatures(1000));
  EXPECT_EQ(ReasonOf(result.status()), ErrorReason::kTooLarge);
  EXPECT_THAT(Names(store, "a"), ElementsAre("p"));
}

TEST(ReferenceStoreTest, TheNumberOfReferencesIsBounded) {
  ReferenceStore store({.max_references = 2});
  ASSERT_TRUE(store.Put(Named("a"), "p", MakeFeatures(1)).ok());
  ASSERT_TRUE(store.Put(Named("a"), "q", MakeFeatures(1)).ok());
  EXPECT_THAT(store.Put(Named("a"), "r", MakeFeatures(1))->evicted, ElementsAre("p"));
}

TEST(ReferenceStoreTest, ABackendImportsAReferenceAtItsFirstUseOnly) {
  HandBackend backend;
  ReferenceStore store({});
  const auto reference = store.Put(Named("a"), "p", MakeFeatures(7))->reference;
  EXPECT_EQ(backend.imports, 0);
  const auto state = reference->State(backend);
  EXPECT_EQ((*state)->feature_count(), 7u);
  EXPECT_EQ(*reference->State(backend), *state);
  EXPECT_EQ(backend.imports, 1);
}

}  // namespace
}  // namespace orbserve
