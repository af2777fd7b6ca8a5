// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The whole pipeline `orb`, through the interface that the server uses, beside cv::ORB. Times are
// those of one pass over all photographs, each brought to the size of the case.
//
//   latency      one frame in flight: submitted when the one before is answered
//   throughput   two frames in flight
// With --kernels, each kernel of the pipeline by itself over all levels, for every target.

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
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cpu_engine.h"
#include "bench/harness.h"
#include "bench/photographs.h"
#include "cpu/frame/corner.h"
#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/describe/gaussian.h"
#include "cpu/steps/describe/intensity_centroid.h"
#include "cpu/steps/describe/rbrief256.h"
#include "cpu/steps/detect/fast.h"
#include "cpu/steps/detect/harris.h"
#include "cpu/steps/pyramid.h"
#include "features/algo/pyramid.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"
#include "features/pipeline/geometry.h"

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

void RunPipelineCase(Harness& harness, const std::vector<cv::Mat>& photographs, cv::Size size,
                     int features, int threads) {
  const std::string latency = CaseName(size, features, threads, "latency");
  const std::string throughput = CaseName(size, features, threads, "throughput");
  if (!harness.Wants(latency) && !harness.Wants(throughput)) return;
  const std::vector<cv::Mat> frames = FramesOf(photographs, size);
  cv::setNumThreads(threads);
  const cv::Ptr<cv::ORB> orb = MakeOpenCvOrb(features);
  const Variant peer = {"cv::ORB", [&] { RunOpenCv(orb, frames); }};

  PipelineOptions pipeline;
  pipeline.pyramid = {.levels = kLevels, .scale_factor = kScaleFactor};
  FrameParameters parameters;
  parameters.max_features = features;
  std::vector<std::unique_ptr<CpuEngine>> engines;
  std::vector<Variant> one_in_flight = {peer};
  std::vector<Variant> two_in_flight = {peer};
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    engines.push_back(std::make_unique<CpuEngine>(
        cpu::CpuBackendOptions{.threads = threads, .simd_target = target.name}, frames, pipeline,
        parameters));
    CpuEngine* const engine = engines.back().get();
    const std::string name = "orbserve " + std::string(target.name);
    one_in_flight.push_back({name, [engine] { engine->Run(1); }});
    two_in_flight.push_back({name, [engine] { engine->Run(2); }});
  }
  harness.Compare(latency, one_in_flight, peer.name);
  if (threads == 1) return;
  // The best use of two threads for two frames with OpenCV: one thread for each.
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

// ---- Kernels by themselves ----

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

// One level of one frame, with what the kernels make of it.
struct Level {
  Level(int width, int height)
      : pitch(RoundUp(width, kRowAlignmentBytes)),
        pixels(2 * kImagePaddingBytes + static_cast<int64_t>(pitch) * height),
        smooth_pixels(2 * kImagePaddingBytes + static_cast<int64_t>(pitch) * height),
        image{pixels.data() + kImagePaddingBytes, width, height, pitch},
        smoothed{smooth_pixels.data() + kImagePaddingBytes, width, height, pitch},
        region{0, 0, width, height} {}

  int pitch;
  AlignedArray<uint8_t> pixels;
  AlignedArray<uint8_t> smooth_pixels;
  MutableImageView image;
  MutableImageView smoothed;
  Region region;
  std::vector<algo::ResizeTap> x_taps;
  std::vector<algo::ResizeTap> y_taps;
  cpu::ResizeAxis x_axis;
  std::vector<cpu::Corner> corners;
  std::vector<cpu::Corner> inner;  // those that the later kernels accept
  std::vector<cpu::LevelPoint> points;
};

std::vector<algo::ResizeTap> TapsOf(int source, int destination) {
  std::vector<algo::ResizeTap> taps;
  for (int i = 0; i < destination; ++i) {
    taps.push_back(algo::ResizeTapOf(source, destination, i));
  }
  return taps;
}

// The pyramid of a frame, its corners, and `features` of them, the same share of every level.
std::vector<std::unique_ptr<Level>> MakeLevels(const cv::Mat& frame, int features) {
  const cpu::KernelTarget target = cpu::FastestTarget();
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
      level->x_taps = TapsOf(source.width_px, image.width_px);
      level->y_taps = TapsOf(source.height_px, image.height_px);
      level->x_axis = cpu::ResizeAxis::Of(level->x_taps);
      cpu::ResizeKernelFor(target)(source, image, level->x_axis, level->y_taps, 0, image.height_px,
                                   resize_scratch.data());
    }
    level->corners.resize(static_cast<size_t>(MaxCorners(level->region) + cpu::kCornerSlack));
    AlignedArray<uint8_t> scratch(cpu::FastScratchBytes(level->region, 1));
    const int count = cpu::FastKernelFor(target)(image, level->region, 9, 20, 1, scratch.data(),
                                                 level->corners.data());
    constexpr int kBorder = 31;
    for (int i = 0; i < count; ++i) {
      const cpu::Corner& c = level->corners[static_cast<size_t>(i)];
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
      const cpu::Corner& c = level->inner[i];
      level->points.push_back({c.x, c.y, 0.0f, 0.0f});
    }
    // Twice the wanted number is scored.
    std::vector<cpu::Corner> scored;
    for (size_t i = 0; i < level->inner.size(); i += std::max<size_t>(1, step / 2)) {
      scored.push_back(level->inner[i]);
    }
    level->inner = std::move(scored);
  }
  return levels;
}

void RunKernelCases(Harness& harness, const std::vector<cv::Mat>& photographs, cv::Size size,
                    int features) {
  const std::string prefix = CaseName(size, features, 1, "kernel ");
  std::vector<std::unique_ptr<Level>> levels;  // of all frames
  for (const cv::Mat& frame : FramesOf(photographs, size)) {
    for (auto& level : MakeLevels(frame, features)) levels.push_back(std::move(level));
  }
  const Region whole = {0, 0, size.width, size.height};
  AlignedArray<uint16_t> resize_scratch(2 * RoundUp(size.width, 64) + 64);
  AlignedArray<uint8_t> fast_scratch(cpu::FastScratchBytes(whole, 1));
  AlignedArray<float> gaussian_scratch(cpu::GaussianScratchFloats(whole));
  std::vector<float> responses(static_cast<size_t>(MaxCorners(whole)));
  std::vector<uint8_t> descriptors(responses.size() * 32);

  std::vector<cpu::KernelTarget> all = cpu::SimdTargets();
  all.insert(all.begin(), cpu::ReferenceTarget());
  // `kernel_for` chooses the kernel of a target, `run` applies it to a level.
  const auto compare = [&](const char* name, auto kernel_for, auto run) {
    std::vector<Variant> variants;
    for (const cpu::KernelTarget& target : all) {
      const auto kernel = kernel_for(target);
      variants.push_back({std::string(target.name), [&levels, kernel, run] {
                            for (size_t i = 0; i < levels.size(); ++i) run(kernel, i);
                          }});
    }
    harness.Compare(prefix + name, variants, "reference");
  };
  compare("pyramid", cpu::ResizeKernelFor, [&](cpu::ResizeKernel resize, size_t i) {
    if (i % kLevels == 0) return;
    Level& l = *levels[i];
    resize(levels[i - 1]->image, l.image, l.x_axis, l.y_taps, 0, l.image.height_px,
           resize_scratch.data());
  });
  compare("fast", cpu::FastKernelFor, [&](cpu::FastKernel find_corners, size_t i) {
    Level& l = *levels[i];
    find_corners(l.image, l.region, 9, 20, 1, fast_scratch.data(), l.corners.data());
  });
  compare("harris", cpu::HarrisKernelFor, [&](cpu::ResponseKernel respond, size_t i) {
    Level& l = *levels[i];
    respond(l.image, l.inner.data(), static_cast<int>(l.inner.size()), /*test=*/{},
            responses.data());
  });
  compare("intensity_centroid", cpu::IntensityCentroidKernelFor,
          [&](cpu::IntensityCentroidKernel orient, size_t i) {
            Level& l = *levels[i];
            orient(l.image, l.points.data(), static_cast<int>(l.points.size()));
          });
  compare("gaussian", cpu::GaussianKernelFor, [&](cpu::GaussianKernel smooth, size_t i) {
    Level& l = *levels[i];
    smooth(l.image, l.smoothed, l.region, gaussian_scratch.data());
  });
  compare("rbrief256", cpu::RBrief256KernelFor, [&](cpu::RBrief256Kernel describe, size_t i) {
    Level& l = *levels[i];
    describe(l.smoothed, l.points.data(), static_cast<int>(l.points.size()), descriptors.data());
  });
}

int Main(int argc, char** argv) {
  Harness harness("orb_bench", "The pipeline orb beside cv::ORB, or its kernels one by one");
  std::vector<std::string> files;
  bool kernels = false;
  harness.app().add_option("photographs", files, "Images to make frames of")->required();
  harness.app().add_flag("--kernels", kernels, "Each kernel by itself instead of the pipeline");
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  const std::vector<cv::Mat> photographs = LoadGrey(files);
  if (photographs.empty()) return 1;

  harness.AddInfo("photographs", std::to_string(photographs.size()));
  harness.AddInfo("simd_target", std::string(cpu::FastestTarget().name));
  harness.AddInfo("highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
                                 std::to_string(HWY_PATCH));
  harness.AddInfo("onetbb", TBB_VERSION_STRING);
  harness.AddInfo("opencv", CV_VERSION);
  for (const cv::Size size : kSizes) {
    for (const int features : kFeatureCounts) {
      if (kernels) {
        RunKernelCases(harness, photographs, size, features);
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
