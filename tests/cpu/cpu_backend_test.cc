// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/cpu_backend_support.h"
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
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PipelineOptions WithCapacity(int capacity) {
  PipelineOptions pipeline;
  pipeline.select.capacity = capacity;
  return pipeline;
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
    for (const Score score : {Score::kHarris, Score::kFast}) {
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
  EXPECT_EQ(best->count(), 100u);
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

// ---- Large frames ----

// 2048 x 1536 pixels are large for up to three threads.
constexpr int kLargeWidth = 2048;
constexpr int kLargeHeight = 1536;

TEST(CpuLargeFrameTest, AFrameIsLargeByItsTimeOnAllThreads) {
  struct Size {
    int width_px, height_px, max_threads;  // largest number of threads for which it is large
  };
  for (const Size& size : {Size{640, 480, 0}, {1280, 720, 1}, {1920, 1080, 2}, {3840, 2160, 9}}) {
    for (const int threads : {1, 2, 3, 9, 10}) {
      const auto backend = Backend({.threads = threads});
      const auto plan = *backend->MakePlan({size.width_px, size.height_px, {}});
      EXPECT_EQ(plan->is_large(), threads <= size.max_threads)
          << size.width_px << " x " << size.height_px << " on " << threads << " threads";
    }
  }
}

TEST(CpuLargeFrameTest, ASmallFrameOvertakesALargeOne) {
  const auto backend = Backend({.threads = 1});
  const auto large = *backend->MakePlan({kLargeWidth, kLargeHeight, {}});
  const auto small = *backend->MakePlan({160, 120, {}});
  ASSERT_TRUE(large->is_large());
  ASSERT_FALSE(small->is_large());
  std::atomic<int> answered = 0;
  int large_was = 0;
  int small_was = 0;
  absl::BlockingCounter both(2);
  const auto jobs_of = [&](const TestImage& image) {
    std::vector<FrameJob> jobs;
    jobs.push_back(*MakeJob(*backend, {.image = image.view()}));
    return jobs;
  };
  const auto submit = [&](const std::shared_ptr<FeaturePlan>& plan, std::vector<FrameJob> jobs,
                          int* was) {
    backend->Submit(plan, std::move(jobs), [&answered, &both, was](FrameBatchAnswer) {
      *was = ++answered;
      both.DecrementCount();
    });
  };
  // Nothing takes time between the two but the large frame.
  auto large_jobs = jobs_of(SceneImage(kLargeWidth, kLargeHeight, 31));
  auto small_jobs = jobs_of(SceneImage(160, 120, 32));
  submit(large, std::move(large_jobs), &large_was);
  submit(small, std::move(small_jobs), &small_was);
  both.Wait();
  EXPECT_EQ(small_was, 1);
  EXPECT_EQ(large_was, 2);
}

TEST(CpuLargeFrameTest, ItsAnswerIsTheSame) {
  const TestImage image = SceneImage(kLargeWidth, kLargeHeight, 33);
  std::vector<std::shared_ptr<const Features>> answers;
  for (const int threads : {1, 2, 8}) {
    const auto backend = Backend({.threads = threads});
    const auto plan = *backend->MakePlan({kLargeWidth, kLargeHeight, {}});
    EXPECT_EQ(plan->is_large(), threads <= 2);
    answers.push_back(Compute(*backend, image));
  }
  for (const auto& answer : answers) {
    EXPECT_EQ(testing::FirstDifference(*answers[0], *answer), "");
  }
}

// ---- Times of the stages ----

std::vector<std::string> StageNames(const StageTimes& times) {
  std::vector<std::string> names;
  for (const StageTime& time : times.entries()) names.push_back(time.stages.Name());
  return names;
}

TEST(CpuStageTimesTest, EveryStageOfOrbHasItsTimeInOrder) {
  for (const int threads : {1, 3}) {
    const auto backend = Backend({.threads = threads});
    const TestImage image = SceneImage(400, 300, 20);
    const auto plan = *backend->MakePlan({400, 300, {}});
    for (int round = 0; round < 5; ++round) {
      std::vector<FrameJob> jobs;
      jobs.push_back(*MakeJob(*backend, {.image = image.view()}));
      const FrameBatchAnswer answer = RunBatch(*backend, plan, std::move(jobs));
      const StageTimes& times = answer.frames[0].stages;
      EXPECT_FALSE(times.sampled);
      EXPECT_THAT(StageNames(times),
                  ElementsAre("pyramid", "detect+suppress", "select", "orient", "describe"));
      int64_t sum_ns = 0;
      for (const StageTime& time : times.entries()) {
        EXPECT_GT(time.duration_ns, 0) << time.stages.Name();
        sum_ns += time.duration_ns;
      }
      if (threads == 1) {
        EXPECT_LE(sum_ns, answer.cost.timings.compute_ns);
      }
    }
  }
}

TEST(CpuStageTimesTest, GivenKeypointsAreDescribedOnly) {
  const auto backend = Backend();
  const TestImage image = SceneImage(400, 300, 21);
  const auto found = Compute(*backend, image);
  auto given = std::make_shared<GivenKeypoints>();
  given->x = found->x;
  given->y = found->y;
  given->size = found->size;
  given->angle_deg = found->angle_deg;
  given->response = found->response;
  given->octave = found->octave;
  const auto plan = *backend->MakePlan({400, 300, {}});
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(*backend, {.image = image.view(), .given_keypoints = given}));
  const FrameBatchAnswer answer = RunBatch(*backend, plan, std::move(jobs));
  ASSERT_TRUE(answer.frames[0].status.ok());
  EXPECT_EQ(answer.frames[0].features->descriptors, found->descriptors);
  EXPECT_THAT(StageNames(answer.frames[0].stages), ElementsAre("pyramid", "describe"));
}

TEST(CpuStageTimesTest, FramesThatFailHaveNone) {
  const auto backend = Backend();
  const TestImage image = SceneImage(200, 200, 22);
  const auto plan = *backend->MakePlan({200, 200, {}});
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(*backend, {.image = image.view(), .parameters = {.max_features = 0}}));
  const FrameBatchAnswer answer = RunBatch(*backend, plan, std::move(jobs));
  EXPECT_FALSE(answer.frames[0].status.ok());
  EXPECT_TRUE(answer.frames[0].stages.empty());
}

// ---- Memory ----

int64_t BytesOf(const FeatureBackend& backend, absl::string_view kind) {
  for (const MemoryUse& use : backend.memory()) {
    if (use.kind == kind) return use.bytes;
  }
  ADD_FAILURE() << "no kind " << kind;
  return -1;
}

TEST(CpuMemoryTest, AlwaysNamesTheSameKinds) {
  const auto backend = Backend();
  std::vector<std::string> kinds;
  for (const MemoryUse& use : backend->memory()) {
    kinds.emplace_back(use.kind);
    EXPECT_EQ(use.device, "cpu");
    EXPECT_EQ(use.bytes, 0);
  }
  EXPECT_THAT(kinds, ElementsAre("plans", "states", "inputs"));
}

// Computes `frames` equal frames in one batch; the status of the first that fails.
absl::Status ComputeOn(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                       int frames = 1) {
  const TestImage image = SceneImage(plan->spec().width_px, plan->spec().height_px, 26);
  std::vector<FrameJob> jobs;
  for (int i = 0; i < frames; ++i) jobs.push_back(*MakeJob(backend, {.image = image.view()}));
  for (const FrameAnswer& answer : RunBatch(backend, plan, std::move(jobs)).frames) {
    if (!answer.status.ok()) return answer.status;
  }
  return absl::OkStatus();
}

TEST(CpuMemoryTest, IdleWorkspacesMakeRoomForThoseOfOtherPlans) {
  const auto unlimited = Backend({.threads = 1});
  const size_t small_bytes = (*unlimited->MakePlan({200, 200, {}}))->frame_bytes(false);
  const size_t large_bytes = (*unlimited->MakePlan({400, 400, {}}))->frame_bytes(false);
  const auto backend =
      Backend({.threads = 1,
               .workspace_budget_bytes = static_cast<int64_t>(large_bytes + small_bytes / 2)});
  const auto small = backend->MakePlan({200, 200, {}});
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_TRUE(ComputeOn(*backend, *small).ok());
  const auto large = backend->MakePlan({400, 400, {}});
  ASSERT_TRUE(large.ok()) << large.status();
  for (int round = 0; round < 3; ++round) {
    for (const auto& plan : {*large, *small}) {
      const absl::Status status = ComputeOn(*backend, plan);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST(CpuMemoryTest, FramesWaitForTheWorkspacesOfOthers) {
  const auto bytes = (*Backend({.threads = 4})->MakePlan({400, 400, {}}))->frame_bytes(false);
  const auto backend =
      Backend({.threads = 4, .workspace_budget_bytes = static_cast<int64_t>(bytes / 2 * 3)});
  const auto plan = backend->MakePlan({400, 400, {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::Status status = ComputeOn(*backend, *plan, (*plan)->max_batch_frames());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CpuMemoryTest, AMaskThatNeverFitsIsRefusedAlone) {
  const auto bytes = (*Backend({.threads = 1})->MakePlan({400, 400, {}}))->frame_bytes(false);
  const auto backend =
      Backend({.threads = 1, .workspace_budget_bytes = static_cast<int64_t>(bytes) / 15 * 16 + 16});
  const auto plan = backend->MakePlan({400, 400, {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const TestImage image = SceneImage(400, 400, 26);
  const TestImage mask = RandomMask(400, 400, 27);
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(*backend, {.image = image.view(), .mask = mask.view()}));
  jobs.push_back(*MakeJob(*backend, {.image = image.view()}));
  const auto answer = RunBatch(*backend, *plan, std::move(jobs));
  EXPECT_EQ(ReasonOf(answer.frames[0].status), ErrorReason::kTooLarge);
  EXPECT_TRUE(answer.frames[1].status.ok()) << answer.frames[1].status;
}

TEST(CpuMemoryTest, FramesOfTheMostPixelsFitWithAllPresets) {
  const auto unlimited = Backend({.threads = 2});
  constexpr int64_t kAny = int64_t{1} << 26;
  EXPECT_EQ(unlimited->MaxFramePixels(kAny), kAny);
  const auto backend = Backend({.threads = 2, .workspace_budget_bytes = 40 << 20});
  const int64_t most = backend->MaxFramePixels(kAny);
  EXPECT_EQ(backend->MaxFramePixels(most / 2), most / 2);
  const auto fits = [&](int64_t pixels, double width_by_height) {
    for (const Preset& preset : Presets()) {
      if (!preset.available || preset.pipeline.detect.detector == Detector::kSift) continue;
      const int height_px =
          static_cast<int>(std::sqrt(static_cast<double>(pixels) / width_by_height));
      const int width_px = static_cast<int>(pixels / height_px);
      if (!backend->MakePlan({width_px, height_px, preset.pipeline}).ok()) return false;
    }
    return true;
  };
  // orb-slam3 has no answer for images that are twice as high as wide.
  for (const double shape : {0.6, 0.75, 1.0, 4.0 / 3, 16.0 / 9, 3.0}) {
    EXPECT_TRUE(fits(most, shape)) << shape;
    EXPECT_FALSE(fits(most / 10 * 11, shape)) << shape;
  }
}

TEST(CpuMemoryTest, PlansCountWhatTheyHoldUntilTheyAreFreed) {
  const auto backend = Backend();
  auto small = *backend->MakePlan({200, 200, {}});
  auto large = *backend->MakePlan({400, 400, {}});
  for (const auto& plan : {small, large}) EXPECT_TRUE(ComputeOn(*backend, plan).ok());
  // Levels, smoothed levels and lists take several times the pixels.
  EXPECT_GT(small->size_bytes(), size_t{3 * 200 * 200});
  EXPECT_GT(large->size_bytes(), 3 * small->size_bytes());
  EXPECT_EQ(BytesOf(*backend, "plans"),
            static_cast<int64_t>(small->size_bytes() + large->size_bytes()));
  // Workspaces of plans that are gone are freed by the next plan, or now and then.
  small = nullptr;
  const auto next = *backend->MakePlan({100, 100, {}});
  EXPECT_EQ(BytesOf(*backend, "plans"),
            static_cast<int64_t>(large->size_bytes() + next->size_bytes()));
  large = nullptr;
  backend->FreeIdle();
  EXPECT_EQ(BytesOf(*backend, "plans"), static_cast<int64_t>(next->size_bytes()));
}

TEST(CpuMemoryTest, AMaskAndGivenKeypointsMakeAPlanHoldMore) {
  const auto backend = Backend({.threads = 1});
  const TestImage image = SceneImage(300, 300, 23);
  const TestImage mask = RandomMask(300, 300, 24);
  const auto plan = *backend->MakePlan({300, 300, {}});
  const auto run = [&](const FrameInput& input) {
    std::vector<FrameJob> jobs;
    jobs.push_back(*MakeJob(*backend, input));
    EXPECT_TRUE(RunBatch(*backend, plan, std::move(jobs)).frames[0].status.ok());
    return plan->size_bytes();
  };
  const size_t plain = run({.image = image.view()});
  EXPECT_EQ(run({.image = image.view()}), plain);
  const size_t masked = run({.image = image.view(), .mask = mask.view()});
  EXPECT_GT(masked, plain + 100 * 100);
  auto given = std::make_shared<GivenKeypoints>();
  given->x.assign(1000, 150.0f);
  given->y = given->x;
  given->size = given->x;
  given->angle_deg = given->x;
  given->response = given->x;
  given->octave.assign(1000, 0);
  EXPECT_GE(run({.image = image.view(), .given_keypoints = given}), masked + 1000 * (12 + 4 + 32));
}

TEST(CpuMemoryTest, InputsAndAnswersAreCounted) {
  const auto backend = Backend();
  const TestImage image = SceneImage(300, 300, 25);
  {
    const auto slot = *backend->LeaseInput(300, 300, false);
    EXPECT_GE(BytesOf(*backend, "inputs"), 300 * 300);
  }
  EXPECT_GE(BytesOf(*backend, "inputs"), 300 * 300);  // kept for the next frame
  const auto features = Compute(*backend, image);
  EXPECT_GE(BytesOf(*backend, "states"),
            static_cast<int64_t>(features->count() * (6 * sizeof(float) + 32)));
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
  EXPECT_EQ(ReasonOf(backend->LeaseInput(2000, 2000, false).status()), ErrorReason::kTooLarge);
  first->reset();
  EXPECT_TRUE(backend->LeaseInput(500, 500, false).ok());
  second->reset();
  EXPECT_TRUE(backend->LeaseInput(1400, 1900, false).ok());
  EXPECT_FALSE(backend->LeaseInput(0, 5, false).ok());
}

}  // namespace
}  // namespace orbserve::cpu
