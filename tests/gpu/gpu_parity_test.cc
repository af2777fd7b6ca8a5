// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The CUDA backend gives the CPU backend's bits: every option, any batch, any lane.

#include <algorithm>
#include <cmath>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "features/backend.h"
#include "features/errors.h"
#include "features/options.h"
#include "gpu/plan.h"
#include "tests/gpu/gpu_test_support.h"

namespace orbserve::gpu {
namespace {

class GpuParityTest : public GpuTest {
 protected:
  struct Plans {
    std::shared_ptr<FeaturePlan> gpu;
    std::shared_ptr<FeaturePlan> cpu;
  };
  Plans MakePlans(const PlanSpec& spec) {
    auto gpu = gpu_->MakePlan(spec);
    auto cpu = cpu_->MakePlan(spec);
    EXPECT_TRUE(gpu.ok()) << gpu.status();
    EXPECT_TRUE(cpu.ok()) << cpu.status();
    return {gpu.ok() ? *gpu : nullptr, cpu.ok() ? *cpu : nullptr};
  }

  // Compares one batch; returns the number of features.
  size_t ExpectSame(const Plans& plans, const std::vector<TestFrame>& frames) {
    const FrameBatchAnswer expected = Compute(*cpu_, plans.cpu, frames);
    const FrameBatchAnswer actual = Compute(*gpu_, plans.gpu, frames);
    size_t features = 0;
    if (expected.frames.size() != actual.frames.size()) {
      ADD_FAILURE() << actual.frames.size() << " answers to " << frames.size() << " frames";
      return 0;
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      const FrameAnswer& want = expected.frames[i];
      const FrameAnswer& got = actual.frames[i];
      SCOPED_TRACE(::testing::Message()
                   << "frame " << i << " of " << frames.size() << " " << frames[i].image.name << " "
                   << frames[i].image.width_px << "x" << frames[i].image.height_px << " n "
                   << frames[i].parameters.max_features << " t "
                   << frames[i].parameters.fast_threshold_grey
                   << (frames[i].mask.pixels.empty() ? "" : " masked")
                   << (frames[i].given == nullptr ? "" : " given"));
      EXPECT_EQ(want.status, got.status);
      if (!want.status.ok() || !got.status.ok()) continue;
      EXPECT_TRUE(SameFeatures(*want.features, *got.features));
      features += want.features->count();
    }
    return features;
  }
};

std::shared_ptr<const GivenKeypoints> RandomGiven(int count, int width_px, int height_px,
                                                  int levels, std::mt19937* random) {
  auto given = std::make_shared<GivenKeypoints>();
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  for (int i = 0; i < count; ++i) {
    given->x.push_back(unit(*random) * static_cast<float>(width_px));
    given->y.push_back(unit(*random) * static_cast<float>(height_px));
    given->size.push_back(31.0f);
    given->angle_deg.push_back(i % 7 == 0 ? -1.0f : unit(*random) * 360.0f);
    given->response.push_back(unit(*random));
    given->octave.push_back(static_cast<int32_t>((*random)() % static_cast<unsigned>(levels)));
  }
  return given;
}

TEST_F(GpuParityTest, RealImagesOverTheParameterGrid) {
  std::vector<TestImage> images = ImagesOfEnvironment();
  std::mt19937 random(7);
  if (images.empty()) {
    images.push_back(MakeImage(Content::kShapes, 640, 480, &random));
    images.push_back(MakeImage(Content::kSoftNoise, 517, 389, &random));
  }
  size_t features = 0;
  size_t frames = 0;
  for (const TestImage& image : images) {
    for (const int levels : {1, 4, 8}) {
      for (const float scale : {1.2f, 2.0f}) {
        for (const Score score : {Score::kHarris, Score::kFast}) {
          PlanSpec spec = {image.width_px, image.height_px, {}};
          spec.pipeline.pyramid.levels = levels;
          spec.pipeline.pyramid.scale_factor = scale;
          spec.pipeline.detect.score = score;
          const Plans plans = MakePlans(spec);
          ASSERT_NE(plans.gpu, nullptr);
          std::vector<TestFrame> batch;
          for (const int wanted : {500, 1000, 2000, 5000})
            batch.push_back({image, {}, {wanted, 20}});
          features += ExpectSame(plans, batch);
          frames += batch.size();
          if (HasFailure()) return;
        }
      }
    }
  }
  std::cout << images.size() << " images, " << frames << " frames, " << features
            << " features equal\n";
}

TEST_F(GpuParityTest, EveryCandidateTestAndArcLength) {
  std::mt19937 random(29);
  for (const int arc_length : {9, 10, 11, 12}) {
    for (const CandidateTest test :
         {CandidateTest::kAutomatic, CandidateTest::kBinaryEncoding, CandidateTest::kBitTable}) {
      PlanSpec spec = {333, 201, {}};
      spec.pipeline.pyramid.levels = 2;
      spec.pipeline.detect.fast_arc_length = arc_length;
      spec.pipeline.detect.candidate_test = test;
      spec.pipeline.detect.score = Score::kFast;
      const Plans plans = MakePlans(spec);
      ASSERT_NE(plans.gpu, nullptr);
      std::vector<TestFrame> batch;
      for (int kind = 0; kind < kContents; ++kind) {
        batch.push_back(
            {MakeImage(static_cast<Content>(kind), 333, 201, &random), {}, {3000, 10 + 7 * kind}});
      }
      SCOPED_TRACE(::testing::Message()
                   << "arc " << arc_length << " test " << static_cast<int>(test));
      ExpectSame(plans, batch);
    }
  }
}

TEST_F(GpuParityTest, RandomFramesInRandomBatches) {
  const unsigned seed = 20261120;
  std::mt19937 random(seed);
  const int plan_count = EnvironmentNumber("ORBSERVE_TEST_PLANS", 24);
  const int frames_per_plan = EnvironmentNumber("ORBSERVE_TEST_FRAMES", 16);
  const int largest_side = EnvironmentNumber("ORBSERVE_TEST_SIDE", 700);
  const auto one_of = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<TestImage> natural = ImagesOfEnvironment();
  size_t features = 0;
  size_t frames = 0;
  for (int p = 0; p < plan_count; ++p) {
    PlanSpec spec;
    // Small sides are more likely: that is where levels vanish.
    spec.width_px = 1 + one_of(1 + one_of(largest_side));
    spec.height_px = 1 + one_of(1 + one_of(largest_side));
    PipelineOptions& pipeline = spec.pipeline;
    pipeline.pyramid.levels = 1 + one_of(10);
    pipeline.pyramid.scale_factor = std::vector<float>{1.2f, 2.0f, 1.1f, 1.5f, 3.7f}[one_of(5)];
    if (one_of(4) == 0) pipeline.pyramid.source = PyramidSource::kLevelZero;
    pipeline.detect.fast_arc_length = 9 + one_of(4);
    pipeline.detect.candidate_test = static_cast<CandidateTest>(one_of(3));
    if (one_of(3) == 0) pipeline.detect.score = Score::kFast;
    if (one_of(3) == 0) pipeline.select.selection = Selection::kBest;
    if (one_of(4) == 0) pipeline.select.capacity = 1 + one_of(3000);
    pipeline.describe.descriptor = std::vector<Descriptor>{
        Descriptor::kNone,     Descriptor::kRBrief256, Descriptor::kRBrief256,
        Descriptor::kRBrief32, Descriptor::kBFrost256, Descriptor::kTeblid512,
        Descriptor::kBeblid256}[one_of(7)];
    if (one_of(3) == 0) pipeline.describe.orientation = Orientation::kArcMiddle;
    const bool needs_angle = pipeline.describe.descriptor == Descriptor::kRBrief256 ||
                             pipeline.describe.descriptor == Descriptor::kRBrief32;
    if (!needs_angle && one_of(3) == 0) {
      pipeline.describe.orientation = Orientation::kNone;
    }
    pipeline.select.border_px = BorderRange(pipeline).low + one_of(12);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << " plan " << p << ": " << pipeline.pyramid.levels
                 << " levels of " << pipeline.pyramid.scale_factor << ", source "
                 << static_cast<int>(pipeline.pyramid.source) << ", arc "
                 << pipeline.detect.fast_arc_length << ", test "
                 << static_cast<int>(pipeline.detect.candidate_test) << ", score "
                 << static_cast<int>(pipeline.detect.score) << ", selection "
                 << static_cast<int>(pipeline.select.selection) << ", orientation "
                 << static_cast<int>(pipeline.describe.orientation) << ", descriptor "
                 << static_cast<int>(pipeline.describe.descriptor) << ", border "
                 << pipeline.select.border_px);
    const Plans plans = MakePlans(spec);
    ASSERT_NE(plans.gpu, nullptr);
    ASSERT_NE(plans.cpu, nullptr);

    int levels = 0;
    while (levels < pipeline.pyramid.levels) {
      const float inverse = 1.0f / static_cast<float>(std::pow(
                                       static_cast<double>(pipeline.pyramid.scale_factor), levels));
      if (std::rint(static_cast<float>(std::min(spec.width_px, spec.height_px)) * inverse) < 1) {
        break;
      }
      ++levels;
    }
    int left = frames_per_plan;
    while (left > 0) {
      std::vector<TestFrame> batch;
      const int size = std::min({1 + one_of(7), left, plans.gpu->max_batch_frames()});
      for (int i = 0; i < size; ++i) {
        TestFrame frame;
        const int kind = one_of(kContents + (natural.empty() ? 0 : 4));
        if (kind < kContents) {
          frame.image =
              MakeImage(static_cast<Content>(kind), spec.width_px, spec.height_px, &random);
        } else {
          const TestImage& image =
              natural[static_cast<size_t>(one_of(static_cast<int>(natural.size())))];
          if (image.width_px < spec.width_px || image.height_px < spec.height_px) {
            frame.image = MakeImage(Content::kShapes, spec.width_px, spec.height_px, &random);
          } else {
            frame.image =
                Crop(image, one_of(image.width_px - spec.width_px + 1),
                     one_of(image.height_px - spec.height_px + 1), spec.width_px, spec.height_px);
          }
        }
        frame.parameters.max_features = 1 + one_of(one_of(4) == 0 ? 20000 : 1500);
        frame.parameters.fast_threshold_grey = 1 + one_of(one_of(3) == 0 ? 254 : 40);
        if (one_of(4) == 0) {
          frame.mask = MakeImage(Content::kShapes, spec.width_px, spec.height_px, &random);
          for (uint8_t& pixel : frame.mask.pixels) {
            pixel = pixel < 80 ? 0 : pixel > 160 ? 255 : pixel;
          }
        }
        if (one_of(6) == 0) {
          frame.given = RandomGiven(one_of(300), spec.width_px, spec.height_px, levels, &random);
        }
        batch.push_back(std::move(frame));
      }
      features += ExpectSame(plans, batch);
      frames += batch.size();
      left -= size;
      if (HasFailure()) return;
    }
  }
  std::cout << plan_count << " plans, " << frames << " frames, " << features << " features equal\n";
}

TEST_F(GpuParityTest, ManyFeaturesAndManyTiesTakeTheSlowPath) {
  std::mt19937 random(11);
  for (const Content content : {Content::kDots, Content::kNoise, Content::kTies}) {
    for (const Selection selection : {Selection::kLevelQuota, Selection::kBest}) {
      for (const int capacity : {kMaxFeatures, 9000}) {
        PlanSpec spec = {1280, 960, {}};
        spec.pipeline.select.selection = selection;
        spec.pipeline.select.capacity = capacity;
        spec.pipeline.pyramid.levels = 3;
        const Plans plans = MakePlans(spec);
        ASSERT_NE(plans.gpu, nullptr);
        std::vector<TestFrame> batch;
        for (const int wanted : {100, 9000, 100000}) {
          batch.push_back({MakeImage(content, 1280, 960, &random), {}, {wanted, 10}});
        }
        SCOPED_TRACE(::testing::Message()
                     << "content " << static_cast<int>(content) << " selection "
                     << static_cast<int>(selection) << " capacity " << capacity);
        ExpectSame(plans, batch);
        if (HasFailure()) return;
      }
    }
  }
  const PlanSpec spec = {900, 700, {}};
  const Plans plans = MakePlans(spec);
  TestFrame frame = {MakeImage(Content::kShapes, 900, 700, &random), {}, {}};
  frame.given = RandomGiven(20000, 900, 700, 8, &random);
  ExpectSame(plans, {frame, {frame.image, {}, {2000, 20}}});
}

// Numbers of features at the bounds of classes, on images with and without ties, with frames of all
// classes in one batch. Some find room, some do not.
TEST_F(GpuParityTest, EveryClassOfWantedFeatures) {
  std::mt19937 random(41);
  const std::vector<int> wanted = {1,    255,  256,  257,  511,  512,  513,  1023, 1024,
                                   1025, 2048, 2049, 4096, 4097, 8191, 8192, 8193, 12000};
  for (const Selection selection : {Selection::kLevelQuota, Selection::kBest}) {
    for (const Score score : {Score::kHarris, Score::kFast}) {
      PlanSpec spec = {800, 600, {}};
      spec.pipeline.select.selection = selection;
      spec.pipeline.detect.score = score;
      spec.pipeline.pyramid.levels = 4;
      const Plans plans = MakePlans(spec);
      ASSERT_NE(plans.gpu, nullptr);
      for (const Content content : {Content::kNoise, Content::kDots, Content::kChecker}) {
        const TestImage image = MakeImage(content, 800, 600, &random);
        std::vector<TestFrame> batch;
        for (const int count : wanted) {
          batch.push_back({image, {}, {count, 10}});
          batch.back().keep_state = count % 2 == 1 ? KeepState::kFeatures : KeepState::kNone;
        }
        SCOPED_TRACE(::testing::Message()
                     << "content " << static_cast<int>(content) << " selection "
                     << static_cast<int>(selection) << " score " << static_cast<int>(score));
        ExpectSame(plans, batch);
        if (HasFailure()) return;
      }
    }
  }
  // Given keypoints at the same bounds.
  const PlanSpec spec = {800, 600, {}};
  const Plans plans = MakePlans(spec);
  std::vector<TestFrame> batch;
  for (const int count : {255, 256, 257, 8192, 8193, 9000}) {
    batch.push_back({MakeImage(Content::kShapes, 800, 600, &random), {}, {}});
    batch.back().given = RandomGiven(count, 800, 600, 8, &random);
    batch.back().keep_state = KeepState::kFeatures;
  }
  ExpectSame(plans, batch);
}

// The pinned memory of a side and the arena grow between batches; a batch of the first size works
// as before.
TEST_F(GpuParityTest, MemoryGrowsWithTheWantedFeatures) {
  GpuBackendOptions options;
  options.lanes = 1;
  const auto own = MakeGpu(options);
  ASSERT_NE(own, nullptr);
  const PlanSpec spec = {640, 480, {}};
  const auto plan = own->MakePlan(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto on_cpu = cpu_->MakePlan(spec);
  ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
  std::mt19937 random(43);
  const TestImage image = MakeImage(Content::kNoise, 640, 480, &random);
  const auto pinned_bytes = [&] {
    for (const MemoryUse& use : own->memory()) {
      if (use.kind == "pinned") return use.bytes;
    }
    return int64_t{-1};
  };
  int64_t last = pinned_bytes();
  EXPECT_GT(last, 0);
  for (const int wanted : {500, 500, 8000, 8000, 500}) {
    TestFrame frame = {image, {}, {wanted, 10}};
    const std::vector<TestFrame> frames(static_cast<size_t>((*plan)->max_batch_frames()), frame);
    const FrameBatchAnswer expected = Compute(*cpu_, *on_cpu, {frame});
    const FrameBatchAnswer answer = Compute(*own, *plan, frames);
    ASSERT_EQ(answer.frames.size(), frames.size());
    for (const FrameAnswer& got : answer.frames) {
      ASSERT_TRUE(got.status.ok()) << got.status;
      ASSERT_TRUE(SameFeatures(*expected.frames[0].features, *got.features));
    }
    const int64_t now = pinned_bytes();
    EXPECT_GE(now, last);
    last = now;
  }
}

// Frames in every kind of slot: this backend's, with and without mask, and another backend's.
TEST_F(GpuParityTest, SameAnswersWhereFramesAreReadInPlace) {
  GpuBackendOptions options;
  options.input_reads = InputReads::kInPlace;
  const auto own = MakeGpu(options);
  ASSERT_NE(own, nullptr);
  std::mt19937 random(47);
  for (const auto& [width, height] :
       {std::pair(640, 480), std::pair(333, 217), std::pair(64, 65)}) {
    const PlanSpec spec = {width, height, {}};
    const auto on_gpu = own->MakePlan(spec);
    const auto on_cpu = cpu_->MakePlan(spec);
    ASSERT_TRUE(on_gpu.ok()) << on_gpu.status();
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
    std::vector<TestFrame> batch;
    for (int i = 0; i < 6; ++i) {
      TestFrame frame{MakeImage(static_cast<Content>(i % kContents), width, height, &random)};
      if (i % 2 == 1) frame.mask = MakeImage(Content::kShapes, width, height, &random);
      batch.push_back(std::move(frame));
    }
    batch.push_back({MakeImage(Content::kShapes, width, height, &random), {}, {}});
    batch.back().given = RandomGiven(50, width, height, 8, &random);
    const FrameBatchAnswer expected = Compute(*cpu_, *on_cpu, batch);
    const FrameBatchAnswer answer = Compute(*own, *on_gpu, batch);
    const FrameBatchAnswer foreign = ComputeIn(*cpu_, *own, *on_gpu, batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSERT_TRUE(answer.frames[i].status.ok()) << answer.frames[i].status;
      ASSERT_TRUE(foreign.frames[i].status.ok()) << foreign.frames[i].status;
      EXPECT_TRUE(SameFeatures(*expected.frames[i].features, *answer.frames[i].features)) << i;
      EXPECT_TRUE(SameFeatures(*expected.frames[i].features, *foreign.frames[i].features)) << i;
    }
  }
}

TEST_F(GpuParityTest, SameAnswersFromManyBatchesInFlight) {
  std::mt19937 random(13);
  const PlanSpec spec = {640, 480, {}};
  const Plans plans = MakePlans(spec);
  ASSERT_NE(plans.gpu, nullptr);
  std::vector<TestFrame> frames;
  for (int i = 0; i < 8; ++i) {
    frames.push_back({MakeImage(static_cast<Content>(i % kContents), 640, 480, &random),
                      {},
                      {200 + 300 * i, 20}});
  }
  const FrameBatchAnswer expected = Compute(*cpu_, plans.cpu, frames);
  std::vector<std::future<void>> threads;
  for (int t = 0; t < 6; ++t) {
    threads.push_back(std::async(std::launch::async, [&, t] {
      std::mt19937 mine(static_cast<unsigned>(t));
      for (int round = 0; round < 40; ++round) {
        std::vector<size_t> chosen(1 + mine() % 12);
        std::vector<TestFrame> batch;
        for (size_t& c : chosen) {
          c = mine() % frames.size();
          batch.push_back(frames[c]);
        }
        const FrameBatchAnswer answer = Compute(*gpu_, plans.gpu, batch);
        for (size_t i = 0; i < chosen.size(); ++i) {
          ASSERT_TRUE(answer.frames[i].status.ok()) << answer.frames[i].status;
          ASSERT_TRUE(
              SameFeatures(*expected.frames[chosen[i]].features, *answer.frames[i].features));
        }
      }
    }));
  }
  for (auto& thread : threads) thread.get();
}

TEST_F(GpuParityTest, OneBadFrameFailsItself) {
  std::mt19937 random(23);
  const PlanSpec spec = {320, 240, {}};
  const Plans plans = MakePlans(spec);
  std::vector<TestFrame> frames(3, TestFrame{MakeImage(Content::kShapes, 320, 240, &random)});
  frames[1].parameters.fast_threshold_grey = 0;
  const FrameBatchAnswer answer = Compute(*gpu_, plans.gpu, frames);
  EXPECT_TRUE(answer.frames[0].status.ok());
  EXPECT_EQ(answer.frames[1].status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(answer.frames[2].status.ok());
  EXPECT_TRUE(SameFeatures(*answer.frames[0].features, *answer.frames[2].features));
}

TEST_F(GpuParityTest, SmallMemoryLimitShrinksTheBatchThenRefuses) {
  GpuBackendOptions options;
  options.lanes = 1;
  options.memory_limit_bytes = int64_t{256} << 20;
  const auto small = MakeGpu(options);
  ASSERT_NE(small, nullptr);
  const auto fewer = small->MakePlan({1920, 1080, {}});
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_LT((*fewer)->max_batch_frames(), 32);
  EXPECT_GE((*fewer)->max_batch_frames(), 1);
  // A frame of the announced pixels is not refused.
  const int64_t most = small->MaxFramePixels(int64_t{1} << 26);
  EXPECT_LT(most, int64_t{1} << 26);
  for (const Preset& preset : Presets()) {
    // SIFT takes ten times the memory, and says so when it refuses.
    if (!preset.available || preset.pipeline.detect.detector == Detector::kSift) continue;
    const int height_px = static_cast<int>(std::sqrt(static_cast<double>(most) * 9 / 16));
    const int width_px = static_cast<int>(most / height_px);
    const absl::Status status = small->MakePlan({width_px, height_px, preset.pipeline}).status();
    EXPECT_NE(ReasonOf(status), ErrorReason::kTooLarge) << status;
  }
  const auto none = small->MakePlan({8192, 8192, {}});
  EXPECT_EQ(ReasonOf(none.status()), ErrorReason::kTooLarge) << none.status();
}

TEST_F(GpuParityTest, ALargestBatchOfMaskedFramesFitsIntoTheMemoryLimit) {
  GpuBackendOptions options;
  options.lanes = 2;
  options.memory_limit_bytes = int64_t{256} << 20;
  const auto small = MakeGpu(options);
  ASSERT_NE(small, nullptr);
  const PlanSpec spec = {1280, 960, {}};
  const auto plan = small->MakePlan(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_LT((*plan)->max_batch_frames(), 32);
  std::mt19937 random(31);
  TestFrame frame = {MakeImage(Content::kShapes, 1280, 960, &random),
                     MakeImage(Content::kShapes, 1280, 960, &random),
                     {}};
  for (uint8_t& pixel : frame.mask.pixels) pixel = pixel < 120 ? 0 : 255;
  const std::vector<TestFrame> frames(static_cast<size_t>((*plan)->max_batch_frames()), frame);
  const auto on_cpu = cpu_->MakePlan(spec);
  ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
  const FrameBatchAnswer expected = Compute(*cpu_, *on_cpu, {frame});
  ASSERT_TRUE(expected.frames[0].status.ok()) << expected.frames[0].status;
  // More batches than lanes: each lane has had some.
  for (int round = 0; round < 4; ++round) {
    const FrameBatchAnswer answer = Compute(*small, *plan, frames);
    ASSERT_EQ(answer.frames.size(), frames.size());
    for (const FrameAnswer& got : answer.frames) {
      ASSERT_TRUE(got.status.ok()) << got.status;
      EXPECT_TRUE(SameFeatures(*expected.frames[0].features, *got.features));
    }
  }
}

TEST_F(GpuParityTest, AFrameThatJustFitsIsComputed) {
  const PlanSpec spec = {1920, 1080, {}};
  GpuPlan::Limits limits;
  limits.arena_bytes = size_t{1} << 40;
  const auto sizes = GpuPlan::Create(spec, limits);
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  const auto needed = static_cast<int64_t>((*sizes)->LargestArenaBytes({0, /*masks=*/true}));
  GpuBackendOptions options;
  options.lanes = 1;
  options.large_lanes = 1;
  options.memory_limit_bytes = 2 * (needed / 9 + 1) * 10;  // nine tenths are the two lanes'
  const auto small = MakeGpu(options);
  ASSERT_NE(small, nullptr);
  const auto plan = small->MakePlan(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ((*plan)->max_batch_frames(), 1);
  std::mt19937 random(37);
  const TestFrame frame = {MakeImage(Content::kShapes, 1920, 1080, &random),
                           MakeImage(Content::kFlat, 1920, 1080, &random),
                           {}};
  const FrameBatchAnswer answer = Compute(*small, *plan, {frame});
  EXPECT_TRUE(answer.frames[0].status.ok()) << answer.frames[0].status;
}

}  // namespace
}  // namespace orbserve::gpu
