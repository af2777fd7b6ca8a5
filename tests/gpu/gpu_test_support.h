// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the GPU share this: both backends, frames to give them, and comparison bit by bit.

#ifndef ORBSERVE_TESTS_GPU_GPU_TEST_SUPPORT_H_
#define ORBSERVE_TESTS_GPU_GPU_TEST_SUPPORT_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "features/backend.h"
#include "gpu/gpu_backend.h"
#include "gtest/gtest.h"

namespace orbserve::gpu {

// A grey image that owns its pixels.
struct TestImage {
  std::string name;
  int width_px = 0;
  int height_px = 0;
  std::vector<uint8_t> pixels;  // rows without gaps
};

// The PGM files of the folder that ORBSERVE_TEST_IMAGES names, sorted by name; none without it.
std::vector<TestImage> ImagesOfEnvironment();

// Kinds of content that reach different branches.
enum class Content { kNoise, kSoftNoise, kTies, kFlat, kDots, kChecker, kShapes };
inline constexpr int kContents = 7;
TestImage MakeImage(Content content, int width_px, int height_px, std::mt19937* random);

// The part of `image` that begins at (x, y).
TestImage Crop(const TestImage& image, int x, int y, int width_px, int height_px);

// An integer that an environment variable holds, else `otherwise`.
int EnvironmentNumber(const char* name, int otherwise);

// One frame for both backends.
struct TestFrame {
  TestImage image;
  TestImage mask;  // empty: none
  FrameParameters parameters;
  std::shared_ptr<const GivenKeypoints> given;
  KeepState keep_state = KeepState::kNone;
};

// True if ORBSERVE_EXPECT_GPU is set, and not to 0: a test that cannot run fails then.
bool GpuIsExpected();

// The backends under test, or a skip; a failure where a GPU is expected.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;

  // Leases slots, writes the frames, submits them as one batch; the answer in `out` when the
  // returned function is called.
  static FrameBatchAnswer Compute(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                                  const std::vector<TestFrame>& frames) {
    return ComputeIn(backend, backend, plan, frames);
  }
  // With slots of the backend `slots`.
  static FrameBatchAnswer ComputeIn(FeatureBackend& slots, FeatureBackend& backend,
                                    const std::shared_ptr<FeaturePlan>& plan,
                                    const std::vector<TestFrame>& frames);

  static std::unique_ptr<FeatureBackend> MakeGpu(const GpuBackendOptions& options);

  std::unique_ptr<FeatureBackend> gpu_;
  std::unique_ptr<FeatureBackend> cpu_;
};

// Everything of an answer, bit by bit; names the first difference.
::testing::AssertionResult SameFeatures(const Features& expected, const Features& actual);
::testing::AssertionResult SameMatches(const Matches& expected, const Matches& actual);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_TESTS_GPU_GPU_TEST_SUPPORT_H_
