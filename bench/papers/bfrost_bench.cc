// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Detection as in table I of J. Cronje, "BFROST: binary features from robust orientation segment
// tests accelerated on the GPU", 2011: corners with suppression and direction (preset `bfrost`
// without descriptors) beside cv::FAST with suppression, which has no directions, and beside
// cv::ORB::detect on one level, which has them and keeps 31 pixels from the border. All are whole
// calls on the images as they are.

#include <cstdio>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_engine.h"
#include "bench/harness.h"
#include "bench/photographs.h"
#include "features/options.h"

namespace orbserve::bench {
namespace {

// The preset has the first threshold and the paper the second. The third leaves no corners, so that
// the search alone is timed.
constexpr int kThresholds[] = {20, 40, 254};
constexpr int kRingRadiusPx = 3;
constexpr int kAllCorners = 100'000;

// The file's name with its folder, which names the scene of an Oxford set.
std::string ShortName(const std::string& file) {
  const size_t slash = file.rfind('/');
  if (slash == std::string::npos || slash == 0) return file;
  const size_t before = file.rfind('/', slash - 1);
  return before == std::string::npos ? file : file.substr(before + 1);
}

int Main(int argc, char** argv) {
  Harness harness("bfrost_bench", "Corners with directions beside cv::FAST without");
  std::vector<std::string> files;
  harness.app().add_option("images", files, "Images to find corners in")->required();
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  const std::vector<cv::Mat> images = LoadGrey(files);
  if (images.size() != files.size()) return 1;
  harness.AddInfo("opencv", CV_VERSION);
  const Preset& preset = **FindPreset("bfrost");
  PipelineOptions pipeline = preset.pipeline;
  pipeline.describe.descriptor = Descriptor::kNone;
  pipeline.select.border_px = kRingRadiusPx;
  pipeline.select.capacity = kAllCorners;

  for (const int threshold : kThresholds) {
    FrameParameters parameters = preset.frame;
    parameters.fast_threshold_grey = threshold;
    parameters.max_features = kAllCorners;
    for (size_t i = 0; i < images.size(); ++i) {
      const std::string name = ShortName(files[i]) + ", threshold " + std::to_string(threshold);
      if (!harness.Wants(name)) continue;
      std::vector<cv::KeyPoint> keypoints;
      const cv::Ptr<cv::ORB> orb =
          cv::ORB::create(kAllCorners, 1.2f, /*nlevels=*/1, /*edgeThreshold=*/31, /*firstLevel=*/0,
                          /*WTA_K=*/2, cv::ORB::FAST_SCORE, /*patchSize=*/31, threshold);
      std::vector<Variant> variants = {
          {"cv::FAST", [&] { cv::FAST(images[i], keypoints, threshold, true); }},
          {"cv::ORB::detect", [&] { orb->detect(images[i], keypoints); }}};
      std::vector<std::unique_ptr<CpuEngine>> engines;
      for (const int threads : harness.threads()) {
        engines.push_back(std::make_unique<CpuEngine>(cpu::CpuBackendOptions{.threads = threads},
                                                      std::vector<cv::Mat>{images[i]}, pipeline,
                                                      parameters));
        variants.push_back(
            {"orbserve, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
             [engine = engines.back().get()] { engine->Run(1); }});
      }
      // Both keep a corner that is strictly better than its eight neighbours, up to the ring's
      // radius from the border.
      cv::FAST(images[i], keypoints, threshold, true);
      const size_t corners = engines[0]->CountFeatures();
      if (corners != keypoints.size()) {
        std::fprintf(stderr, "%s: %zu corners; cv::FAST has %zu\n", name.c_str(), corners,
                     keypoints.size());
        return 1;
      }
      harness.AddInfo(name + " corners", std::to_string(corners));
      harness.Compare(name, variants, "cv::FAST");
    }
  }
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
