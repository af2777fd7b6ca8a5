// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Memory that a plan takes of an arena, and the order of its steps. Needs no device.

#include "gpu/plan.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "features/pipeline/geometry.h"
#include "gmock/gmock.h"
#include "gpu/steps/track_pyramid.h"
#include "gtest/gtest.h"

namespace orbserve::gpu {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;
constexpr int kMaxFrames = 32;

// Tables on no device: the arithmetic alone.
absl::StatusOr<std::shared_ptr<GpuPlan>> MakePlan(const PlanSpec& spec, size_t arena_bytes) {
  GpuPlan::Limits limits;
  limits.max_batch_frames = kMaxFrames;
  limits.arena_bytes = arena_bytes;
  return GpuPlan::Create(spec, limits);
}

size_t BytesOf(const GpuPlan& plan, int frames, bool masks) {
  return plan.LargestArenaBytes({ClassOfFrames(frames), masks});
}

const std::vector<PlanSpec>& Specs() {
  static const std::vector<PlanSpec> specs = [] {
    std::vector<PlanSpec> list = {{640, 480, {}}, {1920, 1080, {}}, {64, 48, {}}};
    list.push_back({1280, 960, {}});
    list.back().pipeline.pyramid.levels = 1;
    return list;
  }();
  return specs;
}

TEST(PlanTest, TheLargestBatchFitsWithAllItsMasks) {
  for (const PlanSpec& spec : Specs()) {
    for (size_t arena_bytes = 8 * kMiB; arena_bytes < 2048 * kMiB; arena_bytes += 13 * kMiB) {
      const auto plan = MakePlan(spec, arena_bytes);
      if (!plan.ok()) continue;
      const int frames = (*plan)->max_batch_frames();
      EXPECT_LE(BytesOf(**plan, frames, true), arena_bytes) << spec.width_px << " " << arena_bytes;
      EXPECT_LE(BytesOf(**plan, frames, false), BytesOf(**plan, frames, true));
      // No smaller than it has to be.
      if (frames < kMaxFrames) {
        EXPECT_GT(BytesOf(**plan, 2 * frames, true), arena_bytes);
      }
    }
  }
}

TEST(PlanTest, AFrameThatFitsIsNotRefused) {
  for (const PlanSpec& spec : Specs()) {
    const auto large = MakePlan(spec, size_t{1} << 40);
    ASSERT_TRUE(large.ok()) << large.status();
    EXPECT_EQ((*large)->max_batch_frames(), kMaxFrames);
    const size_t one = BytesOf(**large, 1, true);
    EXPECT_EQ(*GpuPlan::FrameBytesOf(spec, {}), one);
    const auto just = MakePlan(spec, one);
    ASSERT_TRUE(just.ok()) << just.status();
    EXPECT_EQ((*just)->max_batch_frames(), 1);
    const absl::Status refused = MakePlan(spec, one - 1).status();
    EXPECT_EQ(ReasonOf(refused), ErrorReason::kTooLarge);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(absl::StrCat("needs ", one, " bytes")));
  }
}

TEST(PlanTest, ArenasAreRoundedUpWithinTheirLimit) {
  EXPECT_EQ(ArenaBytes(1, 1024 * kMiB), 16 * kMiB);
  EXPECT_EQ(ArenaBytes(16 * kMiB, 1024 * kMiB), 16 * kMiB);
  EXPECT_EQ(ArenaBytes(16 * kMiB + 1, 1024 * kMiB), 32 * kMiB);
  // A lane that may have 43 MiB is not given 48 for the 36 that it needs.
  EXPECT_EQ(ArenaBytes(36 * kMiB, 43 * kMiB), 43 * kMiB);
  EXPECT_EQ(ArenaBytes(43 * kMiB, 43 * kMiB), 43 * kMiB);
}

// "main fast (detect+suppress) after clear_counters": one line for each step.
std::vector<std::string> DescribeSteps(const GpuPlan& plan) {
  std::vector<std::string> lines;
  const auto& steps = plan.steps().steps();
  for (const StepList::PlacedStep& placed : steps) {
    std::string line = placed.branch == Branch::kMain ? "main " : "side ";
    absl::StrAppend(&line, placed.step->name(), " (", placed.step->stages().Name(), ")");
    for (const StepList::Id id : placed.after) {
      absl::StrAppend(&line, " after ", steps[id].step->name());
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> TimedStages(const GpuPlan& plan) {
  std::vector<std::string> names;
  for (const StageSet stages : plan.steps().timed_stages()) names.push_back(stages.Name());
  return names;
}

TEST(PlanTest, OrbSearchesLevelZeroBesideThePyramid) {
  const auto plan = MakePlan({640, 480, {}}, 1024 * kMiB);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(DescribeSteps(**plan),
            (std::vector<std::string>{
                "side clear_counters ()", "side fast (detect+suppress)", "main pyramid (pyramid)",
                "main fast (detect+suppress) after clear_counters",
                "main low_threshold (select) after fast", "main survivors (select)",
                "main rank (select)", "main rbrief256 (orient+describe)"}));
  EXPECT_EQ(TimedStages(**plan),
            (std::vector<std::string>{"pyramid", "detect+suppress", "select", "orient+describe"}));
}

TEST(PlanTest, Orb32DescribesInItsLastStep) {
  const auto plan = MakePlan({640, 480, (*FindPreset("orb-32"))->pipeline}, 1024 * kMiB);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(
      DescribeSteps(**plan),
      (std::vector<std::string>{"side clear_counters ()", "side fast (detect+suppress)",
                                "main low_threshold (select) after fast", "main survivors (select)",
                                "main rank (select)", "main rbrief32 (orient+describe)"}));
  // Too small for a keypoint, though given ones could be described.
  const auto tiny = MakePlan({15, 15, (*FindPreset("orb-32"))->pipeline}, 1024 * kMiB);
  ASSERT_TRUE(tiny.ok()) << tiny.status();
  EXPECT_EQ(DescribeSteps(**tiny),
            (std::vector<std::string>{"side clear_counters ()",
                                      "main rbrief32 (orient+describe) after clear_counters"}));
}

TEST(PlanTest, BFrostMakesIntegralImagesBesideTheSelection) {
  PlanSpec spec = {640, 480, (*FindPreset("bfrost"))->pipeline};
  const auto one_level = MakePlan(spec, 1024 * kMiB);
  ASSERT_TRUE(one_level.ok()) << one_level.status();
  EXPECT_EQ(
      DescribeSteps(**one_level),
      (std::vector<std::string>{"side clear_counters ()", "side fast (detect+suppress)",
                                "main low_threshold (select) after fast", "main survivors (select)",
                                "main rank (select)", "side integral (describe)",
                                "main bfrost256 (orient+describe) after integral"}));
  spec.pipeline.pyramid.levels = 2;
  const auto two_levels = MakePlan(spec, 1024 * kMiB);
  ASSERT_TRUE(two_levels.ok()) << two_levels.status();
  EXPECT_EQ(DescribeSteps(**two_levels),
            (std::vector<std::string>{
                "side clear_counters ()", "side fast (detect+suppress)", "main pyramid (pyramid)",
                "main fast (detect+suppress) after clear_counters",
                "main low_threshold (select) after fast", "main survivors (select)",
                "main rank (select)", "side integral (describe) after pyramid",
                "main bfrost256 (orient+describe) after integral"}));
}

TEST(PlanTest, PyramidsOfStatesAreMadeBesideTheSelection) {
  for (const char* const name : {"vio", "orb", "bfrost"}) {
    PlanSpec spec = {752, 480, (*FindPreset(name))->pipeline};
    spec.pipeline.pyramid.scale_factor = 2.0f;
    const auto without = MakePlan(spec, 1024 * kMiB);
    spec.track_levels = 5;
    const auto with = MakePlan(spec, 1024 * kMiB);
    ASSERT_TRUE(without.ok() && with.ok()) << without.status() << with.status();
    EXPECT_EQ((*without)->track_pyramid().levels, 0);
    EXPECT_EQ((*with)->track_pyramid().levels, 5);
    std::vector<std::string> expected = DescribeSteps(**without);
    const bool has_integral = std::string(name) == "bfrost";
    // Other steps of the side branch come behind it.
    const auto place = expected.end() - (has_integral ? 2 : 1);
    if (!has_integral) absl::StrAppend(&expected.back(), " after track_pyramid");
    expected.insert(place, "side track_pyramid (pyramid)");
    EXPECT_EQ(DescribeSteps(**with), expected) << name;
  }
}

// Levels follow each other without overlap, and are those of the geometry.
TEST(PlanTest, PyramidsOfStatesHaveTheLevelsOfTheGeometry) {
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {752, 480}, {753, 479}, {1, 1}, {1, 900}, {1241, 376}, {5, 3}, {32767, 32767}}) {
    for (const int levels : {1, 5, 11}) {
      PlanSpec spec = {width, height, (*FindPreset("vio"))->pipeline, levels};
      const PyramidGeometry geometry = PyramidGeometry::For(spec);
      const TrackPyramid pyramid = TrackPyramid::For(width, height, levels);
      ASSERT_EQ(static_cast<size_t>(pyramid.levels), geometry.track_levels.size());
      int64_t end = 0;
      for (int l = 0; l < pyramid.levels; ++l) {
        const TrackPyramidLevel& level = pyramid.level[l];
        EXPECT_EQ(level.width_px, geometry.track_levels[static_cast<size_t>(l)].width_px);
        EXPECT_EQ(level.height_px, geometry.track_levels[static_cast<size_t>(l)].height_px);
        EXPECT_GE(level.pitch_bytes, level.width_px);
        EXPECT_EQ(level.offset % kRowAlignmentBytes, 0);
        EXPECT_GE(level.offset, end + kImagePaddingBytes);
        end = level.offset + int64_t{level.pitch_bytes} * level.height_px;
      }
      EXPECT_EQ(pyramid.bytes(), static_cast<size_t>(end) + kImagePaddingBytes);
    }
  }
}

FrameRoom RoomFor(const GpuPlan& plan, int max_features) {
  FrameParameters parameters;
  parameters.max_features = max_features;
  return FrameRoom::ForDetection(plan.pipeline(), parameters, plan.pipeline().CutsFor(parameters));
}

TEST(PlanTest, KeyedCornersAreChosenFromByTheirSelection) {
  PlanSpec spec = {640, 480, (*FindPreset("orb-slam"))->pipeline};
  const auto steps_of = [&] {
    const auto plan = MakePlan(spec, 1024 * kMiB);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? DescribeSteps(**plan) : std::vector<std::string>{};
  };
  EXPECT_EQ(
      steps_of(),
      (std::vector<std::string>{
          "side clear_counters ()", "side fast_keys (detect+suppress)", "main pyramid (pyramid)",
          "main fast_keys (detect+suppress) after clear_counters",
          "main low_threshold (select) after fast_keys", "main key_survivors (select)",
          "main quadtree (select)", "main rank (select)", "main rbrief256 (orient+describe)"}));
  spec.pipeline.pyramid.levels = 1;
  spec.pipeline.suppress.suppression = Suppression::kCell;
  spec.pipeline.select.selection = Selection::kCell;
  EXPECT_EQ(steps_of(), (std::vector<std::string>{
                            "side clear_counters ()", "side fast_keys (detect+suppress)",
                            "main low_threshold (detect+suppress) after fast_keys",
                            "main cell (detect+suppress)", "main key_survivors (select)",
                            "main cell_rounds (select)", "main rbrief256 (orient+describe)"}));
}

TEST(PlanTest, OrbSlam3SearchesZonesOfAMap) {
  const auto plan = MakePlan({640, 480, (*FindPreset("orb-slam3"))->pipeline}, 1024 * kMiB);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(
      DescribeSteps(**plan),
      (std::vector<std::string>{
          "side clear_counters ()", "side fast_map (detect)", "main pyramid (pyramid)",
          "main fast_map (detect) after clear_counters", "main zone_fast (suppress) after fast_map",
          "main node_list (select)", "main rbrief256 (orient+describe)"}));
  // The answer may have more features than are wanted, of each level.
  EXPECT_EQ(RoomFor(**plan, 1000).rows, 1024);
  EXPECT_EQ(RoomFor(**plan, 1024).rows, 2048);
}

TEST(PlanTest, KeyedCornersHaveRoomByWhatTheirSelectionLooksAt) {
  PlanSpec spec = {1920, 1080, (*FindPreset("orb-slam"))->pipeline};
  const auto room_for = [&](int max_features) {
    const auto plan = MakePlan(spec, 2048 * kMiB);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? RoomFor(**plan, max_features) : FrameRoom{};
  };
  // A quadtree and rounds over cells look at all corners, whatever is wanted.
  const FrameRoom tree = room_for(10);
  EXPECT_EQ(tree.survivors[0].count, kMaxSorted);
  EXPECT_EQ(tree.spare_entries, 2 * tree.survivor_entries);
  EXPECT_LE(tree.ranked[0].count, 8);
  spec.pipeline.select.selection = Selection::kCell;
  const FrameRoom rounds = room_for(10);
  EXPECT_EQ(rounds.spare_entries, 2 * rounds.survivor_entries);
  EXPECT_EQ(rounds.list_bytes(),
            RoundUp((3 * rounds.survivor_entries + rounds.ranked_entries) * sizeof(uint64_t),
                    kBufferAlignment));
  // The first keys of the frame are enough for BEST.
  spec.pipeline.select.selection = Selection::kBest;
  spec.pipeline.suppress.suppression = Suppression::kCell;
  EXPECT_EQ(room_for(100).survivors[0].count, 4 * 100 + 2048);
  EXPECT_EQ(room_for(kMaxFeatures).survivors[0].count, kMaxSorted);
  EXPECT_EQ(room_for(100).spare_entries, 0u);
}

TEST(PlanTest, OneKeyMoreThanTheAnswerHoldsTellsThatItIsTruncated) {
  Cuts cuts;
  cuts.wanted = 100;
  cuts.capacity = 100;
  EXPECT_EQ(FirstKeys(cuts), 100);
  cuts.capacity = 70;
  EXPECT_EQ(FirstKeys(cuts), 71);
  cuts.capacity = kMaxFeatures;
  EXPECT_EQ(FirstKeys(cuts), 100);
}

// The names of the steps that search for corners, with their branches.
std::vector<std::string> SearchesOf(const GpuPlan& plan) {
  std::vector<std::string> lines;
  for (const std::string& line : DescribeSteps(plan)) {
    if (line.find(" fast") != std::string::npos && line.find("(detect") != std::string::npos) {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST(PlanTest, TheSearchFollowsWhatSelectionBeginsWith) {
  PlanSpec spec = {640, 480, (*FindPreset("oriented-fast"))->pipeline};
  const std::vector<std::string> with_keys = {
      "side fast_keys (detect+suppress)", "main fast_keys (detect+suppress) after clear_counters"};
  const std::vector<std::string> with_scores = {"side fast (detect+suppress)",
                                                "main fast (detect+suppress) after clear_counters"};
  const auto plan = MakePlan(spec, 1024 * kMiB);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(SearchesOf(**plan), with_keys);
  // Responses that do not decide in the window are computed after the first cut.
  spec.pipeline.suppress.compare = Compare::kFast;
  spec.pipeline.suppress.window_px = 7;
  const auto scored = MakePlan(spec, 1024 * kMiB);
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_EQ(SearchesOf(**scored), with_scores);
}

TEST(PlanTest, StagesThatDoNotRunAreNotTimed) {
  PlanSpec spec = {640, 480, {}};
  spec.pipeline.pyramid.levels = 1;
  spec.pipeline.describe.descriptor = Descriptor::kNone;
  const auto one_level = MakePlan(spec, 1024 * kMiB);
  ASSERT_TRUE(one_level.ok()) << one_level.status();
  EXPECT_EQ(TimedStages(**one_level),
            (std::vector<std::string>{"detect+suppress", "select", "orient"}));
  // No level can hold a keypoint.
  const auto none = MakePlan({40, 40, {}}, 1024 * kMiB);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(TimedStages(**none), (std::vector<std::string>{"pyramid", "orient+describe"}));
}

// Every side step must be joined before the last step of the main branch, or capture fails.
TEST(PlanTest, TheMainBranchEndsLast) {
  for (const PlanSpec& spec : Specs()) {
    const auto plan = MakePlan(spec, 2048 * kMiB);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto& steps = (*plan)->steps().steps();
    ASSERT_EQ(steps.back().branch, Branch::kMain);
    size_t last_of_side = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].branch == Branch::kSide) last_of_side = i;
    }
    EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [&](const auto& placed) {
      return placed.branch == Branch::kMain && std::find(placed.after.begin(), placed.after.end(),
                                                         last_of_side) != placed.after.end();
    }));
  }
}

TEST(PlanTest, ListsOfAFrameLieBesideEachOther) {
  for (const PlanSpec& spec : Specs()) {
    for (const Selection selection : {Selection::kLevelQuota, Selection::kBest}) {
      PlanSpec own = spec;
      own.pipeline.select.selection = selection;
      const auto plan = MakePlan(own, 2048 * kMiB);
      ASSERT_TRUE(plan.ok()) << plan.status();
      for (const int wanted : {1, 500, 8192, kMaxFeatures}) {
        const FrameRoom room = RoomFor(**plan, wanted);
        int32_t survivors = 0;
        int32_t ranked = 0;
        for (size_t l = 0; l < kMaxLevels; ++l) {
          if (room.survivors[l].count == 0) continue;
          EXPECT_EQ(room.survivors[l].begin, survivors);
          EXPECT_EQ(room.ranked[l].begin, ranked);
          EXPECT_EQ(room.survivors[l].count % kListAlignment, 0);
          EXPECT_EQ(room.ranked[l].count % kListAlignment, 0);
          EXPECT_LE(room.survivors[l].count, kMaxRanked);
          survivors += room.survivors[l].count;
          ranked += room.ranked[l].count;
        }
        EXPECT_EQ(room.survivor_entries, static_cast<size_t>(survivors));
        EXPECT_EQ(room.ranked_entries, static_cast<size_t>(ranked));
        EXPECT_LE(room.list_bytes(), FrameRoom::Largest((*plan)->pipeline()).list_bytes());
      }
    }
  }
}

TEST(PlanTest, RoomFollowsTheWantedNumberOfFeatures) {
  const auto plan = MakePlan({640, 480, {}}, 1024 * kMiB);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const FrameRoom usual = RoomFor(**plan, 500);
  EXPECT_EQ(usual.rows, 640);
  EXPECT_EQ(usual.state_rows, 512);
  EXPECT_LT(usual.list_bytes(), size_t{256} << 10);
  EXPECT_GT(RoomFor(**plan, 5000).list_bytes(), usual.list_bytes());
  EXPECT_EQ(RoomFor(**plan, kMaxFeatures).rows, 32768);
  EXPECT_EQ(FrameRoom::ForGiven(20'000).rows, 32768);

  PlanSpec spec = {640, 480, {}};
  spec.pipeline.select.capacity = 77;
  const auto small = MakePlan(spec, 1024 * kMiB);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(RoomFor(**small, 500).rows, 77);
}

TEST(PlanTest, ItsSizeCountsItsTables) {
  const auto small = MakePlan({640, 480, {}}, 1024 * kMiB);
  const auto large = MakePlan({1920, 1080, {}}, 1024 * kMiB);
  ASSERT_TRUE(small.ok() && large.ok());
  // At least the taps of the columns and rows of seven levels.
  EXPECT_GT((*small)->size_bytes(), size_t{4} * 7 * 480);
  EXPECT_GT((*large)->size_bytes(), (*small)->size_bytes());
  const size_t before = (*small)->size_bytes();
  (*small)->graph_meter()->AddNodes(10);
  EXPECT_EQ((*small)->size_bytes(),
            before + static_cast<size_t>(
                         10 * (GraphMeter::kDeviceBytesPerNode + GraphMeter::kHostBytesPerNode)));
}

}  // namespace
}  // namespace orbserve::gpu
