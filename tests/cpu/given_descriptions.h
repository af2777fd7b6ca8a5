// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares the descriptors of given keypoints with an oracle.

#ifndef ORBSERVE_TESTS_CPU_GIVEN_DESCRIPTIONS_H_
#define ORBSERVE_TESTS_CPU_GIVEN_DESCRIPTIONS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {

// Gives every backend 800 keypoints anywhere on the two levels of `pipeline` and compares the
// descriptors with those of `describe`. A keypoint counts if it lies inside the border of level 0
// and at least `reach_px` inside its own level. `angle_of` gets the number of a keypoint and a
// random angle of two turns to either side. Returns the number of descriptors compared on each
// backend.
inline size_t ExpectGivenAreDescribed(
    const PipelineOptions& pipeline, const testing::TestImage& image, int reach_px,
    const std::function<float(int i, float any_deg)>& angle_of,
    const std::function<std::vector<uint8_t>(const testing::GreyPlane& plane, int x, int y,
                                             float angle_deg)>& describe) {
  const std::vector<testing::GreyPlane> levels =
      testing::OraclePyramid(testing::PlaneOf(image.view()), testing::OracleOptionsOf(pipeline, {}),
                             /*is_mask=*/false);
  EXPECT_EQ(levels.size(), 2u);
  auto given = std::make_shared<GivenKeypoints>();
  std::mt19937 random(83);
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  for (int i = 0; i < 800; ++i) {
    given->x.push_back(unit(random) * static_cast<float>(image.width_px()));
    given->y.push_back(unit(random) * static_cast<float>(image.height_px()));
    given->size.push_back(31.0f);
    given->angle_deg.push_back(angle_of(i, unit(random) * 1440.0f - 720.0f));
    given->response.push_back(0.0f);
    given->octave.push_back(i % 2);
  }
  const auto is_inside = [](const testing::GreyPlane& plane, int x, int y, int border) {
    return x >= border && x < plane.width - border && y >= border && y < plane.height - border;
  };
  size_t described = 0;
  for (const auto& backend : AllBackends()) {
    SCOPED_TRACE(std::string(backend->devices()[0].details));
    const auto answer =
        testing::RunFrame(*backend, pipeline, {.image = image.view(), .given_keypoints = given});
    if (!answer.ok()) {
      ADD_FAILURE() << answer.status();
      return 0;
    }
    const Features& features = **answer;
    size_t row = 0;
    int beyond_level = 0;
    for (uint32_t i = 0; i < given->count(); ++i) {
      const auto level = static_cast<size_t>(given->octave[i]);
      const float inverse = level == 0 ? 1.0f : 1.0f / pipeline.pyramid.scale_factor;
      const auto place = [](float at) { return static_cast<int>(std::nearbyint(at)); };
      if (!is_inside(levels[0], place(given->x[i]), place(given->y[i]),
                     pipeline.select.border_px)) {
        continue;
      }
      const int x = place(given->x[i] * inverse);
      const int y = place(given->y[i] * inverse);
      if (!is_inside(levels[level], x, y, reach_px)) {
        ++beyond_level;
        continue;
      }
      if (row >= features.count() || features.source_index[row] != i) {
        ADD_FAILURE() << "keypoint " << i << " is missing in row " << row;
        return 0;
      }
      EXPECT_EQ(features.angle_deg[row], given->angle_deg[i]);
      const std::vector<uint8_t> expected = describe(levels[level], x, y, given->angle_deg[i]);
      const auto bytes = static_cast<ptrdiff_t>(expected.size());
      EXPECT_EQ(features.descriptor_bytes, bytes);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                             features.descriptors.begin() + bytes * static_cast<ptrdiff_t>(row)))
          << "keypoint " << i << ", angle " << given->angle_deg[i];
      ++row;
    }
    EXPECT_EQ(features.count(), row);
    EXPECT_GT(beyond_level, 0);
    described = row;
  }
  return described;
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_GIVEN_DESCRIPTIONS_H_
