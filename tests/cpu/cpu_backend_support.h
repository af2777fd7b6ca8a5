// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the CPU backend share this: backends of every kind, and one frame through one of them.

#ifndef ORBSERVE_TESTS_CPU_CPU_BACKEND_SUPPORT_H_
#define ORBSERVE_TESTS_CPU_CPU_BACKEND_SUPPORT_H_

#include <memory>
#include <utility>
#include <vector>

#include "cpu/cpu_backend.h"
#include "cpu/kernels/kernel_target.h"
#include "gtest/gtest.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {

// Photographs; empty where there are none.
inline constexpr char kTestDataFolder[] = ORBSERVE_TEST_DATA_DIR;

// Null when it cannot be made, which fails the test.
inline std::unique_ptr<FeatureBackend> Backend(CpuBackendOptions options = {.threads = 2}) {
  auto backend = CreateCpuBackend(options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

// The features of one frame; none, and the test fails, when there is an error.
inline std::shared_ptr<const Features> Compute(FeatureBackend& backend,
                                               const testing::TestImage& image,
                                               const PipelineOptions& pipeline = {},
                                               const FrameParameters& parameters = {}) {
  auto features =
      testing::RunFrame(backend, pipeline, {.image = image.view(), .parameters = parameters});
  EXPECT_TRUE(features.ok()) << features.status();
  return features.ok() ? *features : std::make_shared<const Features>();
}

// All the variants whose answers must be the same.
inline std::vector<std::unique_ptr<FeatureBackend>> AllBackends() {
  std::vector<std::unique_ptr<FeatureBackend>> backends;
  backends.push_back(Backend({.threads = 1, .reference = true}));
  for (const KernelTarget& target : SimdTargets()) {
    for (const int threads : {1, 2, 7}) {
      backends.push_back(Backend({.threads = threads, .simd_target = target.name}));
    }
  }
  return backends;
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_CPU_BACKEND_SUPPORT_H_
