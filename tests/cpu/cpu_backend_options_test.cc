// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Random options on the CPU backend, over everything that pipelines offer, against the independent
// oracle: batches of frames with parameters, images and masks of their own, on the reference and on
// every SIMD target, with one thread and with several.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/random_options.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::DifferingBytes;
using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::OracleAnswer;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::Printed;
using ::orbserve::testing::TestImage;

// A frame and its answer by the oracle.
struct Frame {
  TestImage image;
  TestImage mask;  // 0 x 0 = none
  bool is_masked;
  FrameParameters parameters;
  Features expected;
};

struct Counts {
  int sets = 0;
  int frames = 0;
  int answers = 0;
  size_t features = 0;  // of the frames
  size_t differing_bytes = 0;
  int truncated = 0;
  int with_second_threshold = 0;
  int64_t passes = 0;
};

void Print(const Counts& counts, uint32_t seed) {
  printf(
      "seed %u: %d sets, %d frames, %zu features, %d truncated, %d with a "
      "second threshold, %lld passes; %d answers compared, %zu bytes differ\n",
      seed, counts.sets, counts.frames, counts.features, counts.truncated,
      counts.with_second_threshold, static_cast<long long>(counts.passes), counts.answers,
      counts.differing_bytes);
}

class RandomSets {
 public:
  explicit RandomSets(uint32_t seed) : random_(seed) {}

  const Counts& counts() const { return counts_; }
  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  std::mt19937& random() { return random_; }

  // Compares one set of options on a batch of up to `max_frames` frames of one size. `make_image`
  // returns the pixels of a frame.
  template <typename MakeImage>
  void Compare(int width_px, int height_px, int max_frames, MakeImage make_image) {
    ++counts_.sets;
    const PipelineOptions pipeline = testing::RandomPipeline(random_);
    ASSERT_TRUE(pipeline.Validate().ok()) << pipeline.Validate() << "\n" << Printed(pipeline);
    std::vector<FrameParameters> parameters;
    for (int i = Between(1, max_frames); i > 0; --i) {
      parameters.push_back(testing::RandomParameters(pipeline, random_));
    }
    std::vector<Frame> frames;
    for (const FrameParameters& of_frame : parameters) {
      const bool is_masked = Between(1, 3) == 1;
      frames.push_back(
          {make_image(),
           is_masked ? testing::RandomFrameMask(width_px, height_px, random_) : TestImage(0, 0),
           is_masked,
           of_frame,
           {}});
      frames.back().expected = AnswerOf(pipeline, frames.back());
    }
    for (FeatureBackend* backend : SomeBackends()) {
      CompareOn(*backend, pipeline, {width_px, height_px, pipeline}, frames);
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  Features AnswerOf(const PipelineOptions& pipeline, const Frame& frame) {
    OracleOptions options = testing::OracleOptionsOf(pipeline, frame.parameters);
    options.count_passes = pipeline.suppress.suppression == Suppression::kMinimumDistance;
    const GreyPlane image = PlaneOf(frame.image.view());
    const GreyPlane mask = PlaneOf(frame.mask.view());
    const OracleAnswer answer =
        testing::OracleExtract(image, frame.is_masked ? &mask : nullptr, options);
    Features expected = testing::FeaturesOf(answer, image, options);
    expected.suppression_passes = answer.passes;
    ++counts_.frames;
    counts_.features += expected.count();
    counts_.truncated += expected.truncated ? 1 : 0;
    counts_.with_second_threshold += frame.parameters.fast_threshold_low_grey > 0 ? 1 : 0;
    counts_.passes += answer.passes;
    return expected;
  }

  // The reference and every SIMD target, the latter with one of its numbers of threads.
  std::vector<FeatureBackend*> SomeBackends() {
    std::vector<FeatureBackend*> some = {backends_[0].get()};
    const size_t variants = (backends_.size() - 1) / SimdTargets().size();
    for (size_t i = 1; i < backends_.size(); i += variants) {
      some.push_back(backends_[i + random_() % variants].get());
    }
    return some;
  }

  void CompareOn(FeatureBackend& backend, const PipelineOptions& pipeline, const PlanSpec& spec,
                 const std::vector<Frame>& frames) {
    SCOPED_TRACE(absl::StrCat("set ", counts_.sets, ", ", spec.width_px, "x", spec.height_px, ", ",
                              frames.size(), " frames, ", backend.devices()[0].details, "\n",
                              Printed(pipeline)));
    auto plan = backend.MakePlan(spec);
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::vector<FrameJob> jobs;
    for (const Frame& frame : frames) {
      auto job =
          testing::MakeJob(backend, {.image = frame.image.view(),
                                     .mask = frame.is_masked ? frame.mask.view() : ImageView{},
                                     .parameters = frame.parameters});
      ASSERT_TRUE(job.ok()) << job.status();
      jobs.push_back(*std::move(job));
    }
    const FrameBatchAnswer answer = testing::RunBatch(backend, *plan, std::move(jobs));
    ASSERT_EQ(answer.frames.size(), frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      const Frame& frame = frames[i];
      SCOPED_TRACE(absl::StrCat("frame ", i, frame.is_masked ? ", masked, " : ", ",
                                Printed(frame.parameters)));
      ASSERT_TRUE(answer.frames[i].status.ok()) << answer.frames[i].status;
      const Features& actual = *answer.frames[i].features;
      ++counts_.answers;
      counts_.differing_bytes += DifferingBytes(frame.expected, actual);
      ASSERT_EQ(FirstDifference(frame.expected, actual), "");
      ASSERT_EQ(actual.truncated, frame.expected.truncated);
      ASSERT_EQ(actual.suppression_passes, frame.expected.suppression_passes);
    }
  }

  std::mt19937 random_;
  const std::vector<std::unique_ptr<FeatureBackend>> backends_ = AllBackends();
  Counts counts_;
};

TEST(CpuOptionsTest, RandomSetsOnSyntheticImagesGiveTheAnswerOfTheOracle) {
  constexpr uint32_t kSeed = 20261;
  RandomSets sets(kSeed);
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const int width = sets.Between(40, 220);
    const int height = sets.Between(40, 24'000 / width);
    sets.Compare(width, height, 3,
                 [&] { return testing::RandomImage(width, height, sets.random()); });
  }
  Print(sets.counts(), kSeed);
  EXPECT_GT(sets.counts().features, 10'000u);
}

TEST(CpuOptionsTest, RandomSetsOnTinyImagesGiveTheAnswerOfTheOracle) {
  constexpr uint32_t kSeed = 20262;
  RandomSets sets(kSeed);
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const int width = sets.Between(1, 1 + i / 5);
    const int height = sets.Between(1, 1 + i / 5);
    sets.Compare(width, height, 4,
                 [&] { return testing::RandomImage(width, height, sets.random()); });
  }
  Print(sets.counts(), kSeed);
  EXPECT_GT(sets.counts().features, 50u);
}

// Kernels divide wide levels, and reserve memory for them, otherwise than narrow ones.
TEST(CpuOptionsTest, RandomSetsOnWideImagesGiveTheAnswerOfTheOracle) {
  constexpr uint32_t kSeed = 20264;
  RandomSets sets(kSeed);
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    const int width = sets.Between(300, 4200);
    const int height = sets.Between(40, 64);
    sets.Compare(width, height, 1,
                 [&] { return testing::RandomImage(width, height, sets.random()); });
  }
  Print(sets.counts(), kSeed);
  EXPECT_GT(sets.counts().features, 2'000u);
}

TEST(CpuOptionsTest, RandomSetsOnPartsOfPhotographsGiveTheAnswerOfTheOracle) {
  const std::vector<testing::NamedImage> images = testing::RealImages(kTestDataFolder);
  if (images.empty()) GTEST_SKIP() << "no reference image below \"" << kTestDataFolder << "\"";
  constexpr uint32_t kSeed = 20263;
  RandomSets sets(kSeed);
  for (size_t i = 0; i < 160 && !HasFailure(); ++i) {
    const TestImage& image = images[i % images.size()].image;
    const int width = std::min(sets.Between(60, 300), image.width_px());
    const int height = std::min(sets.Between(60, 40'000 / width), image.height_px());
    sets.Compare(width, height, 2, [&] {
      const int left = sets.Between(0, image.width_px() - width);
      const int top = sets.Between(0, image.height_px() - height);
      TestImage part(width, height);
      for (int y = 0; y < height; ++y) {
        std::copy_n(image.view().Row(top + y) + left, width, part.view().Row(y));
      }
      return part;
    });
  }
  Print(sets.counts(), kSeed);
  EXPECT_GT(sets.counts().features, 2'000u);
}

}  // namespace
}  // namespace orbserve::cpu
