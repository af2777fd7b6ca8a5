// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_GPU_BACKEND_PAIR_TEST_H_
#define ORBSERVE_TESTS_GPU_BACKEND_PAIR_TEST_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/cpu_backend.h"
#include "gpu/gpu_backend.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_makers.h"
#include "tests/support/reference_answers.h"

namespace orbserve::gpu {

// Both backends. Skips where no device answers, unless one is expected.
class BackendPairTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GpuBackendOptions options;
    options.deadline_ms = 600'000;  // the most allowed: compute-sanitizer is slow
    auto gpu = CreateGpuBackend(options);
    if (!gpu.ok()) {
      const char* const expected = std::getenv("ORBSERVE_EXPECT_GPU");
      if (expected != nullptr && std::strcmp(expected, "0") != 0) FAIL() << gpu.status();
      GTEST_SKIP() << gpu.status();
    }
    gpu_ = *std::move(gpu);
    cpu_ = *cpu::CreateCpuBackend({});
  }

  // The answers of both backends to one batch are equal; returns the number of features.
  size_t ExpectSame(const PlanSpec& spec, const std::vector<testing::FrameInput>& inputs) {
    std::vector<FrameBatchAnswer> answers;
    for (FeatureBackend* const backend : {cpu_.get(), gpu_.get()}) {
      auto plan = backend->MakePlan(spec);
      if (!plan.ok()) {
        ADD_FAILURE() << plan.status();
        return 0;
      }
      std::vector<FrameJob> jobs;
      for (const testing::FrameInput& input : inputs)
        jobs.push_back(*testing::MakeJob(*backend, input));
      answers.push_back(testing::RunBatch(*backend, *plan, std::move(jobs)));
    }
    size_t features = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const FrameAnswer& want = answers[0].frames[i];
      const FrameAnswer& got = answers[1].frames[i];
      EXPECT_EQ(want.status, got.status) << "frame " << i;
      if (!want.status.ok() || !got.status.ok()) continue;
      EXPECT_EQ(testing::FirstDifference(*want.features, *got.features), "") << "frame " << i;
      EXPECT_EQ(want.features->truncated, got.features->truncated) << "frame " << i;
      EXPECT_EQ(want.features->suppression_passes, got.features->suppression_passes)
          << "frame " << i;
      EXPECT_EQ(want.features->source_index, got.features->source_index) << "frame " << i;
      EXPECT_EQ(want.features->descriptor_kind(), got.features->descriptor_kind());
      features += want.features->count();
    }
    return features;
  }

  // Answers of the device have their published values. Skips the test where no image is found.
  void ExpectPublishedValues(const std::vector<testing::ReferenceAnswer>& answers) {
    int compared = 0;
    for (size_t i = 0; i < 4; ++i) {
      const std::optional<testing::TestImage> upright =
          testing::ReadReferenceImage(testing::kReferenceImages[i], ORBSERVE_TEST_DATA_DIR);
      if (!upright.has_value()) continue;
      const testing::TestImage transposed = testing::TransposedImage(*upright);
      const testing::TestImage mask =
          testing::ReferenceMaskImage(upright->width_px(), upright->height_px());
      for (const testing::ReferenceAnswer& answer : answers) {
        if (answer.values[i] == nullptr) continue;
        const testing::TestImage& image = answer.is_transposed ? transposed : *upright;
        const auto features = testing::RunFrame(*gpu_, answer.pipeline,
                                                {.image = image.view(),
                                                 .mask = answer.masked ? mask.view() : ImageView{},
                                                 .parameters = answer.parameters});
        ASSERT_TRUE(features.ok()) << features.status();
        EXPECT_EQ(testing::ValueOf(**features, answer.pipeline.pyramid.scale_factor,
                                   answer.has_descriptor_column),
                  answer.values[i])
            << answer.name << " on " << testing::NameOf(testing::kReferenceImages[i]);
        ++compared;
      }
    }
    if (compared == 0)
      GTEST_SKIP() << "no reference image below \"" << ORBSERVE_TEST_DATA_DIR << "\"";
    printf("%d answers compared\n", compared);
  }

  std::unique_ptr<FeatureBackend> gpu_;
  std::unique_ptr<FeatureBackend> cpu_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_TESTS_GPU_BACKEND_PAIR_TEST_H_
