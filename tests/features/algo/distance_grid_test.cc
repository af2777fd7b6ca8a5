// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/distance_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "features/pipeline/capacity.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/order_map.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::DistanceRulesOf;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NamedImage;
using ::orbserve::testing::OrderMap;
using ::orbserve::testing::RandomOrderMap;
using ::orbserve::testing::SnakeOrderMap;

struct Result {
  std::vector<uint64_t> keys;
  int passes = 0;

  bool operator==(const Result&) const = default;
};

Result ByPick(const OrderMap& map, const DistanceRule& rule, int max_passes) {
  const testing::Pick pick = testing::PickOf(map, rule, max_passes);
  return {pick.keys, pick.most_passes};
}

// Data of the passes over one level, which all lanes share.
struct Cells {
  Cells(const OrderMap& of_map, const DistanceRule& rule)
      : map(of_map),
        grid(DistanceGrid::Of(rule, 0, 0, map.width, map.height)),
        best(static_cast<size_t>(grid.count())),
        inside(static_cast<size_t>(grid.count())) {
    for (int i = 0; i < grid.count(); ++i) active.push_back(i);
  }

  PixelPlaces pixels() { return {map.orders.data(), map.width, 0}; }
  BlockPlaces blocks() { return {pixels(), 0, 0, map.width, map.height}; }

  OrderMap map;
  const DistanceGrid grid;
  std::vector<uint64_t> best;
  std::vector<uint32_t> inside;
  std::vector<int> active;
  Result result;
};

// Passes of one group of lanes, in the steps of a kernel. Cells come in a random order.
template <typename Lanes, typename Places>
void RunPasses(Cells* data, const Places& places, int max_passes, const Lanes& lanes) {
  const DistanceGrid& grid = data->grid;
  std::mt19937 random(5);
  const bool leads = lanes.lane() == 0;
  for (int i = 0; i < grid.count(); ++i) {
    const uint64_t best = BestOfCell(grid, places, i % grid.columns, i / grid.columns, lanes);
    if (leads) data->best[static_cast<size_t>(i)] = best;
  }
  lanes.Sync();
  for (int pass = 1; max_passes == 0 || pass <= max_passes; ++pass) {
    if (leads) {
      std::erase_if(data->active,
                    [&](int i) { return data->best[static_cast<size_t>(i)] == kNoCandidate; });
      std::shuffle(data->active.begin(), data->active.end(), random);
    }
    lanes.Sync();
    if (data->active.empty()) break;
    if (leads) data->result.passes = pass;
    for (const int i : data->active) {
      const uint64_t own = data->best[static_cast<size_t>(i)];
      const bool becomes_inside = BestBecomesInside(grid, places, data->best.data(), own, lanes);
      if (!leads || !becomes_inside) continue;
      data->inside[static_cast<size_t>(i)] = InsideEntryOf(grid, own, pass);
      data->result.keys.push_back(own);
    }
    lanes.Sync();
    for (const int i : data->active) {
      const uint64_t best =
          RemoveConflicts(grid, places, data->inside.data(), i % grid.columns, i / grid.columns,
                          data->best[static_cast<size_t>(i)], pass, lanes);
      lanes.Sync();
      if (leads) data->best[static_cast<size_t>(i)] = best;
    }
    lanes.Sync();
  }
}

template <typename Lanes>
void RunPasses(Cells* data, int max_passes, const Lanes& lanes) {
  if (data->grid.rule.pixels_per_place == 2) {
    RunPasses(data, data->blocks(), max_passes, lanes);
  } else {
    RunPasses(data, data->pixels(), max_passes, lanes);
  }
}

Result ByCells(const OrderMap& map, const DistanceRule& rule, int max_passes) {
  Cells data(map, rule);
  RunPasses(&data, max_passes, OneLane());
  std::sort(data.result.keys.begin(), data.result.keys.end());
  return data.result;
}

// Threads that wait sleep. Those of std::barrier spin, and get nowhere beside busy programs on few
// processors.
class SleepingBarrier {
 public:
  explicit SleepingBarrier(int threads) : threads_(threads) {}

  void ArriveAndWait() {
    std::unique_lock lock(mutex_);
    const int round = arrived_++ / threads_;
    if (arrived_ / threads_ > round) all_came_.notify_all();
    all_came_.wait(lock, [&] { return arrived_ / threads_ > round; });
  }

 private:
  const int threads_;
  std::mutex mutex_;
  std::condition_variable all_came_;
  int arrived_ = 0;
};

// Lanes that are threads, which exchange values as those of a warp do.
template <int kCount>
class ThreadLanes {
 public:
  static constexpr int kLanes = kCount;
  struct Shared {
    SleepingBarrier barrier{kCount};
    std::array<uint64_t, kCount> values{};
  };

  ThreadLanes(Shared* shared, int lane) : shared_(shared), lane_(lane) {}

  int lane() const { return lane_; }
  bool Any(bool value) const { return Ballot(value) != 0; }
  uint32_t Or(uint32_t value) const {
    uint32_t all = 0;
    for (const uint64_t one : Exchange(value)) all |= static_cast<uint32_t>(one);
    return all;
  }
  uint64_t Least(uint64_t value) const {
    const std::array<uint64_t, kCount> values = Exchange(value);
    return *std::min_element(values.begin(), values.end());
  }
  uint32_t Ballot(bool value) const {
    const std::array<uint64_t, kCount> values = Exchange(value ? 1 : 0);
    uint32_t bits = 0;
    for (size_t i = 0; i < values.size(); ++i) bits |= static_cast<uint32_t>(values[i]) << i;
    return bits;
  }
  uint32_t Broadcast(uint32_t value, int lane) const {
    return static_cast<uint32_t>(Exchange(value)[static_cast<size_t>(lane)]);
  }
  void Sync() const { shared_->barrier.ArriveAndWait(); }
  template <typename T>
  T Load(const T* from) const {
    return *from;
  }

 private:
  std::array<uint64_t, kCount> Exchange(uint64_t value) const {
    shared_->values[static_cast<size_t>(lane_)] = value;
    Sync();
    const std::array<uint64_t, kCount> values = shared_->values;
    Sync();
    return values;
  }

  Shared* const shared_;
  const int lane_;
};

template <int kCount>
Result ByLanes(const OrderMap& map, const DistanceRule& rule, int max_passes) {
  Cells data(map, rule);
  typename ThreadLanes<kCount>::Shared shared;
  std::vector<std::thread> threads;
  for (int lane = 0; lane < kCount; ++lane) {
    threads.emplace_back(
        [&, lane] { RunPasses(&data, max_passes, ThreadLanes<kCount>(&shared, lane)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(data.result.keys.begin(), data.result.keys.end());
  return data.result;
}

TEST(DistanceGridTest, CellsCoverTheRegionAndAreNoMoreThanTheListsHaveRoomFor) {
  for (const int d : {1, 2, 3, 7, 64}) {
    for (const int border : {4, 5, 31}) {
      for (const DistanceRule& rule : DistanceRulesOf(d)) {
        const Region region = {border, border, 333 - border, 200 - border};
        const DistanceGrid grid =
            DistanceGrid::Of(rule, region.x_begin, region.y_begin, region.x_end, region.y_end);
        const PlaceRectangle first = CellAt(grid, 0, 0);
        const PlaceRectangle last = CellAt(grid, grid.columns - 1, grid.rows - 1);
        EXPECT_EQ(first.u, region.x_begin / rule.pixels_per_place);
        EXPECT_EQ(first.v, region.y_begin / rule.pixels_per_place);
        EXPECT_EQ(last.u + last.width - 1, (region.x_end - 1) / rule.pixels_per_place);
        EXPECT_EQ(last.v + last.height - 1, (region.y_end - 1) / rule.pixels_per_place);
        EXPECT_GT(last.width, 0);
        EXPECT_GT(last.height, 0);
        if (rule.pixels_per_place == 2) continue;
        PipelineOptions options;
        options.suppress.suppression = Suppression::kMinimumDistance;
        options.suppress.minimum_distance_px = d;
        if (rule.below_squared > 0) options.suppress.distance_shape = DistanceShape::kDisc;
        EXPECT_EQ(grid.count(), MaxCorners(options, region));
      }
    }
  }
  EXPECT_EQ(DistanceGrid::Of(DistanceRulesOf(5)[0], 10, 10, 10, 30).count(), 0);
}

TEST(DistanceGridTest, EntriesHoldPlaceAndPass) {
  for (const int pass : {1, 2, 1000, 1048574, 1048575, 1048576, 40'000'000}) {
    for (const int place : {0, 1, 4095}) {
      const uint32_t entry = InsideEntry(pass, place);
      EXPECT_NE(entry, 0u);
      EXPECT_EQ(InsidePlace(entry), place);
      EXPECT_TRUE(IsOfPass(entry, pass));
      EXPECT_FALSE(IsOfPass(entry, pass + 1));
      EXPECT_FALSE(IsOfPass(0, pass));
    }
  }
}

TEST(DistanceGridTest, RandomMapsGiveThePicksCornersAndPasses) {
  constexpr uint32_t kSeed = 71;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 300; ++n) {
    const int width = 1 + static_cast<int>(random() % 90);
    const int height = 1 + static_cast<int>(random() % 90);
    const OrderMap map =
        RandomOrderMap(width, height, 1 + random() % 4, 1 + random() % 40, &random);
    const int d = n % 30 == 0 ? 64 : 2 + static_cast<int>(random() % 20);
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      for (const int max_passes : {0, 1, 2, 5}) {
        ASSERT_EQ(ByCells(map, rule, max_passes), ByPick(map, rule, max_passes))
            << "seed " << kSeed << " map " << n << ", " << width << " x " << height << " d " << d
            << (rule.below_squared > 0 ? " disc" : "") << " passes " << max_passes;
      }
    }
  }
}

TEST(DistanceGridTest, ManyLanesDoAsOne) {
  constexpr uint32_t kSeed = 72;
  std::mt19937 random(kSeed);
  for (const int responses : {3, 1000}) {
    const OrderMap map = RandomOrderMap(37, 29, 4, responses, &random);
    for (const int d : {3, 9}) {
      for (const DistanceRule& rule : DistanceRulesOf(d)) {
        const Result expected = ByPick(map, rule, 0);
        ASSERT_EQ(ByLanes<4>(map, rule, 0), expected) << d;
        // Sixteen lanes are sixteen threads with a barrier after each step, which takes long on few
        // cores.
        if (responses > 3 || d > 3) continue;
        ASSERT_EQ(ByLanes<16>(map, rule, 0), expected) << d;
      }
    }
  }
}

TEST(DistanceGridTest, ChainsThroughTheWholeMapEndInAsManyPassesAsThePick) {
  for (const int d : {2, 5, 8}) {
    const OrderMap map = SnakeOrderMap(120, 90, 2 * d);
    const Result expected = ByPick(map, DistanceRulesOf(d)[0], 0);
    EXPECT_GT(expected.passes, 120 / d * 4) << d;
    EXPECT_EQ(ByCells(map, DistanceRulesOf(d)[0], 0), expected);
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      EXPECT_EQ(ByCells(map, rule, 0), ByPick(map, rule, 0)) << d;
      EXPECT_EQ(ByCells(map, rule, 7), ByPick(map, rule, 7)) << d;
    }
  }
}

TEST(DistanceGridTest, EqualResponsesEverywhere) {
  OrderMap map(150, 40);
  std::fill(map.orders.begin(), map.orders.end(), OrderedBits(7.0f));
  for (const int d : {2, 5, 13}) {
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      const Result expected = ByPick(map, rule, 0);
      EXPECT_GT(expected.passes, 10) << d;
      EXPECT_EQ(ByCells(map, rule, 0), expected) << d;
    }
  }
}

TEST(DistanceGridTest, MapsOfImages) {
  for (const NamedImage& named : testing::SyntheticImages()) {
    const GreyPlane plane = testing::PlaneOf(named.image.view());
    const testing::Plane<float> responses = testing::OracleCornerMap(plane, Detector::kShiTomasi);
    float top = 0;
    for (const float value : responses.values) top = std::max(top, value);
    OrderMap map(plane.width, plane.height);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        if (responses.At(x, y) > 0.01f * top) map.At(x, y) = OrderedBits(responses.At(x, y));
      }
    }
    for (const int d : {2, 5, 11}) {
      for (const DistanceRule& rule : DistanceRulesOf(d)) {
        ASSERT_EQ(ByCells(map, rule, 0), ByPick(map, rule, 0)) << named.name << " d " << d;
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
