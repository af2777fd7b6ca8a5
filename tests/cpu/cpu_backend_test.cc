// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/cpu_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/notification.h"
#include "cpu/matcher.h"
#include "cpu/stages.h"
#include "features/errors.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::Checkerboard;
using ::orbserve::testing::DotLattice;
using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::FrameInput;
using ::orbserve::testing::MakeJob;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::RunBatch;
using ::orbserve::testing::RunFrame;
using ::orbserve::testing::RunMatches;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::HasSubstr;

std::unique_ptr<FeatureBackend> Backend(CpuBackendOptions options = {.threads = 2}) {
  auto backend = CreateCpuBackend(options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

std::shared_ptr<const Features> Compute(FeatureBackend& backend, const TestImage& image,
                                        const PipelineOptions& pipeline = {},
                                        const FrameParameters& parameters = {}) {
  auto features = RunFrame(backend, pipeline, {.image = image.view(), .parameters = parameters});
  EXPECT_TRUE(features.ok()) << features.status();
  return features.ok() ? *features : std::make_shared<const Features>();
}

PipelineOptions WithCapacity(int capacity) {
  PipelineOptions pipeline;
  pipeline.select.capacity = capacity;
  return pipeline;
}

// All the variants whose answers must be the same.
std::vector<std::unique_ptr<FeatureBackend>> AllBackends() {
  std::vector<std::unique_ptr<FeatureBackend>> backends;
  backends.push_back(Backend({.threads = 1, .reference = true}));
  for (const Stages* stages : AllSimdStages()) {
    for (const int threads : {1, 2, 7}) {
      backends.push_back(Backend({.threads = threads, .simd_target = stages->name}));
    }
  }
  return backends;
}

TEST(CpuBackendOptionsTest, RefusesWhatIsOutOfRange) {
  for (const int threads : {-1, 1025}) {
    const auto backend = CreateCpuBackend({.threads = threads});
    ASSERT_FALSE(backend.ok());
    EXPECT_EQ(backend.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(backend.status()), ErrorReason::kBadOptions);
    EXPECT_THAT(std::string(backend.status().message()), HasSubstr("threads must be in [1, 1024]"));
  }
  EXPECT_EQ(CreateCpuBackend({.simd_target = "MMX"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateCpuBackend({.input_budget_bytes = -1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CpuBackendTest, SaysWhatItIs) {
  EXPECT_EQ(Backend()->name(), "cpu");
  EXPECT_EQ(Backend({.reference = true})->name(), "cpu-reference");
  const auto backend = Backend({.threads = 3});
  ASSERT_EQ(backend->devices().size(), 1u);
  EXPECT_EQ(backend->devices()[0].device, "cpu");
  EXPECT_THAT(backend->devices()[0].details, HasSubstr("3 threads"));
  EXPECT_EQ(backend->state(), BackendState::kOk);
}

TEST(CpuPlanTest, RefusesBadSizesAndOptions) {
  const auto backend = Backend();
  for (const auto& [width, height] : {std::pair{0, 10}, {10, 0}, {-5, 10}, {40000, 10}}) {
    const auto plan = backend->MakePlan({width, height, {}});
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << width;
  }
  PlanSpec spec = {640, 480, {}};
  spec.pipeline.pyramid.levels = 17;
  EXPECT_EQ(ReasonOf(backend->MakePlan(spec).status()), ErrorReason::kBadOptions);
}

TEST(CpuBackendTest, FindsFeaturesInTheOrderPromised) {
  const auto backend = Backend();
  const auto features = Compute(*backend, SceneImage(640, 480, 1));
  ASSERT_GT(features->count(), 400u);
  EXPECT_FALSE(features->truncated);
  EXPECT_EQ(features->descriptor_bytes, 32);
  EXPECT_EQ(features->image_width_px, 640);
  EXPECT_EQ(features->image_height_px, 480);
  EXPECT_TRUE(features->source_index.empty());
  EXPECT_EQ(FirstDifference(testing::Sorted(*features), *features), "");
  for (size_t i = 0; i < features->count(); ++i) {
    EXPECT_GE(features->angle_deg[i], 0.0f);
    EXPECT_LT(features->angle_deg[i], 360.0f);
    EXPECT_EQ(features->size[i],
              31.0f * static_cast<float>(std::pow(1.2000000476837158, features->octave[i])));
  }
}

TEST(CpuBackendTest, AllVariantsAgreeOnEveryKindOfImage) {
  const std::vector<TestImage> images = {SceneImage(321, 243, 2), NoiseImage(200, 150, 3),
                                         DotLattice(300, 200, 7), Checkerboard(128, 128),
                                         SceneImage(63, 64, 4),   SceneImage(700, 70, 5)};
  const auto backends = AllBackends();
  for (size_t i = 0; i < images.size(); ++i) {
    for (const Score score : {Score::kHarris, Score::kLargestThreshold}) {
      for (const Selection selection : {Selection::kLevelQuota, Selection::kBest}) {
        for (const PyramidSource source :
             {PyramidSource::kPreviousLevel, PyramidSource::kLevelZero}) {
          PipelineOptions pipeline;
          pipeline.detect.score = score;
          pipeline.detect.fast_arc_length = 9 + static_cast<int>(i % 4);
          pipeline.select.selection = selection;
          pipeline.pyramid.source = source;
          const auto expected = Compute(*backends[0], images[i], pipeline);
          for (size_t b = 1; b < backends.size(); ++b) {
            ASSERT_EQ(FirstDifference(*expected, *Compute(*backends[b], images[i], pipeline)), "")
                << "image " << i << " on " << backends[b]->devices()[0].details;
          }
        }
      }
    }
  }
}

TEST(CpuBackendTest, AFrameIsTheSameAloneAndInAnyBatch) {
  const auto backend = Backend({.threads = 3});
  const PlanSpec spec = {240, 180, {}};
  const auto plan = backend->MakePlan(spec);
  ASSERT_TRUE(plan.ok());
  std::vector<TestImage> images;
  std::vector<TestImage> masks;
  std::vector<FrameInput> inputs;
  for (uint32_t i = 0; i < 12; ++i) {
    images.push_back(SceneImage(240, 180, 100 + i));
    masks.push_back(RandomMask(240, 180, 200 + i));
  }
  for (uint32_t i = 0; i < 12; ++i) {
    FrameInput input = {.image = images[i].view()};
    if (i % 3 == 1) input.mask = masks[i].view();
    input.parameters.max_features = 50 + 60 * static_cast<int>(i);
    input.parameters.fast_threshold_grey = 5 + static_cast<int>(i) * 3;
    inputs.push_back(input);
  }
  std::vector<std::shared_ptr<const Features>> alone;
  for (const FrameInput& input : inputs) alone.push_back(*RunFrame(*backend, {}, input));
  std::mt19937 random(20262);
  for (int round = 0; round < 10; ++round) {
    std::vector<size_t> order(inputs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<FrameJob> jobs;
    for (const size_t i : order) jobs.push_back(*MakeJob(*backend, inputs[i]));
    const FrameBatchAnswer answer = RunBatch(*backend, *plan, std::move(jobs));
    ASSERT_EQ(answer.frames.size(), inputs.size());
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_TRUE(answer.frames[i].status.ok());
      ASSERT_EQ(FirstDifference(*alone[order[i]], *answer.frames[i].features), "")
          << "round " << round << " frame " << order[i];
    }
    EXPECT_GT(answer.cost.timings.compute_ns, 0);
    EXPECT_EQ(answer.cost.device, "cpu");
    EXPECT_LE(answer.cost.busy_begin, answer.cost.busy_end);
  }
}

TEST(CpuBackendTest, TinyImagesGiveNothingAndNoError) {
  const auto backend = Backend();
  for (const int width : {1, 2, 3, 7, 31, 62, 63, 64}) {
    for (const int height : {1, 2, 5, 62, 63, 64}) {
      PipelineOptions pipeline;
      pipeline.pyramid.levels = 16;
      const auto features = Compute(*backend, NoiseImage(width, height, 5), pipeline);
      if (width < 63 || height < 63) {
        EXPECT_EQ(features->count(), 0u) << width << " x " << height;
      }
    }
  }
}

TEST(CpuBackendTest, TheSmallestImageWithAFeatureHasIt) {
  // One pixel of a 63 x 63 image keeps 31 pixels to every side.
  TestImage image(63, 63);
  image.At(31, 31) = 200;
  const auto features = Compute(*Backend(), image);
  ASSERT_EQ(features->count(), 1u);
  EXPECT_EQ(features->x[0], 31.0f);
  EXPECT_EQ(features->y[0], 31.0f);
  EXPECT_EQ(features->octave[0], 0);
  EXPECT_EQ(features->angle_deg[0], 0.0f);
  EXPECT_EQ(features->size[0], 31.0f);
}

TEST(CpuBackendTest, TiesAtTheCutAreAllKept) {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = 1;
  const auto features = Compute(*Backend(), DotLattice(200, 200, 10), pipeline,
                                {.max_features = 5, .fast_threshold_grey = 20});
  // Dots at 40, 50, ..., 160 in both directions keep the border's distance.
  EXPECT_EQ(features->count(), 13u * 13u);
  EXPECT_FALSE(features->truncated);
}

TEST(CpuBackendTest, CapacityCutsInTheOrderOfTheAnswerAndSaysSo) {
  const auto backend = Backend();
  const TestImage image = SceneImage(400, 300, 6);
  const auto all = Compute(*backend, image);
  ASSERT_GT(all->count(), 150u);
  const int exact = static_cast<int>(all->count());
  for (const int capacity : {1, 100, exact - 1, exact, exact + 1}) {
    const auto cut = Compute(*backend, image, WithCapacity(capacity));
    EXPECT_EQ(cut->truncated, capacity < exact) << capacity;
    ASSERT_EQ(cut->count(), static_cast<size_t>(std::min(capacity, exact)));
    for (size_t i = 0; i < cut->count(); ++i) {
      ASSERT_EQ(cut->x[i], all->x[i]);
      ASSERT_EQ(cut->y[i], all->y[i]);
      ASSERT_EQ(cut->octave[i], all->octave[i]);
      ASSERT_TRUE(std::equal(cut->descriptors.begin() + static_cast<ptrdiff_t>(32 * i),
                             cut->descriptors.begin() + static_cast<ptrdiff_t>(32 * (i + 1)),
                             all->descriptors.begin() + static_cast<ptrdiff_t>(32 * i)));
    }
  }
}

TEST(CpuBackendTest, BestSelectionKeepsTheLargestResponsesOfAllLevels) {
  const auto backend = Backend();
  const TestImage image = SceneImage(400, 300, 7);
  PipelineOptions pipeline;
  pipeline.select.selection = Selection::kBest;
  const auto all = Compute(*backend, image, pipeline, {.max_features = kMaxFeatures});
  const auto best = Compute(*backend, image, pipeline, {.max_features = 100});
  ASSERT_GT(all->count(), 300u);
  std::vector<float> responses = all->response;
  std::sort(responses.begin(), responses.end(), std::greater<>());
  const float last = responses[99];
  EXPECT_EQ(best->count(), static_cast<size_t>(
                               std::count_if(responses.begin(), responses.end(),
                                             [last](float response) { return response >= last; })));
  EXPECT_GE(*std::min_element(best->response.begin(), best->response.end()), last);
}

TEST(CpuBackendTest, MaskKeepsFeaturesInsideItAndQuotasCountThoseOnly) {
  const auto backend = Backend();
  const TestImage image = SceneImage(400, 300, 8);
  TestImage mask(400, 300);
  for (int y = 0; y < 300; ++y) {
    for (int x = 0; x < 200; ++x) mask.At(x, y) = 255;
  }
  const auto masked = *RunFrame(*backend, {}, {.image = image.view(), .mask = mask.view()});
  const auto whole = Compute(*backend, image);
  ASSERT_GT(masked->count(), 100u);
  size_t whole_inside = 0;
  for (size_t i = 0; i < whole->count(); ++i) whole_inside += whole->x[i] < 200.0f ? 1 : 0;
  for (size_t i = 0; i < masked->count(); ++i) EXPECT_LT(masked->x[i], 200.0f);
  EXPECT_GT(masked->count(), whole_inside);  // places that outside features would have taken
}

TEST(CpuBackendTest, PartlyTransparentMaskCountsOnLevelZeroOnly) {
  const TestImage image = SceneImage(300, 300, 9);
  TestImage mask(300, 300);
  for (int y = 0; y < 300; ++y) {
    for (int x = 0; x < 300; ++x) mask.At(x, y) = 254;
  }
  const auto features = *RunFrame(*Backend(), {}, {.image = image.view(), .mask = mask.view()});
  ASSERT_GT(features->count(), 10u);
  for (const int32_t octave : features->octave) EXPECT_EQ(octave, 0);
}

TEST(CpuBackendTest, EmptyMaskGivesNothing) {
  const TestImage image = SceneImage(300, 300, 9);
  const TestImage mask(300, 300);
  const auto features = *RunFrame(*Backend(), {}, {.image = image.view(), .mask = mask.view()});
  EXPECT_EQ(features->count(), 0u);
}

TEST(CpuBackendTest, WithoutOrientationAndDescriptorThereAreNone) {
  PipelineOptions pipeline;
  pipeline.describe.descriptor = Descriptor::kNone;
  const TestImage image = SceneImage(300, 200, 10);
  const auto backend = Backend();
  const auto angles = Compute(*backend, image, pipeline);
  pipeline.describe.orientation = Orientation::kNone;
  const auto none = Compute(*backend, image, pipeline);
  ASSERT_GT(none->count(), 50u);
  ASSERT_EQ(angles->count(), none->count());
  EXPECT_TRUE(none->descriptors.empty());
  EXPECT_EQ(none->descriptor_bytes, 0);
  for (const float angle : none->angle_deg) EXPECT_EQ(angle, -1.0f);
  for (const float angle : angles->angle_deg) EXPECT_GE(angle, 0.0f);
}

TEST(CpuBackendTest, FrameParametersOutOfRangeFailTheirFrameAlone) {
  const auto backend = Backend();
  const TestImage image = SceneImage(200, 200, 11);
  const auto plan = backend->MakePlan({200, 200, {}});
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(*backend, {.image = image.view()}));
  jobs.push_back(*MakeJob(*backend, {.image = image.view(), .parameters = {.max_features = 0}}));
  jobs.push_back(
      *MakeJob(*backend, {.image = image.view(), .parameters = {.fast_threshold_grey = 255}}));
  const FrameBatchAnswer answer = RunBatch(*backend, *plan, std::move(jobs));
  EXPECT_TRUE(answer.frames[0].status.ok());
  EXPECT_EQ(ReasonOf(answer.frames[1].status), ErrorReason::kBadOptions);
  EXPECT_EQ(ReasonOf(answer.frames[2].status), ErrorReason::kBadOptions);
  EXPECT_EQ(answer.frames[1].features, nullptr);
}

TEST(CpuBackendTest, CancelledFramesAreAnsweredAndNotComputed) {
  const auto backend = Backend();
  const TestImage image = SceneImage(200, 200, 12);
  const auto plan = backend->MakePlan({200, 200, {}});
  std::vector<FrameJob> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(*MakeJob(*backend, {.image = image.view()}));
  jobs[1].cancelled = std::make_shared<const std::atomic<bool>>(true);
  jobs[2].cancelled = std::make_shared<const std::atomic<bool>>(false);
  const FrameBatchAnswer answer = RunBatch(*backend, *plan, std::move(jobs));
  EXPECT_TRUE(answer.frames[0].status.ok());
  EXPECT_EQ(answer.frames[1].status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(answer.frames[1].features, nullptr);
  EXPECT_TRUE(answer.frames[2].status.ok());
}

TEST(CpuBackendTest, DestructionWaitsForBatchesInFlight) {
  std::atomic<int> answered = 0;
  {
    const auto backend = Backend();
    const TestImage image = SceneImage(400, 400, 13);
    const auto plan = backend->MakePlan({400, 400, {}});
    for (int i = 0; i < 20; ++i) {
      std::vector<FrameJob> jobs;
      jobs.push_back(*MakeJob(*backend, {.image = image.view()}));
      backend->Submit(*plan, std::move(jobs), [&](FrameBatchAnswer) { ++answered; });
    }
  }
  EXPECT_EQ(answered, 20);
}

TEST(CpuBackendTest, AnswersOutliveTheBackend) {
  std::shared_ptr<const Features> features;
  std::shared_ptr<InputSlot> slot;
  {
    const auto backend = Backend();
    slot = *backend->LeaseInput(100, 100, true);
    features = Compute(*backend, SceneImage(200, 200, 14));
  }
  EXPECT_GT(features->count(), 0u);
  slot->image.Row(99)[99] = 1;
}

// ---- Given keypoints ----

GivenKeypoints OneKeypoint(float x, float y, float angle_deg, int octave) {
  return {{x}, {y}, {31.0f}, {angle_deg}, {0.5f}, {octave}};
}

absl::StatusOr<std::shared_ptr<const Features>> DescribeGiven(FeatureBackend& backend,
                                                              const TestImage& image,
                                                              const GivenKeypoints& given) {
  return RunFrame(
      backend, {},
      {.image = image.view(), .given_keypoints = std::make_shared<const GivenKeypoints>(given)});
}

TEST(GivenKeypointsTest, DetectedOnesGetTheSameDescriptorsInTheCallersOrder) {
  const auto backend = Backend();
  const TestImage image = SceneImage(400, 300, 15);
  const auto detected = Compute(*backend, image);
  ASSERT_GT(detected->count(), 200u);
  std::vector<size_t> order(detected->count());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(20263);
  std::shuffle(order.begin(), order.end(), random);
  GivenKeypoints given;
  for (const size_t i : order) {
    given.x.push_back(detected->x[i]);
    given.y.push_back(detected->y[i]);
    given.size.push_back(detected->size[i]);
    given.angle_deg.push_back(detected->angle_deg[i]);
    given.response.push_back(detected->response[i]);
    given.octave.push_back(detected->octave[i]);
  }
  const auto described = *DescribeGiven(*backend, image, given);
  ASSERT_EQ(described->count(), order.size());
  for (size_t row = 0; row < order.size(); ++row) {
    EXPECT_EQ(described->source_index[row], row);
    EXPECT_EQ(described->x[row], detected->x[order[row]]);
    EXPECT_TRUE(std::equal(described->descriptors.begin() + static_cast<ptrdiff_t>(32 * row),
                           described->descriptors.begin() + static_cast<ptrdiff_t>(32 * (row + 1)),
                           detected->descriptors.begin() + static_cast<ptrdiff_t>(32 * order[row])))
        << "row " << row;
  }
}

TEST(GivenKeypointsTest, AllVariantsAgreeNearEveryBorderOfEveryLevel) {
  const TestImage image = SceneImage(231, 187, 16);
  std::mt19937 random(20264);
  GivenKeypoints given;
  for (int i = 0; i < 600; ++i) {
    given.x.push_back(static_cast<float>(random() % 2310) / 10.0f);
    given.y.push_back(static_cast<float>(random() % 1870) / 10.0f);
    given.size.push_back(1.0f);
    given.angle_deg.push_back(i % 9 == 0 ? -1.0f : static_cast<float>(random() % 36000) / 100.0f);
    given.response.push_back(static_cast<float>(i));
    given.octave.push_back(static_cast<int32_t>(random() % 8));
  }
  const auto backends = AllBackends();
  const auto expected = *DescribeGiven(*backends[0], image, given);
  EXPECT_GT(expected->count(), 200u);
  EXPECT_LT(expected->count(), 600u);
  for (size_t b = 1; b < backends.size(); ++b) {
    EXPECT_EQ(FirstDifference(*expected, **DescribeGiven(*backends[b], image, given)), "")
        << backends[b]->devices()[0].details;
  }
}

TEST(GivenKeypointsTest, ThoseWithinTheBorderAreLeftOut) {
  const auto backend = Backend();
  const TestImage image = SceneImage(100, 100, 17);
  const float kNaN = std::numeric_limits<float>::quiet_NaN();
  const float kInfinity = std::numeric_limits<float>::infinity();
  // 30.5 rounds to 30, 30.6 and 31 are inside; the last column inside is 68.
  const GivenKeypoints given = {{30.5f, 30.6f, 68.4f, 68.6f, kNaN, 50, kInfinity, -1e30f},
                                {50, 50, 50, 50, 50, kNaN, 50, 50},
                                {1, 1, 1, 1, 1, 1, 1, 1},
                                {0, 0, 0, 0, 0, 0, 0, 0},
                                {1, 2, 3, 4, 5, 6, 7, 8},
                                {0, 0, 0, 0, 0, 0, 0, 0}};
  const auto features = *DescribeGiven(*backend, image, given);
  EXPECT_THAT(features->source_index, ::testing::ElementsAre(1u, 2u));
  EXPECT_THAT(features->response, ::testing::ElementsAre(2.0f, 3.0f));
}

TEST(GivenKeypointsTest, MinusOneIsUsedAsMinusOneDegree) {
  const auto backend = Backend();
  const TestImage image = NoiseImage(100, 100, 18);
  const auto minus = *DescribeGiven(*backend, image, OneKeypoint(50, 50, -1.0f, 0));
  const auto turned = *DescribeGiven(*backend, image, OneKeypoint(50, 50, 359.0f, 0));
  EXPECT_EQ(minus->descriptors, turned->descriptors);
  EXPECT_EQ(minus->angle_deg[0], -1.0f);
}

TEST(GivenKeypointsTest, ALevelThatDoesNotExistIsRefused) {
  const auto backend = Backend();
  const TestImage image = SceneImage(100, 100, 19);
  for (const int octave : {-1, 8, 1000}) {
    const auto features = DescribeGiven(*backend, image, OneKeypoint(50, 50, 0, octave));
    ASSERT_FALSE(features.ok());
    EXPECT_EQ(ReasonOf(features.status()), ErrorReason::kBadOptions);
    EXPECT_THAT(std::string(features.status().message()), HasSubstr("octave of given keypoint 0"));
  }
}

TEST(GivenKeypointsTest, BadAnglesAndUnequalColumnsAreRefused) {
  const auto backend = Backend();
  const TestImage image = SceneImage(100, 100, 19);
  for (const float angle : {std::numeric_limits<float>::quiet_NaN(), 721.0f, -721.0f}) {
    EXPECT_EQ(ReasonOf(DescribeGiven(*backend, image, OneKeypoint(50, 50, angle, 0)).status()),
              ErrorReason::kBadOptions);
  }
  GivenKeypoints unequal = OneKeypoint(50, 50, 0, 0);
  unequal.size.push_back(1.0f);
  EXPECT_EQ(ReasonOf(DescribeGiven(*backend, image, unequal).status()), ErrorReason::kBadRequest);
}

TEST(GivenKeypointsTest, NoneGiveNone) {
  EXPECT_EQ((*DescribeGiven(*Backend(), SceneImage(100, 100, 19), {}))->count(), 0u);
}

// ---- States and matching ----

FrameAnswer ComputeWithState(FeatureBackend& backend, const TestImage& image) {
  const auto plan = backend.MakePlan({image.width_px(), image.height_px(), {}});
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(backend, {.image = image.view()}));
  jobs[0].keep_state = true;
  return RunBatch(backend, *plan, std::move(jobs)).frames[0];
}

TEST(CpuFrameStateTest, IsTheFeaturesThemselves) {
  const auto backend = Backend();
  const FrameAnswer answer = ComputeWithState(*backend, SceneImage(300, 200, 20));
  ASSERT_NE(answer.state, nullptr);
  EXPECT_EQ(answer.state->feature_count(), answer.features->count());
  EXPECT_EQ(answer.state->descriptor_bytes(), 32);
  EXPECT_EQ(answer.state->size_bytes(), answer.features->count() * (24 + 32));
  EXPECT_EQ(*backend->ExportState(*answer.state), answer.features);
  const auto imported = *backend->ImportState(answer.features);
  EXPECT_EQ(*backend->ExportState(*imported), answer.features);
  EXPECT_FALSE(backend->ImportState(nullptr).ok());
}

TEST(CpuFrameStateTest, LivesAsLongAsSomebodyHoldsIt) {
  const auto backend = Backend();
  std::shared_ptr<const FrameState> state =
      ComputeWithState(*backend, SceneImage(300, 200, 20)).state;
  for (uint32_t i = 0; i < 5; ++i) ComputeWithState(*backend, SceneImage(300, 200, 21 + i));
  const auto kept = *backend->ExportState(*state);
  EXPECT_EQ(FirstDifference(*Compute(*backend, SceneImage(300, 200, 20)), *kept), "");
}

TEST(CpuMatchTest, AFrameMatchesItself) {
  const auto backend = Backend();
  const FrameAnswer answer = ComputeWithState(*backend, SceneImage(400, 300, 30));
  std::vector<MatchJob> jobs(3);
  for (MatchJob& job : jobs) job = {answer.state, answer.state, {.cross_check = true}};
  const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
  ASSERT_EQ(matched.pairs.size(), 3u);
  for (const MatchAnswer& pair : matched.pairs) {
    ASSERT_TRUE(pair.status.ok());
    ASSERT_GT(pair.matches.count(), answer.features->count() * 9 / 10);
    for (const uint32_t distance : pair.matches.distance) EXPECT_EQ(distance, 0u);
  }
}

TEST(CpuMatchTest, StatesWithoutOrWithOtherDescriptorsAreRefused) {
  const auto backend = Backend();
  auto bare = std::make_shared<Features>();
  auto short_ones = std::make_shared<Features>();
  short_ones->descriptor_bytes = 4;
  auto full = std::make_shared<Features>();
  full->descriptor_bytes = 32;
  const auto bare_state = *backend->ImportState(bare);
  const auto short_state = *backend->ImportState(short_ones);
  const auto full_state = *backend->ImportState(full);
  std::vector<MatchJob> jobs = {{bare_state, bare_state, {}},
                                {full_state, short_state, {}},
                                {full_state, nullptr, {}},
                                {full_state, full_state, {.k = 0}},
                                {full_state, full_state, {}}};
  const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
  EXPECT_EQ(matched.pairs[0].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(matched.pairs[1].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(matched.pairs[2].status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(matched.pairs[3].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(matched.pairs[4].status.ok());
}

// Random descriptors: no match can be cut short.
std::shared_ptr<const Features> RandomDescriptors(size_t count, uint32_t seed) {
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = 32;
  features->Resize(count);
  std::mt19937 random(seed);
  for (uint8_t& byte : features->descriptors) byte = static_cast<uint8_t>(random());
  return features;
}

TEST(CpuMatchTest, LargeMatchesHaveTheSameAnswerBesideFrames) {
  const auto backend = Backend();
  const auto query = RandomDescriptors(3000, 1);
  const auto train = RandomDescriptors(2500, 2);
  const auto query_state = *backend->ImportState(query);
  const auto train_state = *backend->ImportState(train);
  const MatchOptions options = {.k = 1, .cross_check = true};
  const Matches expected = MatchDescriptors(SimdMatcher(), *query, *train, options);
  ASSERT_GT(expected.count(), 100u);
  const TestImage image = SceneImage(320, 240, 31);
  const auto plan = backend->MakePlan({320, 240, {}});
  const FrameBatchAnswer alone =
      RunBatch(*backend, *plan, {*MakeJob(*backend, {.image = image.view()})});
  std::atomic<bool> stop = false;
  std::jthread frames([&] {
    while (!stop) {
      const FrameBatchAnswer answer =
          RunBatch(*backend, *plan, {*MakeJob(*backend, {.image = image.view()})});
      EXPECT_EQ(FirstDifference(*answer.frames[0].features, *alone.frames[0].features), "");
    }
  });
  const absl::Cleanup end_frames = [&] { stop = true; };  // also when something fails
  for (int round = 0; round < 5; ++round) {
    std::vector<MatchJob> jobs(3);
    for (MatchJob& job : jobs) job = {query_state, train_state, options};
    const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
    for (const MatchAnswer& pair : matched.pairs) {
      ASSERT_TRUE(pair.status.ok());
      EXPECT_EQ(pair.matches.query_index, expected.query_index);
      EXPECT_EQ(pair.matches.train_index, expected.train_index);
      EXPECT_EQ(pair.matches.distance, expected.distance);
    }
  }
  stop = true;
  frames.join();
}

TEST(CpuMatchTest, ACancelledMatchStops) {
  const auto backend = Backend();
  const auto large = *backend->ImportState(RandomDescriptors(100'000, 3));
  const auto small = *backend->ImportState(RandomDescriptors(100, 4));
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  // Minutes of one processor: the test would time out.
  std::vector<MatchJob> jobs(20, {large, large, {}, flag});
  jobs.push_back({small, small, {}, std::make_shared<const std::atomic<bool>>(true)});
  jobs.push_back({small, small, {}, std::make_shared<const std::atomic<bool>>(false)});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    *flag = true;
  });
  const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
  canceller.join();
  for (size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(ReasonOf(matched.pairs[i].status), ErrorReason::kCancelled) << i;
    EXPECT_EQ(matched.pairs[i].matches.count(), 0u);
  }
  EXPECT_TRUE(matched.pairs[21].status.ok());
  EXPECT_EQ(matched.pairs[21].matches.count(), 100u);
}

// ---- Input slots ----

TEST(InputSlotTest, RowsAreAlignedAndMaskIsThereWhenAskedFor) {
  const auto backend = Backend();
  for (const int width : {1, 63, 64, 65, 641}) {
    const auto slot = *backend->LeaseInput(width, 17, width % 2 == 1);
    EXPECT_EQ(slot->image.width_px, width);
    EXPECT_EQ(slot->image.height_px, 17);
    EXPECT_GE(slot->image.pitch_bytes, width);
    for (int y = 0; y < 17; ++y) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(slot->image.Row(y)) % kRowAlignmentBytes, 0u);
    }
    EXPECT_EQ(slot->mask.empty(), width % 2 == 0);
  }
}

TEST(InputSlotTest, BudgetBoundsWhatIsInUseAndIdleSlotsMakeRoom) {
  const auto backend = Backend({.threads = 1, .input_budget_bytes = 3'000'000});
  auto first = backend->LeaseInput(1000, 1000, false);
  auto second = backend->LeaseInput(1000, 1000, false);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = backend->LeaseInput(1000, 1000, false);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(third.status()), ErrorReason::kOutOfMemory);
  first->reset();
  EXPECT_TRUE(backend->LeaseInput(500, 500, false).ok());
  second->reset();
  EXPECT_TRUE(backend->LeaseInput(1400, 1900, false).ok());
  EXPECT_FALSE(backend->LeaseInput(0, 5, false).ok());
}

}  // namespace
}  // namespace orbserve::cpu
