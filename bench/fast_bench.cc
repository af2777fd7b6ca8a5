// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST-9 corners with scores and 3x3 suppression beside cv::FAST, one thread. Times are those of
// one pass over all photographs, each brought to the size of the case.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "bench/photographs.h"
#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/detect/fast.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"
#include "features/pipeline/geometry.h"

namespace orbserve::bench {
namespace {

const cv::Size kSizes[] = {{640, 480}, {1280, 720}, {1920, 1080}};
constexpr int kThresholds[] = {10, 20, 40};
constexpr int kArcLength = 9;
constexpr int kRadiusPx = 1;

struct FreeAligned {
  void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeAligned>;

AlignedBytes AllocateAligned(int64_t bytes) {
  return AlignedBytes(
      static_cast<uint8_t*>(::operator new (static_cast<size_t>(bytes), std::align_val_t{64})));
}

// A frame as backends hold it: aligned rows, padding around.
struct PaddedFrame {
  explicit PaddedFrame(const cv::Mat& frame) {
    const int pitch = RoundUp(frame.cols, kRowAlignmentBytes);
    memory = AllocateAligned(2 * kImagePaddingBytes + static_cast<int64_t>(pitch) * frame.rows);
    view = {memory.get() + kImagePaddingBytes, frame.cols, frame.rows, pitch};
    for (int y = 0; y < frame.rows; ++y) {
      std::memcpy(view.Row(y), frame.ptr(y), static_cast<size_t>(frame.cols));
    }
  }
  AlignedBytes memory;
  MutableImageView view;
};

int RunCase(Harness& harness, const std::vector<cv::Mat>& photographs, cv::Size size,
            int threshold) {
  const std::string name = std::to_string(size.width) + "x" + std::to_string(size.height) +
                           ", threshold " + std::to_string(threshold);
  if (!harness.Wants(name)) return 0;
  const std::vector<cv::Mat> frames = FramesOf(photographs, size);
  std::vector<PaddedFrame> padded;
  for (const cv::Mat& frame : frames) padded.emplace_back(frame);
  const Region region = {0, 0, size.width, size.height};
  const AlignedBytes scratch = AllocateAligned(cpu::FastScratchBytes(region, kRadiusPx));
  std::vector<cpu::Corner> corners(static_cast<size_t>(MaxCorners(region) + cpu::kCornerSlack));

  std::vector<cv::KeyPoint> keypoints;
  std::vector<Variant> variants = {{"cv::FAST", [&] {
                                      for (const cv::Mat& frame : frames) {
                                        cv::FAST(frame, keypoints, threshold, true);
                                      }
                                    }}};
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    const cpu::FastKernel find_corners = cpu::FastKernelFor(target);
    variants.push_back({"orbserve " + std::string(target.name), [&, find_corners] {
                          for (const PaddedFrame& frame : padded) {
                            find_corners(frame.view, region, kArcLength, threshold, kRadiusPx,
                                         scratch.get(), corners.data());
                          }
                        }});
    // A benchmark of something else than the same answer would be worth nothing.
    for (size_t i = 0; i < frames.size(); ++i) {
      const int count = find_corners(padded[i].view, region, kArcLength, threshold, kRadiusPx,
                                     scratch.get(), corners.data());
      cv::FAST(frames[i], keypoints, threshold, true);
      bool same = static_cast<size_t>(count) == keypoints.size();
      for (size_t k = 0; same && k < keypoints.size(); ++k) {
        same = keypoints[k].pt == cv::Point2f(corners[k].x, corners[k].y) &&
               keypoints[k].response == static_cast<float>(corners[k].score);
      }
      if (!same) {
        std::fprintf(stderr, "%s: %s differs from cv::FAST\n", name.c_str(),
                     variants.back().name.c_str());
        return 1;
      }
    }
  }
  harness.Compare(name, variants, "cv::FAST");
  return 0;
}

int Main(int argc, char** argv) {
  Harness harness("fast_bench", "FAST corners with suppression beside cv::FAST");
  std::vector<std::string> files;
  harness.app().add_option("photographs", files, "Images to make frames of")->required();
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  const std::vector<cv::Mat> photographs = LoadGrey(files);
  if (photographs.empty()) return 1;
  harness.AddInfo("photographs", std::to_string(photographs.size()));
  harness.AddInfo("opencv", CV_VERSION);
  cv::setNumThreads(1);
  int failed = 0;
  for (const cv::Size size : kSizes) {
    for (const int threshold : kThresholds) {
      failed |= RunCase(harness, photographs, size, threshold);
    }
  }
  const int code = harness.Finish();
  return failed != 0 ? failed : code;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
