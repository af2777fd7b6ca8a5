// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// features/algo/ gives the same bits on a device as on the host.

#include "tests/features/algo/device_values.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/image_makers.h"

namespace orbserve::testing {
namespace {

AlgoData DataOf(const TestImage& image, uint32_t seed) {
  std::mt19937 random(seed);
  AlgoData data;
  data.width_px = image.width_px();
  data.height_px = image.height_px();
  const size_t width = static_cast<size_t>(data.width_px);
  const size_t height = static_cast<size_t>(data.height_px);
  data.integral.resize((width + 1) * (height + 1));
  for (size_t y = 0; y < height; ++y) {
    const uint8_t* const row = image.view().Row(static_cast<int>(y));
    data.image.insert(data.image.end(), row, row + width);
    uint32_t* const above = data.integral.data() + y * (width + 1);
    algo::IntegralRow(row, above, data.width_px, above + width + 1);
    for (size_t x = 0; x < width; ++x) {
      data.map.push_back(static_cast<float>(random() % 50));
      data.keys.push_back(algo::RankKey(data.map.back(), static_cast<int>(x), static_cast<int>(y)));
    }
  }
  const auto table = algo::MakeArcTable(10);
  data.arc_table.assign(table.begin(), table.end());
  data.arc_directions.resize(algo::kArcDirectionEntries);
  algo::FillArcDirections(data.arc_directions.data());
  return data;
}

TEST(DeviceValuesTest, EveryBitIsTheHosts) {
  if (DeviceCount() == 0) {
    const char* const expected = std::getenv("ORBSERVE_EXPECT_GPU");
    if (expected != nullptr) FAIL() << "no CUDA device answers";
    GTEST_SKIP() << "no CUDA device answers";
  }
  constexpr uint32_t kSeed = 91;
  const TestImage images[] = {NoiseImage(300, 200, kSeed), SceneImage(401, 303, kSeed),
                              DotLattice(200, 170, 9), Checkerboard(130, 120)};
  int corners = 0;
  for (const TestImage& image : images) {
    const AlgoData data = DataOf(image, kSeed);
    const AlgoInputs inputs = {
        data.image.data(),      data.integral.data(),  data.keys.data(),
        data.map.data(),        data.arc_table.data(), data.arc_directions.data(),
        algo::kRBrief32Pattern, data.width_px,         data.height_px};
    const int columns = data.width_px - 2 * kAlgoMarginPx;
    const int rows = data.height_px - 2 * kAlgoMarginPx;
    std::vector<AlgoValues> device(static_cast<size_t>(columns) * static_cast<size_t>(rows));
    ASSERT_EQ(ComputeOnDevice(data, &device), "");
    for (int i = 0; i < columns * rows; ++i) {
      const int x = kAlgoMarginPx + i % columns;
      const int y = kAlgoMarginPx + i / columns;
      const AlgoValues host = AlgoValuesAt(inputs, x, y);
      const AlgoValues& other = device[static_cast<size_t>(i)];
      corners += host.searched_threshold > 0 ? 1 : 0;
      EXPECT_EQ(host.largest_threshold, other.largest_threshold);
      EXPECT_EQ(host.searched_threshold, other.searched_threshold);
      EXPECT_EQ(host.sad_circle, other.sad_circle);
      EXPECT_EQ(host.sad_arc, other.sad_arc);
      EXPECT_EQ(host.arc_direction, other.arc_direction);
      EXPECT_EQ(host.harris, other.harris);
      EXPECT_EQ(host.harris_map, other.harris_map);
      EXPECT_EQ(host.shi_tomasi_map, other.shi_tomasi_map);
      EXPECT_EQ(host.patch_angle_deg, other.patch_angle_deg);
      EXPECT_EQ(host.rbrief32, other.rbrief32);
      EXPECT_EQ(host.flags, other.flags);
      ASSERT_EQ(std::memcmp(&host, &other, sizeof(host)), 0) << x << "," << y << " seed " << kSeed;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(corners, 1000);
}

}  // namespace
}  // namespace orbserve::testing
