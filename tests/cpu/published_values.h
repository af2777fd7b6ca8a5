// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_CPU_PUBLISHED_VALUES_H_
#define ORBSERVE_TESTS_CPU_PUBLISHED_VALUES_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/method_images.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {

// Expects every variant of the CPU backend to give the published `answers` on the reference images
// below `folder`. Skips the test where none of them is there.
inline void ExpectPublishedValues(const std::vector<testing::ReferenceAnswer>& answers,
                                  const char* folder) {
  const auto backends = AllBackends();
  int compared = 0;
  for (size_t i = 0; i < 4; ++i) {
    const std::optional<testing::TestImage> upright =
        testing::ReadReferenceImage(testing::kReferenceImages[i], folder);
    if (!upright.has_value()) continue;
    const testing::TestImage transposed = testing::TransposedImage(*upright);
    for (const testing::ReferenceAnswer& answer : answers) {
      if (answer.values[i] == nullptr) continue;
      const testing::TestImage& image = answer.is_transposed ? transposed : *upright;
      const testing::TestImage mask =
          testing::ReferenceMaskImage(image.width_px(), image.height_px());
      for (const auto& backend : backends) {
        const auto features = testing::RunFrame(*backend, answer.pipeline,
                                                {.image = image.view(),
                                                 .mask = answer.masked ? mask.view() : ImageView{},
                                                 .parameters = answer.parameters});
        ASSERT_TRUE(features.ok()) << features.status();
        EXPECT_EQ(testing::ValueOf(**features, answer.pipeline.pyramid.scale_factor,
                                   answer.has_descriptor_column),
                  answer.values[i])
            << answer.name << " on " << testing::NameOf(testing::kReferenceImages[i]) << ", "
            << backend->name() << " " << backend->devices()[0].details;
        ++compared;
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "no reference image below \"" << folder << "\"";
  printf("%d answers compared\n", compared);
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_PUBLISHED_VALUES_H_
