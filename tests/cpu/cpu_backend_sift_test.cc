// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `sift` on the CPU backend: equal answers of all variants, what it refuses, its memory,
// matches of its features. tests/cpu/sift_parity.cc compares it with cv::SIFT.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/feature_compare.h"
#include "tests/support/match_oracle.h"
#include "tests/support/reference_lines.h"
#include "tests/support/sift_records.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::FrameInput;
using ::orbserve::testing::MakeJob;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::RunBatch;
using ::orbserve::testing::RunFrame;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::HasSubstr;

const Preset& Sift() { return **FindPreset("sift"); }

TEST(CpuSiftTest, AllVariantsGiveTheBitsOfThePlainLoops) {
  std::vector<PipelineOptions> pipelines(4, Sift().pipeline);
  pipelines[1].sift = {2, 0.01, 20.0, 1.2, 0};
  pipelines[2].sift.octave_layers = 5;
  pipelines[3].describe.descriptor = Descriptor::kNone;
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto backends = AllBackends();
  for (const PipelineOptions& pipeline : pipelines) {
    for (const TestImage& image :
         {SceneImage(233, 180, 61), NoiseImage(97, 130, 62), TestImage(40, 40), TestImage(1, 1)}) {
      const auto expected = Compute(*reference, image, pipeline, Sift().frame);
      EXPECT_EQ(expected->layer.size(), expected->count());
      for (const auto& backend : backends) {
        const auto actual = Compute(*backend, image, pipeline, Sift().frame);
        EXPECT_EQ(FirstDifference(*expected, *actual), "") << backend->devices()[0].details;
      }
    }
  }
}

// Rows of cv::SIFT 4.6.0 with its code for AVX2, as the checksum of x, y, size, angle, response,
// KeyPoint::octave and descriptor.
TEST(CpuSiftTest, GivesTheRowsOfOpenCv) {
  struct Row {
    TestImage image;
    int max_features;
    SiftOptions sift;
    size_t count;
    uint32_t crc;
  };
  const TestImage scene = SceneImage(401, 300, 81);
  const TestImage noise = NoiseImage(230, 171, 82);
  const Row rows[] = {
      {scene, kMaxFeatures, {}, 200, 0x2bb95072},
      {scene, 50, {}, 50, 0x32fb8bcd},
      {scene, kMaxFeatures, {5, 0.02, 6.0, 1.2}, 659, 0xaa969a20},
      {scene, kMaxFeatures, {1, 0.01, 20.0, 2.5}, 285, 0x0e4a91d5},
      {noise, kMaxFeatures, {}, 165, 0x80ed484c},
      {noise, 50, {}, 50, 0x0ece8654},
      {noise, kMaxFeatures, {5, 0.02, 6.0, 1.2}, 920, 0x2b1917f5},
      {noise, kMaxFeatures, {1, 0.01, 20.0, 2.5}, 39, 0xfeb1d489},
  };
  const auto backends = AllBackends();
  for (const Row& row : rows) {
    PipelineOptions pipeline = Sift().pipeline;
    pipeline.sift = row.sift;
    for (const auto& backend : backends) {
      SCOPED_TRACE(std::string(backend->devices()[0].details));
      const auto features =
          Compute(*backend, row.image, pipeline, {.max_features = row.max_features});
      EXPECT_EQ(features->count(), row.count);
      EXPECT_EQ(testing::Crc32(testing::SiftRecordsOf(*features)), row.crc);
    }
  }
}

// In double precision, which an exact half of a byte would show.
TEST(CpuSiftTest, RootSiftIsTheRootOfTheSharesOfItsBytes) {
  const auto backend = Backend();
  const TestImage image = NoiseImage(320, 240, 66);
  const auto descriptors = [&](Descriptor descriptor) {
    PipelineOptions pipeline = Sift().pipeline;
    pipeline.describe.descriptor = descriptor;
    const auto features = Compute(*backend, image, pipeline, Sift().frame);
    EXPECT_EQ(features->descriptor_kind(), descriptor);
    return features->descriptors;
  };
  const std::vector<uint8_t> plain = descriptors(Descriptor::kSift);
  const std::vector<uint8_t> root = descriptors(Descriptor::kRootSift);
  const std::vector<uint8_t> l1_root = descriptors(Descriptor::kL1RootSift);
  ASSERT_EQ(plain.size(), root.size());
  ASSERT_EQ(plain.size(), l1_root.size());
  for (size_t row = 0; row < plain.size(); row += 128) {
    const double sum = std::accumulate(plain.begin() + static_cast<ptrdiff_t>(row),
                                       plain.begin() + static_cast<ptrdiff_t>(row + 128), 0.0);
    for (size_t i = row; i < row + 128; ++i) {
      const double value = 512 * std::sqrt(plain[i] / sum);
      EXPECT_NEAR(root[i], std::min(value, 255.0), 0.5001) << i;
      // The entry may be half a byte larger or smaller, and the sum a few bytes.
      const double low = 512 * std::sqrt(std::max(plain[i] - 0.5, 0.0) / sum);
      const double high = 512 * std::sqrt((plain[i] + 0.5) / sum);
      EXPECT_GE(l1_root[i], std::min(std::floor(0.99 * low), 255.0)) << i;
      EXPECT_LE(l1_root[i], std::min(std::ceil(1.01 * high), 255.0)) << i;
    }
  }
  EXPECT_NE(root, l1_root);
}

TEST(CpuSiftTest, RowsAreInTheOrderOfPlacesWithOctavesFromTheDoubledImage) {
  const auto backend = Backend();
  const auto features = Compute(*backend, NoiseImage(320, 240, 63), Sift().pipeline, Sift().frame);
  ASSERT_GT(features->count(), 100u);
  EXPECT_EQ(features->descriptor_type, Descriptor::kSift);
  EXPECT_EQ(features->descriptor_bytes, 128);
  EXPECT_FALSE(features->truncated);
  int doubled = 0;
  for (size_t i = 0; i < features->count(); ++i) {
    EXPECT_LE(features->x[i > 0 ? i - 1 : 0], features->x[i]);
    EXPECT_GE(features->octave[i], -1);
    EXPECT_GE(features->layer[i], 1);
    EXPECT_LE(features->layer[i], 3);
    doubled += features->octave[i] == -1 ? 1 : 0;
  }
  EXPECT_GT(doubled, 0);
}

TEST(CpuSiftTest, PlacesInTheDoubledImageAreAQuarterPixelTooFarAsInOpenCv) {
  TestImage image(96, 96);
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 96; ++x) {
      const double squares = (x - 40) * (x - 40) + (y - 52) * (y - 52);
      image.At(x, y) =
          static_cast<uint8_t>(std::lround(50 + 180 * std::exp(-squares / (2 * 4 * 4))));
    }
  }
  const auto backend = Backend();
  for (const int first_octave : {-1, 0}) {
    PipelineOptions pipeline = Sift().pipeline;
    pipeline.sift.first_octave = first_octave;
    const auto features = Compute(*backend, image, pipeline, Sift().frame);
    ASSERT_GT(features->count(), 0u);
    const double shift = first_octave == -1 ? 0.25 : 0.0;
    for (size_t i = 0; i < features->count(); ++i) {
      EXPECT_NEAR(features->x[i], 40 + shift, 0.05) << first_octave;
      EXPECT_NEAR(features->y[i], 52 + shift, 0.05) << first_octave;
    }
  }
}

TEST(CpuSiftTest, ManyFramesAtOnceAreAnsweredAsEachAlone) {
  const auto backend = Backend({.threads = 3});
  const auto plan = *backend->MakePlan({160, 120, Sift().pipeline});
  std::vector<FrameJob> jobs;
  std::vector<std::shared_ptr<const Features>> expected;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    const TestImage image = SceneImage(160, 120, seed);
    const FrameInput input = {.image = image.view(), .parameters = Sift().frame};
    expected.push_back(*RunFrame(*backend, Sift().pipeline, input));
    jobs.push_back(*MakeJob(*backend, input));
  }
  const auto answer = RunBatch(*backend, plan, std::move(jobs));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(answer.frames[i].status.ok()) << answer.frames[i].status;
    EXPECT_EQ(FirstDifference(*expected[i], *answer.frames[i].features), "") << i;
  }
  EXPECT_FALSE(answer.frames[0].stages.empty());
}

TEST(CpuSiftTest, RefusesMasksAndGivenKeypoints) {
  const auto backend = Backend();
  const TestImage image = SceneImage(320, 240, 5);
  const TestImage mask = testing::RandomMask(320, 240, 5);
  const auto run = [&](FrameInput input) {
    input.image = image.view();
    return RunFrame(*backend, Sift().pipeline, input).status();
  };
  EXPECT_THAT(run({.mask = mask.view()}).message(),
              HasSubstr("detect.detector is SIFT and the frame has a mask"));
  EXPECT_THAT(run({.given_keypoints = std::make_shared<GivenKeypoints>()}).message(),
              HasSubstr("detect.detector is SIFT and keypoints are given"));
}

TEST(CpuSiftTest, RefusesFramesWhoseWorkspaceIsTooLargeWithTheBytes) {
  const auto backend = Backend({.threads = 1, .workspace_budget_bytes = 16 << 20});
  EXPECT_TRUE(backend->MakePlan({320, 240, Sift().pipeline}).ok());
  const absl::Status status = backend->MakePlan({640, 480, Sift().pipeline}).status();
  EXPECT_EQ(ReasonOf(status), ErrorReason::kTooLarge);
  // The doubled image with four images for each of three layers and three more: 28 floats a pixel.
  const auto bytes_with = [](int threads) {
    const auto plan = *Backend({.threads = threads})->MakePlan({640, 480, Sift().pipeline});
    return plan->frame_bytes(false);
  };
  const size_t bytes = bytes_with(1);
  EXPECT_GT(bytes, size_t{112 * 640 * 480});
  EXPECT_LT(bytes, size_t{120 * 640 * 480});
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(bytes)));
  // Threads make an octave while features of the one before are found: three floats more.
  EXPECT_GT(bytes_with(2), bytes + size_t{12 * 640 * 480});
  EXPECT_LT(bytes_with(2), bytes + size_t{14 * 640 * 480});
}

TEST(CpuSiftTest, PlansCountTheListsThatGrow) {
  const auto backend = Backend({.threads = 1});
  const auto plan = *backend->MakePlan({200, 200, Sift().pipeline});
  const size_t empty = plan->size_bytes();
  const TestImage image = NoiseImage(200, 200, 7);
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(*backend, {.image = image.view(), .parameters = Sift().frame}));
  const auto answer = RunBatch(*backend, plan, std::move(jobs));
  ASSERT_TRUE(answer.frames[0].status.ok());
  EXPECT_GT(plan->size_bytes(),
            empty + plan->frame_bytes(false) + answer.frames[0].features->count() * size_t{128});
}

TEST(CpuSiftTest, FramesThatAreCancelledAreNotAnswered) {
  const auto backend = Backend({.threads = 1});
  const auto plan = *backend->MakePlan({640, 480, Sift().pipeline});
  const TestImage image = NoiseImage(640, 480, 9);
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(*backend, {.image = image.view(), .parameters = Sift().frame}));
  jobs[0].cancelled = std::make_shared<std::atomic<bool>>(true);
  const auto answer = RunBatch(*backend, plan, std::move(jobs));
  EXPECT_EQ(ReasonOf(answer.frames[0].status), ErrorReason::kCancelled);
}

TEST(CpuSiftTest, ItsStatesAreMatchedByTheEuclideanDistance) {
  const auto backend = Backend();
  const auto plan = *backend->MakePlan({240, 200, Sift().pipeline});
  const TestImage images[] = {SceneImage(240, 200, 64), SceneImage(240, 200, 65)};
  std::vector<FrameJob> jobs;
  for (const TestImage& image : images) {
    jobs.push_back(*MakeJob(*backend, {.image = image.view(), .parameters = Sift().frame}));
    jobs.back().keep_state = KeepState::kFeatures;
  }
  const auto answer = RunBatch(*backend, plan, std::move(jobs));
  ASSERT_TRUE(answer.frames[0].status.ok() && answer.frames[1].status.ok());
  MatchOptions options;
  options.ratio = 0.8f;
  options.cross_check = true;
  const auto matches =
      testing::RunMatches(*backend, {{answer.frames[0].state, answer.frames[1].state, options}});
  ASSERT_TRUE(matches.pairs[0].status.ok()) << matches.pairs[0].status;
  const Features& query = *answer.frames[0].features;
  const Features& train = *answer.frames[1].features;
  const Matches expected = testing::OracleMatch(query, train, options, {});
  const Matches& actual = matches.pairs[0].matches;
  EXPECT_GT(expected.count(), 0u);
  EXPECT_EQ(actual.query_index, expected.query_index);
  EXPECT_EQ(actual.train_index, expected.train_index);
  EXPECT_EQ(actual.distance, expected.distance);
}

}  // namespace
}  // namespace orbserve::cpu
