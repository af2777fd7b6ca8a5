// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Table 1 of L. Teixeira, W. Celes & M. Gattass, "Accelerated corner-detector algorithms", BMVC
// 2008, on one thread of the CPU: Harris corners with windows of 3x3 to 31x31 pixels, with and
// without both compressions.
//
//   suppression  the paper's labels as it writes them, from a given map
//   detection    the preset `harris-corners` beside cv::goodFeaturesToTrack, whole calls
//
// The quality level of each photograph gives about 500 corners at 9x9.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_engine.h"
#include "bench/harness.h"
#include "bench/papers/label_suppression.h"
#include "bench/photographs.h"
#include "bench/quality_level.h"
#include "features/options.h"

namespace orbserve::bench {
namespace {

const cv::Size kFrame(640, 480);
constexpr int kWindows[] = {3, 5, 9, 13, 17, 21, 31};
constexpr int kCalibrationDistancePx = 5;
constexpr size_t kCorners = 500;
constexpr int kBlock = 7;  // pixels; the window of our corner maps
constexpr double kHarrisK = 0.04;

// Responses of Harris above a share of the best one; 0 elsewhere.
cv::Mat HarrisMap(const cv::Mat& frame, float quality_level) {
  cv::Mat map;
  cv::cornerHarris(frame, map, kBlock, /*ksize=*/3, kHarrisK);
  double best = 0;
  cv::minMaxLoc(map, nullptr, &best);
  cv::threshold(map, map, static_cast<double>(quality_level) * best, 0, cv::THRESH_TOZERO);
  return map;
}

// The compression of labels must lose nothing.
bool IsLossless(const cv::Mat& map, LabelOptions options) {
  options.label_compression = false;
  const std::vector<cv::Point> whole = SuppressByLabels(map, options);
  options.label_compression = true;
  return SuppressByLabels(map, options) == whole;
}

int RunSuppression(Harness& harness, const std::vector<cv::Mat>& maps, int window) {
  const std::string name = "suppression, window " + std::to_string(window);
  if (!harness.Wants(name)) return 0;
  std::vector<Variant> variants;
  for (const bool cornerness : {false, true}) {
    for (const bool label : {false, true}) {
      const LabelOptions options = {(window + 1) / 2, cornerness, label};
      if (!std::all_of(maps.begin(), maps.end(),
                       [&options](const cv::Mat& map) { return IsLossless(map, options); })) {
        std::fprintf(stderr, "%s: the compression of labels changes the corners\n", name.c_str());
        return 1;
      }
      const char* compressions[] = {"none", "LMC", "CMC", "CMC+LMC"};
      variants.push_back({compressions[2 * cornerness + label], [&maps, options] {
                            for (const cv::Mat& map : maps) SuppressByLabels(map, options);
                          }});
    }
  }
  harness.Compare(name, variants, "none");
  return 0;
}

void RunDetection(Harness& harness, const std::vector<cv::Mat>& frames,
                  const std::vector<float>& quality_levels, int window) {
  const std::string name = "detection, window " + std::to_string(window);
  if (!harness.Wants(name)) return;
  const int distance_px = (window + 1) / 2;
  std::vector<Variant> variants = {
      {"cv::goodFeaturesToTrack", [&] {
         std::vector<cv::Point2f> corners;
         for (size_t i = 0; i < frames.size(); ++i) {
           cv::goodFeaturesToTrack(frames[i], corners, 0, static_cast<double>(quality_levels[i]),
                                   distance_px, cv::noArray(), kBlock, true, kHarrisK);
         }
       }}};
  std::vector<std::unique_ptr<CpuEngine>> engines;
  for (const bool cornerness : {false, true}) {
    PipelineOptions pipeline = (*FindPreset("harris-corners"))->pipeline;
    pipeline.suppress.minimum_distance_px = distance_px;
    pipeline.suppress.cornerness_compression = cornerness;
    const size_t first = engines.size();
    for (size_t i = 0; i < frames.size(); ++i) {
      engines.push_back(std::make_unique<CpuEngine>(
          cpu::CpuBackendOptions{.threads = 1}, std::vector<cv::Mat>{frames[i]}, pipeline,
          FrameParameters{.max_features = kMaxFeatures, .quality_level = quality_levels[i]}));
    }
    variants.push_back({cornerness ? "orbserve, CMC" : "orbserve", [&engines, &frames, first] {
                          for (size_t i = 0; i < frames.size(); ++i) engines[first + i]->Run(1);
                        }});
  }
  harness.Compare(name, variants, "cv::goodFeaturesToTrack");
}

int Main(int argc, char** argv) {
  Harness harness("label_bench", "Minimum distance by labels, with and without compressions");
  std::vector<std::string> files;
  harness.app().add_option("photographs", files, "Images to make the frames of")->required();
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  const std::vector<cv::Mat> photographs = LoadGrey(files);
  if (photographs.size() != files.size()) return 1;
  const std::vector<cv::Mat> frames = FramesOf(photographs, kFrame);
  harness.AddInfo("opencv", CV_VERSION);
  harness.AddInfo("photographs", std::to_string(frames.size()));
  cv::setNumThreads(1);

  PipelineOptions pipeline = (*FindPreset("harris-corners"))->pipeline;
  pipeline.suppress.minimum_distance_px = kCalibrationDistancePx;
  std::vector<float> quality_levels;
  std::vector<cv::Mat> maps;
  for (const cv::Mat& frame : frames) {
    quality_levels.push_back(QualityLevelFor(frame, pipeline, kCorners));
    maps.push_back(HarrisMap(frame, quality_levels.back()));
  }
  for (const int window : kWindows) {
    if (const int code = RunSuppression(harness, maps, window); code != 0) return code;
    RunDetection(harness, frames, quality_levels, window);
  }
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
