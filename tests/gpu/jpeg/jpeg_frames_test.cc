// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames that come as JPEG files through the CUDA backend, against the CPU backend and the pixels
// of the host's decoder.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/image_decoder.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_oracle.h"
#include "tests/gpu/gpu_test_support.h"
#include "tests/support/backend_runner.h"

namespace orbserve::gpu {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kFrameSeed = 20261128;
constexpr int kWidth = 640;
constexpr int kHeight = 480;

absl::Status DecodeWhole(absl::Span<const uint8_t> file, const MutableImageView& out) {
  EncodedImage image;
  image.bytes = file;
  ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(image, {}));
  return DecodeToGrey(image, header, {}, out);
}

class JpegFramesTest : public GpuTest {
 protected:
  // A job with the file in a slot of the GPU backend.
  FrameJob FileJob(const Bytes& file) {
    FrameJob job;
    job.input = *gpu_->LeaseInput(kWidth, kHeight, false);
    job.parameters.max_features = 500;
    if (job.input->TakeFile(file, decoder_)) return job;
    ADD_FAILURE() << "a file of " << file.size() << " bytes that was not taken";
    EXPECT_TRUE(DecodeWhole(file, job.input->image).ok());
    return job;
  }
  // The CPU backend's answer.
  FrameAnswer Expected(const Bytes& file) {
    FrameJob job;
    job.input = *cpu_->LeaseInput(kWidth, kHeight, false);
    job.parameters.max_features = 500;
    FrameAnswer answer;
    answer.status = DecodeWhole(file, job.input->image);
    if (!answer.status.ok()) return answer;
    std::vector<FrameJob> jobs;
    jobs.push_back(std::move(job));
    return std::move(testing::RunBatch(*cpu_, *cpu_->MakePlan(Spec()), std::move(jobs)).frames[0]);
  }
  static PlanSpec Spec() {
    PlanSpec spec;
    spec.width_px = kWidth;
    spec.height_px = kHeight;
    return spec;
  }
  static Bytes File(int components, int across, int down, int quality, int restarts = 0) {
    return WriteJpeg({.width_px = kWidth,
                      .height_px = kHeight,
                      .components = components,
                      .quality = quality,
                      .luma_across = across,
                      .luma_down = down,
                      .restart_interval = restarts});
  }
  // Values on which decoders do not agree: the largest quantiser of DC for small ones.
  static Bytes Undecided() {
    Bytes file = File(3, 2, 2, 90);
    for (size_t at = 2; at + 5 < file.size(); ++at) {
      if (file[at] == 0xFF && file[at + 1] == 0xDB) {
        file[at + 5] = 255;
        break;
      }
    }
    return file;
  }
  static Bytes Damaged(uint32_t seed) {
    Bytes file = File(3, 2, 2, 90);
    std::mt19937 random(seed);
    for (int i = 0; i < 4; ++i) {
      file[file.size() / 2 + random() % (file.size() / 2 - 2)] = static_cast<uint8_t>(random());
    }
    return file;
  }
  void ExpectSame(const FrameAnswer& expected, const FrameAnswer& actual) {
    ASSERT_EQ(expected.status, actual.status);
    if (!expected.status.ok()) return;
    EXPECT_TRUE(SameFeatures(*expected.features, *actual.features));
  }

  const std::shared_ptr<const FileDecoder> decoder_ =
      std::make_shared<const FileDecoder>(&DecodeWhole);
};

TEST_F(JpegFramesTest, DescriptionsSayWhyADeviceTakesNoFiles) {
  EXPECT_EQ(gpu_->devices()[0].no_jpeg_reason, "");
  GpuBackendOptions options;
  options.input_reads = InputReads::kInPlace;
  EXPECT_EQ((*CreateGpuBackend(options))->devices()[0].no_jpeg_reason,
            "it reads frames in place, where pixels must be");
  options.decodes_jpeg = false;
  EXPECT_EQ((*CreateGpuBackend(options))->devices()[0].no_jpeg_reason, "backend.jpeg is \"host\"");
}

TEST_F(JpegFramesTest, FeaturesAreThoseOfThePixels) {
  const auto plan = *gpu_->MakePlan(Spec());
  std::vector<Bytes> files;
  for (const int quality : {30, 75, 90}) {
    files.push_back(File(1, 1, 1, quality));
    files.push_back(File(3, 1, 1, quality));
    files.push_back(File(3, 2, 1, quality));
    files.push_back(File(3, 2, 2, quality, 5));
    files.push_back(File(3, 2, 2, quality));
  }
  for (const size_t batch : {size_t{1}, size_t{7}, files.size()}) {
    for (size_t first = 0; first < files.size(); first += batch) {
      std::vector<FrameJob> jobs;
      for (size_t i = first; i < std::min(first + batch, files.size()); ++i) {
        jobs.push_back(FileJob(files[i]));
      }
      const FrameBatchAnswer answer = testing::RunBatch(*gpu_, plan, std::move(jobs));
      for (size_t i = 0; i < answer.frames.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("file ", first + i));
        ExpectSame(Expected(files[first + i]), answer.frames[i]);
      }
    }
  }
}

// Among healthy frames, as files and as pixels.
TEST_F(JpegFramesTest, DamageAndDoubtHaveTheHostsVerdict) {
  const auto plan = *gpu_->MakePlan(Spec());
  int refused = 0;
  for (uint32_t round = 0; round < 20; ++round) {
    const std::vector<Bytes> files = {File(3, 2, 2, 90), Damaged(kFrameSeed + 2 * round),
                                      Undecided(), File(1, 1, 1, 80),
                                      Damaged(kFrameSeed + 2 * round + 1)};
    std::vector<FrameJob> jobs;
    for (const Bytes& file : files) {
      // Damage may be such that the file is not taken.
      FrameJob job;
      job.input = *gpu_->LeaseInput(kWidth, kHeight, false);
      job.parameters.max_features = 500;
      if (!job.input->TakeFile(file, decoder_) && !DecodeWhole(file, job.input->image).ok()) {
        job.input = nullptr;
      }
      jobs.push_back(std::move(job));
    }
    std::vector<size_t> computed;
    std::vector<FrameJob> submitted;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].input == nullptr) continue;
      computed.push_back(i);
      submitted.push_back(std::move(jobs[i]));
    }
    const FrameBatchAnswer answer = testing::RunBatch(*gpu_, plan, std::move(submitted));
    for (size_t i = 0; i < computed.size(); ++i) {
      SCOPED_TRACE(absl::StrCat("round ", round, " file ", computed[i]));
      ExpectSame(Expected(files[computed[i]]), answer.frames[i]);
      refused += answer.frames[i].status.ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 5);
}

TEST_F(JpegFramesTest, DecodingIsAStageOfTimedBatches) {
  GpuBackendOptions options;
  options.lanes = 1;
  options.stage_sampling = 1;
  gpu_ = MakeGpu(options);
  ASSERT_NE(gpu_, nullptr);
  const auto plan = *gpu_->MakePlan(Spec());
  for (const bool is_file : {true, false}) {
    const Bytes file = File(3, 2, 2, 90);
    std::vector<FrameJob> jobs;
    jobs.push_back(FileJob(file));
    if (!is_file) {
      ASSERT_TRUE(jobs[0].input->EnsurePixels().ok());
    }
    const FrameBatchAnswer answer = testing::RunBatch(*gpu_, plan, std::move(jobs));
    ASSERT_TRUE(answer.frames[0].status.ok()) << answer.frames[0].status;
    std::vector<std::string> names;
    int64_t sum_ns = 0;
    for (const StageTime& time : answer.frames[0].stages.entries()) {
      names.push_back(time.stages.Name());
      EXPECT_GT(time.duration_ns, 0) << names.back();
      sum_ns += time.duration_ns;
    }
    ASSERT_FALSE(names.empty());
    EXPECT_EQ(names[0], is_file ? "decode" : "pyramid");
    EXPECT_EQ(std::count(names.begin(), names.end(), "decode"), is_file ? 1 : 0);
    const auto compute_ns = static_cast<double>(answer.cost.timings.compute_ns);
    EXPECT_NEAR(static_cast<double>(sum_ns), compute_ns, 0.1 * compute_ns);
  }
}

TEST_F(JpegFramesTest, MasksComeBesideFiles) {
  const auto plan = *gpu_->MakePlan(Spec());
  std::vector<FrameAnswer> answers;
  for (FeatureBackend* const backend : {cpu_.get(), gpu_.get()}) {
    std::vector<FrameJob> jobs;
    for (const int quality : {60, 75, 90}) {
      const Bytes file = File(3, 2, 2, quality);
      const bool masked = quality != 75;
      FrameJob job;
      job.input = *backend->LeaseInput(kWidth, kHeight, masked);
      job.parameters.max_features = 500;
      ASSERT_EQ(job.input->TakeFile(file, decoder_), backend == gpu_.get());
      if (backend == cpu_.get()) {
        ASSERT_TRUE(DecodeWhole(file, job.input->image).ok());
      }
      for (int y = 0; masked && y < kHeight; ++y) {
        std::fill_n(job.input->mask.Row(y), kWidth,
                    static_cast<uint8_t>(y % 100 < quality ? 1 : 0));
      }
      jobs.push_back(std::move(job));
    }
    FrameBatchAnswer answer = testing::RunBatch(
        *backend, backend == gpu_.get() ? plan : *cpu_->MakePlan(Spec()), std::move(jobs));
    for (FrameAnswer& frame : answer.frames) answers.push_back(std::move(frame));
  }
  ASSERT_EQ(answers.size(), 6u);
  for (size_t i = 0; i < 3; ++i) ExpectSame(answers[i], answers[3 + i]);
}

TEST_F(JpegFramesTest, AnotherBackendComputesTheFrameAndItsPyramid) {
  PlanSpec spec = Spec();
  spec.pipeline.pyramid.levels = 4;
  spec.pipeline.pyramid.scale_factor = 2.0f;
  spec.track_levels = 3;
  const auto plan = *gpu_->MakePlan(spec);
  const Bytes file = File(3, 2, 2, 90);
  std::vector<FrameJob> jobs;
  jobs.push_back(FileJob(file));
  jobs[0].keep_state = KeepState::kPyramid;
  const std::shared_ptr<InputSlot> slot = jobs[0].input;
  FrameBatchAnswer answer = testing::RunBatch(*gpu_, plan, std::move(jobs));
  ASSERT_TRUE(answer.frames[0].status.ok()) << answer.frames[0].status;
  const auto rebuilt = cpu_->RebuildPyramid(*answer.frames[0].state);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
  // The slot holds pixels now.
  TestSlot pixels(kWidth, kHeight);
  ASSERT_TRUE(DecodeWhole(file, pixels.view()).ok());
  for (int y = 0; y < kHeight; ++y) {
    ASSERT_TRUE(std::equal(slot->image.Row(y), slot->image.Row(y) + kWidth, pixels.view().Row(y)));
  }
  std::vector<FrameJob> on_cpu;
  on_cpu.push_back(FileJob(file));
  const FrameBatchAnswer by_cpu =
      testing::RunBatch(*cpu_, *cpu_->MakePlan(Spec()), std::move(on_cpu));
  ExpectSame(Expected(file), by_cpu.frames[0]);
}

}  // namespace
}  // namespace orbserve::gpu
