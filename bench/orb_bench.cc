// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The whole pipeline `orb`, through the interface that the server uses, beside cv::ORB. Times are
// those of one pass over all photographs, each brought to the size of the case.
//
//   latency      one frame in flight: submitted when the one before is answered
//   throughput   two frames in flight
// With --stages, each stage of the pipeline by itself over all levels, for every target.

#include <hwy/highway.h>
#include <tbb/version.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness.h"
#include "bench/photographs.h"
#include "cpu/cpu_backend.h"
#include "cpu/stages.h"
#include "features/algo/pyramid.h"
#include "features/host_device.h"

namespace orbserve::bench {
namespace {

const cv::Size kSizes[] = {{640, 480}, {1280, 720}, {1920, 1080}};
constexpr int kFeatureCounts[] = {1000, 2000};
constexpr int kLevels = 8;
constexpr float kScaleFactor = 1.2f;

std::string CaseName(cv::Size size, int features, int threads, const char* mode) {
  return std::to_string(size.width) + "x" + std::to_string(size.height) + ", " +
         std::to_string(features) + " features, " + std::to_string(threads) +
         (threads == 1 ? " thread, " : " threads, ") + mode;
}

cv::Ptr<cv::ORB> MakeOpenCvOrb(int features) {
  return cv::ORB::create(features, kScaleFactor, kLevels);
}

void RunOpenCv(const cv::Ptr<cv::ORB>& orb, const std::vector<cv::Mat>& frames) {
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
  for (const cv::Mat& frame : frames) {
    orb->detectAndCompute(frame, cv::noArray(), keypoints, descriptors);
  }
}

// A backend with frames in its slots, ready to compute them.
class Engine {
 public:
  // Ends the program with a message when the backend cannot be had.
  Engine(const cpu::CpuBackendOptions& options, const std::vector<cv::Mat>& frames, int features) {
    backend_ = Must(cpu::CreateCpuBackend(options));
    PlanSpec spec;
    spec.width_px = frames[0].cols;
    spec.height_px = frames[0].rows;
    spec.pipeline.pyramid = {.levels = kLevels, .scale_factor = kScaleFactor};
    plan_ = Must(backend_->MakePlan(spec));
    for (const cv::Mat& frame : frames) {
      FrameJob job;
      job.input = Must(backend_->LeaseInput(frame.cols, frame.rows, false));
      job.parameters.max_features = features;
      for (int y = 0; y < frame.rows; ++y) {
        std::memcpy(job.input->image.Row(y), frame.ptr(y), static_cast<size_t>(frame.cols));
      }
      jobs_.push_back(std::move(job));
    }
  }

  // Computes all frames with up to `in_flight` (1 or 2) at a time.
  void Run(int in_flight) {
    std::counting_semaphore<2> free(in_flight);
    for (const FrameJob& job : jobs_) {
      free.acquire();
      backend_->Submit(plan_, {job}, [&free](FrameBatchAnswer answer) {
        if (!answer.frames[0].status.ok()) Die(answer.frames[0].status);
        free.release();
      });
    }
    for (int i = 0; i < in_flight; ++i) free.acquire();
  }

 private:
  [[noreturn]] static void Die(const absl::Status& status) {
    std::fprintf(stderr, "orb_bench: %s\n", status.ToString().c_str());
    std::exit(1);
  }
  template <typename T>
  static T Must(absl::StatusOr<T> value) {
    if (!value.ok()) Die(value.status());
    return *std::move(value);
  }

  std::unique_ptr<FeatureBackend> backend_;
  std::shared_ptr<FeaturePlan> plan_;
  std::vector<FrameJob> jobs_;
};

void RunPipelineCase(Harness& harness, const std::vector<cv::Mat>& photographs, cv::Size size,
                     int features, int threads) {
  const std::string latency = CaseName(size, features, threads, "latency");
  const std::string throughput = CaseName(size, features, threads, "throughput");
  if (!harness.Wants(latency) && !harness.Wants(throughput)) return;
  const std::vector<cv::Mat> frames = FramesOf(photographs, size);
  cv::setNumThreads(threads);
  const cv::Ptr<cv::ORB> orb = MakeOpenCvOrb(features);
  const Variant peer = {"cv::ORB", [&] { RunOpenCv(orb, frames); }};

  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<Variant> one_in_flight = {peer};
  std::vector<Variant> two_in_flight = {peer};
  std::vector<const cpu::Stages*> targets = cpu::AllSimdStages();
  for (const cpu::Stages* target : targets) {
    engines.push_back(std::make_unique<Engine>(
        cpu::CpuBackendOptions{.threads = threads, .simd_target = target->name}, frames, features));
    Engine* const engine = engines.back().get();
    const std::string name = "orbserve " + std::string(target->name);
    one_in_flight.push_back({name, [engine] { engine->Run(1); }});
    two_in_flight.push_back({name, [engine] { engine->Run(2); }});
  }
  harness.Compare(latency, one_in_flight, peer.name);
  if (threads == 1) return;
  // What a user of OpenCV can do with two threads and two frames: one thread for each.
  const cv::Ptr<cv::ORB> second = MakeOpenCvOrb(features);
  std::vector<cv::Mat> halves[2];
  for (size_t i = 0; i < frames.size(); ++i) halves[i % 2].push_back(frames[i]);
  two_in_flight.push_back({"cv::ORB, a thread a frame", [&] {
                             cv::setNumThreads(1);
                             std::thread other([&] { RunOpenCv(second, halves[1]); });
                             RunOpenCv(orb, halves[0]);
                             other.join();
                             cv::setNumThreads(threads);
                           }});
  harness.Compare(throughput, two_in_flight, peer.name);
}

// ---- Stages by themselves ----

template <typename T>
class AlignedArray {
 public:
  explicit AlignedArray(int64_t count)
      : data_(static_cast<T*>(
            ::operator new (static_cast<size_t>(count) * sizeof(T), std::align_val_t{64}))) {
    std::memset(static_cast<void*>(data_.get()), 0, static_cast<size_t>(count) * sizeof(T));
  }
  T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> data_;
};

// One level of one frame, with what the stages make of it.
struct Level {
  Level(int width, int height)
      : pitch(RoundUp(width, kRowAlignmentBytes)),
        pixels(2 * kImagePaddingBytes + static_cast<int64_t>(pitch) * height),
        smooth_pixels(2 * kImagePaddingBytes + static_cast<int64_t>(pitch) * height),
        image{pixels.data() + kImagePaddingBytes, width, height, pitch},
        blurred{smooth_pixels.data() + kImagePaddingBytes, width, height, pitch},
        region{0, 0, width, height} {}

  int pitch;
  AlignedArray<uint8_t> pixels;
  AlignedArray<uint8_t> smooth_pixels;
  MutableImageView image;
  MutableImageView blurred;
  cpu::Region region;
  cpu::ResizeAxis x_axis;
  cpu::ResizeAxis y_axis;
  std::vector<cpu::Candidate> candidates;
  std::vector<cpu::Candidate> inner;  // those that the later stages accept
  std::vector<cpu::LevelPoint> points;
};

cpu::ResizeAxis MakeAxis(int source, int destination) {
  cpu::ResizeAxis axis;
  for (int i = 0; i < destination; ++i) {
    const algo::ResizeTap tap = algo::ResizeTapOf(source, destination, i);
    axis.first.push_back(tap.first);
    axis.weight.push_back(static_cast<uint16_t>(tap.weight));
  }
  cpu::FinishResizeAxis(&axis);
  return axis;
}

// The pyramid of a frame, its corners, and `features` of them, the same share of every level.
std::vector<std::unique_ptr<Level>> MakeLevels(const cv::Mat& frame, int features) {
  const cpu::Stages& stages = cpu::SimdStages();
  std::vector<std::unique_ptr<Level>> levels;
  AlignedArray<uint16_t> resize_scratch(2 * RoundUp(frame.cols, 64) + 64);
  size_t all = 0;
  for (int l = 0; l < kLevels; ++l) {
    const float scale = algo::LevelScale(kScaleFactor, l);
    auto level = std::make_unique<Level>(algo::LevelSide(frame.cols, scale),
                                         algo::LevelSide(frame.rows, scale));
    const MutableImageView& image = level->image;
    if (l == 0) {
      for (int y = 0; y < frame.rows; ++y) {
        std::memcpy(image.Row(y), frame.ptr(y), static_cast<size_t>(frame.cols));
      }
    } else {
      const MutableImageView& source = levels.back()->image;
      level->x_axis = MakeAxis(source.width_px, image.width_px);
      level->y_axis = MakeAxis(source.height_px, image.height_px);
      stages.resize_rows(source, image, level->x_axis, level->y_axis, 0, image.height_px,
                         resize_scratch.data());
    }
    level->candidates.resize(static_cast<size_t>(cpu::MaxCandidates(level->region)) + 64);
    AlignedArray<uint8_t> scratch(cpu::FastScratchBytes(level->region));
    const int count =
        stages.fast_corners(image, level->region, 9, 20, scratch.data(), level->candidates.data());
    constexpr int kBorder = 31;
    for (int i = 0; i < count; ++i) {
      const cpu::Candidate& c = level->candidates[static_cast<size_t>(i)];
      if (c.x >= kBorder && c.x < image.width_px - kBorder && c.y >= kBorder &&
          c.y < image.height_px - kBorder) {
        level->inner.push_back(c);
      }
    }
    all += level->inner.size();
    levels.push_back(std::move(level));
  }
  const size_t wanted = static_cast<size_t>(features);
  const size_t step = std::max<size_t>(1, all / std::max<size_t>(1, wanted));
  for (auto& level : levels) {
    for (size_t i = 0; i < level->inner.size(); i += step) {
      const cpu::Candidate& c = level->inner[i];
      level->points.push_back({c.x, c.y, 0.0f, 0.0f});
    }
    // Twice the wanted number is scored.
    std::vector<cpu::Candidate> scored;
    for (size_t i = 0; i < level->inner.size(); i += std::max<size_t>(1, step / 2)) {
      scored.push_back(level->inner[i]);
    }
    level->inner = std::move(scored);
  }
  return levels;
}

void RunStageCases(Harness& harness, const std::vector<cv::Mat>& photographs, cv::Size size,
                   int features) {
  const std::string prefix = CaseName(size, features, 1, "stage ");
  std::vector<std::unique_ptr<Level>> levels;  // of all frames
  for (const cv::Mat& frame : FramesOf(photographs, size)) {
    for (auto& level : MakeLevels(frame, features)) levels.push_back(std::move(level));
  }
  const cpu::Region whole = {0, 0, size.width, size.height};
  AlignedArray<uint16_t> resize_scratch(2 * RoundUp(size.width, 64) + 64);
  AlignedArray<uint8_t> fast_scratch(cpu::FastScratchBytes(whole));
  AlignedArray<float> blur_scratch(cpu::BlurScratchFloats(whole));
  std::vector<float> responses(static_cast<size_t>(cpu::MaxCandidates(whole)));
  std::vector<uint8_t> descriptors(responses.size() * 32);

  std::vector<const cpu::Stages*> all = cpu::AllSimdStages();
  all.insert(all.begin(), &cpu::ReferenceStages());
  const auto compare = [&](const char* stage, auto run) {
    std::vector<Variant> variants;
    for (const cpu::Stages* stages : all) {
      variants.push_back({std::string(stages->name), [&levels, stages, run] {
                            for (size_t i = 0; i < levels.size(); ++i) run(*stages, i);
                          }});
    }
    harness.Compare(prefix + stage, variants, "reference");
  };
  compare("resize", [&](const cpu::Stages& stages, size_t i) {
    if (i % kLevels == 0) return;
    Level& l = *levels[i];
    stages.resize_rows(levels[i - 1]->image, l.image, l.x_axis, l.y_axis, 0, l.image.height_px,
                       resize_scratch.data());
  });
  compare("corners", [&](const cpu::Stages& stages, size_t i) {
    Level& l = *levels[i];
    stages.fast_corners(l.image, l.region, 9, 20, fast_scratch.data(), l.candidates.data());
  });
  compare("harris", [&](const cpu::Stages& stages, size_t i) {
    Level& l = *levels[i];
    stages.harris_responses(l.image, l.inner.data(), static_cast<int>(l.inner.size()),
                            responses.data());
  });
  compare("angles", [&](const cpu::Stages& stages, size_t i) {
    Level& l = *levels[i];
    stages.intensity_centroid_angles(l.image, l.points.data(), static_cast<int>(l.points.size()));
  });
  compare("blur", [&](const cpu::Stages& stages, size_t i) {
    Level& l = *levels[i];
    stages.blur(l.image, l.blurred, l.region, blur_scratch.data());
  });
  compare("describe", [&](const cpu::Stages& stages, size_t i) {
    Level& l = *levels[i];
    stages.describe_rbrief256(l.blurred, l.points.data(), static_cast<int>(l.points.size()),
                              descriptors.data());
  });
}

int Main(int argc, char** argv) {
  Harness harness("orb_bench", "The pipeline orb beside cv::ORB, or its stages one by one");
  std::vector<std::string> files;
  bool stages = false;
  harness.app().add_option("photographs", files, "Images to make frames of")->required();
  harness.app().add_flag("--stages", stages, "Each stage by itself instead of the pipeline");
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  const std::vector<cv::Mat> photographs = LoadGrey(files);
  if (photographs.empty()) return 1;

  harness.AddInfo("photographs", std::to_string(photographs.size()));
  harness.AddInfo("simd_target", std::string(cpu::SimdStages().name));
  harness.AddInfo("highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
                                 std::to_string(HWY_PATCH));
  harness.AddInfo("onetbb", TBB_VERSION_STRING);
  harness.AddInfo("opencv", CV_VERSION);
  for (const cv::Size size : kSizes) {
    for (const int features : kFeatureCounts) {
      if (stages) {
        RunStageCases(harness, photographs, size, features);
        continue;
      }
      for (const int threads : harness.threads()) {
        RunPipelineCase(harness, photographs, size, features, threads);
      }
    }
  }
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
