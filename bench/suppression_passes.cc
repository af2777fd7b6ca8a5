// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// How fast the passes of the minimum distance find the corners: the experiment of L. Teixeira, W.
// Celes & M. Gattass, "Accelerated corner-detector algorithms", BMVC 2008, sec. 4.3, on given
// photographs. The quality level of each is set so that about the wanted number of corners comes
// out; printed is the share of them that the first passes find. It is the same on every machine.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <opencv2/core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_engine.h"
#include "bench/photographs.h"
#include "cpu/cpu_backend.h"
#include "features/options.h"

namespace orbserve::bench {
namespace {

constexpr int kAllCorners = 100'000;
constexpr int kPasses = 3;

struct Settings {
  std::vector<std::string> photographs;
  int width_px = 640;  // of the paper's images
  int height_px = 480;
  int corners = 500;
  int distance_px = 5;  // a window of 9x9
};

// Corners of a frame after `max_passes` passes; 0 = all.
size_t CountCorners(const cv::Mat& frame, PipelineOptions pipeline, float quality_level,
                    int max_passes) {
  pipeline.suppress.max_passes = max_passes;
  CpuEngine engine({.threads = 1}, {frame}, pipeline,
                   {.max_features = kAllCorners, .quality_level = quality_level});
  return engine.CountFeatures();
}

// The quality level at which about `wanted` corners come out. A lower level gives no fewer corners
// but for the odd one, so that halving an interval finds it.
float QualityLevelFor(const cv::Mat& frame, const PipelineOptions& pipeline, size_t wanted) {
  float low = 1e-6f;  // gives more
  float high = 0.99f;
  for (int i = 0; i < 16; ++i) {
    const float middle = std::sqrt(low * high);
    const size_t corners = CountCorners(frame, pipeline, middle, 0);
    if (corners == wanted) return middle;
    (corners > wanted ? low : high) = middle;
  }
  return low;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Shares of the corners that the first passes of the minimum distance find"};
  app.add_option("photographs", settings.photographs, "Images to make the frames of")->required();
  app.add_option("--width", settings.width_px, "Width of the frames, pixels")
      ->check(CLI::Range(16, 8192));
  app.add_option("--height", settings.height_px, "Height of the frames, pixels")
      ->check(CLI::Range(16, 8192));
  app.add_option("--corners", settings.corners, "Wanted corners")
      ->check(CLI::Range(1, kAllCorners));
  app.add_option("--distance", settings.distance_px, "Minimum distance, pixels")
      ->check(CLI::Range(2, 64));
  CLI11_PARSE(app, argc, argv);
  const std::vector<cv::Mat> photographs = LoadGrey(settings.photographs);
  if (photographs.size() != settings.photographs.size()) return 1;
  const std::vector<cv::Mat> frames =
      FramesOf(photographs, {settings.width_px, settings.height_px});

  std::printf("%dx%d, distance %d; share of the corners found after 1, 2, 3 passes\n",
              settings.width_px, settings.height_px, settings.distance_px);
  for (const char* preset : {"harris-corners", "klt-corners"}) {
    for (const bool is_compressed : {true, false}) {
      PipelineOptions pipeline = (*FindPreset(preset))->pipeline;
      pipeline.suppress.minimum_distance_px = settings.distance_px;
      pipeline.suppress.cornerness_compression = is_compressed;
      std::printf("%s, %s map\n", preset, is_compressed ? "compressed" : "whole");
      for (size_t i = 0; i < frames.size(); ++i) {
        const float quality_level =
            QualityLevelFor(frames[i], pipeline, static_cast<size_t>(settings.corners));
        const size_t all = CountCorners(frames[i], pipeline, quality_level, 0);
        std::printf("  %-40s quality %.6f, %5zu corners:",
                    settings.photographs[i].substr(settings.photographs[i].rfind('/') + 1).c_str(),
                    static_cast<double>(quality_level), all);
        for (int passes = 1; passes <= kPasses; ++passes) {
          const size_t found = CountCorners(frames[i], pipeline, quality_level, passes);
          std::printf(" %.3f",
                      all == 0 ? 1.0 : static_cast<double>(found) / static_cast<double>(all));
        }
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
