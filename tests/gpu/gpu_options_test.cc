// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Random options on the CUDA backend, over everything that pipelines offer, against the CPU
// backend: each frame in a batch of frames with parameters, images and masks of their own, and
// alone.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/pipeline/compiled.h"
#include "tests/gpu/gpu_test_support.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_images.h"
#include "tests/support/random_options.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::DifferingBytes;
using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::MakeJob;
using ::orbserve::testing::Printed;
using Image = ::orbserve::testing::TestImage;

const char kFolder[] = ORBSERVE_TEST_DATA_DIR;

struct Frame {
  Image image;
  Image mask;
  bool is_masked;
  FrameParameters parameters;
  std::shared_ptr<const GivenKeypoints> given;  // null: detect
};

class GpuOptionsTest : public GpuTest {
 protected:
  // Sets of each test.
  static int Sets() { return EnvironmentNumber("ORBSERVE_TEST_PLANS", 300); }

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }

  // Compares one set of options, on frames whose pixels `make_image` returns.
  template <typename MakeImage>
  void Compare(int width_px, int height_px, int max_frames, const MakeImage& make_image) {
    const PipelineOptions pipeline = testing::RandomPipeline(random_);
    ASSERT_TRUE(pipeline.Validate().ok()) << pipeline.Validate() << "\n" << Printed(pipeline);
    std::vector<Frame> frames;
    for (int i = Between(1, max_frames); i > 0; --i) {
      const bool is_masked = Between(1, 3) == 1;
      frames.push_back(
          {make_image(),
           is_masked ? testing::RandomFrameMask(width_px, height_px, random_) : Image(0, 0),
           is_masked, testing::RandomParameters(pipeline, random_), nullptr});
    }
    CompareFrames({width_px, height_px, pipeline}, frames);
  }

  // Compares frames of one plan, together and alone.
  void CompareFrames(const PlanSpec& spec, const std::vector<Frame>& frames) {
    ++sets_;
    SCOPED_TRACE(absl::StrCat("set ", sets_, ", ", spec.width_px, "x", spec.height_px, ", ",
                              frames.size(), " frames\n", Printed(spec.pipeline)));
    const auto on_cpu = cpu_->MakePlan(spec);
    const auto on_gpu = gpu_->MakePlan(spec);
    ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
    ASSERT_TRUE(on_gpu.ok()) << on_gpu.status();
    std::vector<size_t> all(frames.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    const FrameBatchAnswer expected = Answer(*cpu_, *on_cpu, frames, all);
    ExpectSame(expected, Answer(*gpu_, *on_gpu, frames, all), frames, all);
    for (const size_t i : all) {
      ExpectSame(expected, Answer(*gpu_, *on_gpu, frames, {i}), frames, {i});
    }
    for (const FrameAnswer& answer : expected.frames) {
      if (answer.status.ok()) features_ += answer.features->count();
    }
  }

  void PrintCounts(const char* what) const {
    printf("%s: %d sets, %d answers compared, %zu features, %zu bytes differ\n", what, sets_,
           answers_, features_, differing_bytes_);
  }

  std::mt19937 random_{20264};
  int sets_ = 0;
  int answers_ = 0;
  size_t features_ = 0;
  size_t differing_bytes_ = 0;

 private:
  static FrameBatchAnswer Answer(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                                 const std::vector<Frame>& frames,
                                 const std::vector<size_t>& some) {
    std::vector<FrameJob> jobs;
    for (const size_t i : some) {
      const Frame& frame = frames[i];
      jobs.push_back(*MakeJob(backend, {.image = frame.image.view(),
                                        .mask = frame.is_masked ? frame.mask.view() : ImageView{},
                                        .parameters = frame.parameters,
                                        .given_keypoints = frame.given}));
    }
    return testing::RunBatch(backend, plan, std::move(jobs));
  }

  // `expected` has the answers of all frames, `actual` those of `some`.
  void ExpectSame(const FrameBatchAnswer& expected, const FrameBatchAnswer& actual,
                  const std::vector<Frame>& frames, const std::vector<size_t>& some) {
    ASSERT_EQ(actual.frames.size(), some.size());
    for (size_t k = 0; k < some.size(); ++k) {
      const FrameAnswer& want = expected.frames[some[k]];
      const FrameAnswer& got = actual.frames[k];
      SCOPED_TRACE(absl::StrCat("frame ", some[k], some.size() == 1 ? " alone, " : ", ",
                                frames[some[k]].is_masked ? "masked, " : "",
                                Printed(frames[some[k]].parameters)));
      ASSERT_TRUE(want.status.ok()) << want.status;
      ASSERT_TRUE(got.status.ok()) << got.status;
      ++answers_;
      differing_bytes_ += DifferingBytes(*want.features, *got.features);
      ASSERT_EQ(FirstDifference(*want.features, *got.features), "");
      ASSERT_EQ(want.features->truncated, got.features->truncated);
      ASSERT_EQ(want.features->suppression_passes, got.features->suppression_passes);
    }
  }
};

TEST_F(GpuOptionsTest, RandomSetsOnSyntheticImagesGiveTheAnswerOfTheCpu) {
  for (int i = 0; i < Sets() && !HasFailure(); ++i) {
    const int width = Between(40, 700);
    const int height = Between(40, 240'000 / width);
    Compare(width, height, 5, [&] { return testing::RandomImage(width, height, random_); });
  }
  PrintCounts("synthetic images");
  EXPECT_EQ(sets_, Sets());
  EXPECT_GT(features_, 50u * static_cast<size_t>(Sets()));
}

TEST_F(GpuOptionsTest, RandomSetsOnTinyImagesGiveTheAnswerOfTheCpu) {
  for (int i = 0; i < Sets() && !HasFailure(); ++i) {
    const int width = Between(1, 1 + i / 4);
    const int height = Between(1, 1 + i / 4);
    Compare(width, height, 9, [&] { return testing::RandomImage(width, height, random_); });
  }
  PrintCounts("tiny images");
  EXPECT_GT(features_, 0u);
}

TEST_F(GpuOptionsTest, RandomSetsOnPartsOfPhotographsGiveTheAnswerOfTheCpu) {
  const std::vector<testing::NamedImage> images = testing::RealImages(kFolder);
  if (images.empty()) GTEST_SKIP() << "no reference image below \"" << kFolder << "\"";
  for (int i = 0; i < Sets() && !HasFailure(); ++i) {
    const Image& image = images[static_cast<size_t>(i) % images.size()].image;
    const int width = std::min(Between(60, 1300), image.width_px());
    const int height = std::min(Between(60, 800), image.height_px());
    Compare(width, height, 4, [&] {
      const int left = Between(0, image.width_px() - width);
      const int top = Between(0, image.height_px() - height);
      Image part(width, height);
      for (int y = 0; y < height; ++y) {
        std::copy_n(image.view().Row(top + y) + left, width, part.view().Row(y));
      }
      return part;
    });
  }
  PrintCounts("parts of photographs");
  EXPECT_GT(features_, 50u * static_cast<size_t>(Sets()));
}

// Every preset on whole images: detected, under a mask, with few and with many features, and with
// given keypoints.
TEST_F(GpuOptionsTest, EveryPresetOnEveryImageGivesTheAnswerOfTheCpu) {
  std::vector<Image> images;
  for (testing::NamedImage& image : testing::RealImages(kFolder)) {
    images.push_back(std::move(image.image));
  }
  for (const TestImage& image : ImagesOfEnvironment()) {
    images.emplace_back(image.width_px, image.height_px);
    for (int y = 0; y < image.height_px; ++y) {
      std::copy_n(image.pixels.begin() + static_cast<ptrdiff_t>(y) * image.width_px, image.width_px,
                  images.back().view().Row(y));
    }
  }
  if (images.empty()) GTEST_SKIP() << "no image below \"" << kFolder << "\"";
  for (const Image& image : images) {
    const int width = image.width_px();
    const int height = image.height_px();
    for (const Preset& preset : Presets()) {
      if (preset.pipeline.detect.detector == Detector::kSift) continue;  // of the CPU alone
      FrameParameters few = preset.frame;
      few.max_features = Between(1, 50);
      FrameParameters many = preset.frame;
      many.max_features = Between(1000, 90'000);
      // ORB_SLAM3 takes neither masks nor given keypoints, and not every size.
      const bool is_orb_slam3 = preset.pipeline.select.selection == Selection::kOrbSlam3;
      const PlanSpec spec = {width, height, preset.pipeline};
      if (is_orb_slam3 && !CompilePipeline(spec).ok()) continue;
      std::vector<Frame> frames = {
          {image, Image(0, 0), false, preset.frame, nullptr},
          {image, testing::RandomFrameMask(width, height, random_), !is_orb_slam3, many, nullptr},
          {image, Image(0, 0), false, few, nullptr}};
      if (is_orb_slam3) {
        CompareFrames(spec, frames);
        if (HasFailure()) return;
        continue;
      }
      auto given = std::make_shared<GivenKeypoints>();
      for (int i = 0; i < 300; ++i) {
        given->x.push_back(static_cast<float>(Between(-5, width + 5)) + 0.25f);
        given->y.push_back(static_cast<float>(Between(-5, height + 5)) - 0.25f);
        given->size.push_back(31.0f);
        given->angle_deg.push_back(static_cast<float>(Between(-1, 359)));
        given->response.push_back(0.0f);
        given->octave.push_back(Between(0, preset.pipeline.pyramid.levels - 1));
      }
      frames.push_back({image, Image(0, 0), false, preset.frame, std::move(given)});
      CompareFrames(spec, frames);
      if (HasFailure()) return;
    }
  }
  PrintCounts("presets");
  EXPECT_GT(features_, 10'000u);
}

}  // namespace
}  // namespace orbserve::gpu
