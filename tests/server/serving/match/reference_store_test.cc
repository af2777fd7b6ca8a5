// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match/reference_store.h"

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the bytes of a reference of 100 features whose name is one letter.
size_t OneReference() { return Reference("x", 1, MakeFeatures(100)).size_bytes(); }

std::vector<std::string> Names(const ReferenceStore& store, const std::string& client) {
  std::vector<std::string> names;
  const ReferenceStore::Page page = store.List(Named(client), "", 1000);
  EXPECT_TRUE(page.is_last);
  for (const auto& reference : page.references) names.push_back(reference->name());
  return names;
}

std::vector<std::string> NamesOf(const ReferenceStore::Page& page) {
  std::vector<std::string> names;
  for (const auto& reference : page.references) names.push_back(reference->name());
  return names;
}

TEST(ReferenceStoreTest, NamesBelongToTheirClient) {
  ReferenceStore store({});
  const auto put = store.Put(Named("a"), "map", MakeFeatures(1));
  ASSERT_TRUE(put.ok());
  ASSERT_TRUE(store.Put(Named("b"), "map", MakeFeatures(2)).ok());
  EXPECT_EQ((*store.Get(Named("a"), "map"))->features().count(), 1u);
  EXPECT_EQ((*store.Get(Named("b"), "map"))->features().count(), 2u);
  EXPECT_EQ(ReasonOf(store.Get(Named("c"), "map").status()), ErrorReason::kReferenceNotFound);
  EXPECT_EQ(store.Delete(Named("a"), "map").value_or(0), put->reference->version());
  EXPECT_EQ(ReasonOf(store.Delete(Named("a"), "map").status()), ErrorReason::kReferenceNotFound);
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
  const auto state = store.State(Named("a"), *reference, backend);
  EXPECT_EQ((*state)->feature_count(), 7u);
  EXPECT_EQ(*store.State(Named("a"), *reference, backend), *state);
  EXPECT_EQ(backend.imports, 1);
}

TEST(ReferenceStoreTest, CopiesOfTheBackendCountAndMakeRoom) {
  HandBackend backend;
  backend.copy_bytes = OneReference();
  ReferenceStore store({.max_bytes = 4 * OneReference()});
  for (const char* name : {"p", "q", "r"}) {
    ASSERT_TRUE(store.Put(Named("a"), name, MakeFeatures(100)).ok());
  }
  const auto r = *store.Get(Named("a"), "r");
  ASSERT_TRUE(store.State(Named("a"), *r, backend).ok());
  EXPECT_EQ(r->size_bytes(), 2 * OneReference());
  EXPECT_EQ(store.use().bytes, static_cast<int64_t>(4 * OneReference()));
  EXPECT_EQ(store.use().copy_bytes, static_cast<int64_t>(OneReference()));
  const auto q = *store.Get(Named("a"), "q");
  ASSERT_TRUE(store.State(Named("a"), *q, backend).ok());
  EXPECT_THAT(Names(store, "a"), ElementsAre("q", "r"));
  EXPECT_EQ(store.use().evictions, 1);
  ASSERT_TRUE(store.Delete(Named("a"), "q").ok());
  ASSERT_TRUE(store.Delete(Named("a"), "r").ok());
  EXPECT_EQ(store.use().bytes, 0);
  EXPECT_EQ(store.use().copy_bytes, 0);
}

TEST(ReferenceStoreTest, CopiesOfAReferenceThatLeftTheStoreDoNotCount) {
  HandBackend backend;
  backend.copy_bytes = 1000;
  ReferenceStore store({});
  const auto old = store.Put(Named("a"), "p", MakeFeatures(1))->reference;
  ASSERT_TRUE(store.Put(Named("a"), "p", MakeFeatures(1)).ok());
  ASSERT_TRUE(store.State(Named("a"), *old, backend).ok());
  EXPECT_EQ(store.use().copy_bytes, 0);
}

TEST(ReferenceStoreTest, PagesAreSortedByNameAndGoOnAfterAName) {
  ReferenceStore store({});
  for (const char* name : {"d", "b", "e", "a", "c"}) {
    ASSERT_TRUE(store.Put(Named("x"), name, MakeFeatures(1)).ok());
  }
  const auto first = store.List(Named("x"), "", 2);
  EXPECT_THAT(NamesOf(first), ElementsAre("a", "b"));
  EXPECT_FALSE(first.is_last);
  ASSERT_TRUE(store.Delete(Named("x"), "b").ok());  // the page goes on where it would have been
  EXPECT_THAT(NamesOf(store.List(Named("x"), "b", 2)), ElementsAre("c", "d"));
  const auto last = store.List(Named("x"), "d", 2);
  EXPECT_THAT(NamesOf(last), ElementsAre("e"));
  EXPECT_TRUE(last.is_last);
  EXPECT_TRUE(store.List(Named("x"), "c", 2).is_last);  // exactly two are left
  EXPECT_THAT(NamesOf(store.List(Named("y"), "", 2)), IsEmpty());
}

TEST(ReferenceStoreTest, AnOwnerHasItsShareHoweverManyNamesItUses) {
  ReferenceStore store({.max_references_per_owner = 3});
  const auto camera = [](const std::string& name) {
    return ClientId{.owner = "robot", .name = name};
  };
  ASSERT_TRUE(store.Put(Named("other"), "p", MakeFeatures(1)).ok());
  ASSERT_TRUE(store.Put(camera("left"), "p", MakeFeatures(1)).ok());
  ASSERT_TRUE(store.Put(camera("left"), "q", MakeFeatures(1)).ok());
  ASSERT_TRUE(store.Put(camera("right"), "p", MakeFeatures(1)).ok());
  // The client with the most makes room, and only the caller's own are reported.
  EXPECT_THAT(store.Put(camera("rear"), "p", MakeFeatures(1))->evicted, IsEmpty());
  EXPECT_THAT(NamesOf(store.List(camera("left"), "", 9)), ElementsAre("q"));
  EXPECT_EQ(store.use().references, 4);
  EXPECT_EQ(store.use().max_references_per_owner, 3);
  EXPECT_THAT(Names(store, "other"), ElementsAre("p"));
}

TEST(ReferenceStoreTest, AnOwnerHasItsShareOfBytes) {
  ReferenceStore store({.max_bytes_per_owner = 2 * OneReference()});
  for (const char* name : {"p", "q"}) {
    ASSERT_TRUE(store.Put(Named("a"), name, MakeFeatures(100)).ok());
  }
  EXPECT_THAT(store.Put(Named("a"), "r", MakeFeatures(100))->evicted, ElementsAre("p"));
  const auto large = store.Put(Named("a"), "s", MakeFeatures(1000));
  EXPECT_EQ(ReasonOf(large.status()), ErrorReason::kTooLarge);
  EXPECT_THAT(std::string(large.status().message()), HasSubstr("of this client"));
}

TEST(ReferenceStoreTest, ManyTinyReferencesWeighAsMuchAsAFewLargeOnes) {
  ReferenceStore store({.max_bytes = 100 * OneReference(), .max_references = 50});
  for (const char* name : {"p", "q", "r"}) {
    ASSERT_TRUE(store.Put(Named("maps"), name, MakeFeatures(1000)).ok());
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store.Put(Named("flood"), std::to_string(i), MakeFeatures(0)).ok());
  }
  EXPECT_THAT(Names(store, "maps"), ElementsAre("p", "q", "r"));
  EXPECT_EQ(store.use().references, 50);
}

TEST(ReferenceStoreTest, ALargeReferenceTakesTheRoomOfThousandsInSteps) {
  const size_t tiny = Reference("x", 1, MakeFeatures(0)).size_bytes();
  ReferenceStore store({.max_bytes = 10'000 * (tiny + 4)});
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(store.Put(Named(absl::StrCat("client ", i)), "x", MakeFeatures(0)).ok());
  }
  const auto put = store.Put(Named("large"), "map", MakeFeatures(50'000));
  ASSERT_TRUE(put.ok());
  EXPECT_THAT(put->evicted, IsEmpty());
  EXPECT_GT(store.use().evictions, 10 * ReferenceStore::kEvictionsPerStep);
  EXPECT_LE(store.use().bytes, store.use().max_bytes);
  EXPECT_THAT(Names(store, "large"), ElementsAre("map"));
}

TEST(ReferenceStoreTest, CallsOfManyThreadsLeaveTheStoreWholeAndWithinItsLimits) {
  ReferenceStore store({.max_bytes = 40 * OneReference(),
                        .max_references = 60,
                        .max_bytes_per_owner = 20 * OneReference(),
                        .max_references_per_owner = 30});
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&store, seed] {
      std::minstd_rand random(seed + 1);
      for (int i = 0; i < 4000; ++i) {
        const ClientId client = {.owner = absl::StrCat(random() % 3),
                                 .name = absl::StrCat(random() % 9)};
        const std::string name = absl::StrCat(random() % 20);
        switch (random() % 8) {
          case 0:
            store.Delete(client, name).status().IgnoreError();
            break;
          case 1:
            store.Get(client, name).IgnoreError();
            break;
          case 2:
            EXPECT_LE(store.List(client, name, 3).references.size(), 3u);
            break;
          default:
            EXPECT_TRUE(store.Put(client, name, MakeFeatures(random() % 400)).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t references = 0;
  int64_t bytes = 0;
  for (int owner = 0; owner < 3; ++owner) {
    for (int name = 0; name < 9; ++name) {
      const ClientId client = {.owner = absl::StrCat(owner), .name = absl::StrCat(name)};
      for (const auto& reference : store.List(client, "", 100).references) {
        ++references;
        bytes += static_cast<int64_t>(reference->size_bytes());
        EXPECT_TRUE(store.Get(client, reference->name()).ok());
      }
    }
  }
  const ReferenceStoreUse use = store.use();
  EXPECT_EQ(use.references, references);
  EXPECT_EQ(use.bytes, bytes);
  EXPECT_LE(use.references, use.max_references);
  EXPECT_LE(use.bytes, use.max_bytes);
}

}  // namespace
}  // namespace orbserve
