// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Measures how fast passes of the minimum distance find corners: the experiment of L. Teixeira, W.
// Celes & M. Gattass, "Accelerated corner-detector algorithms", BMVC 2008, sec. 4.3, on given
// photographs. The quality level of each is set so that about the wanted number of corners comes
// out; printed is the share of them that the first passes find. It is the same on every machine.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/photographs.h"
#include "bench/quality_level.h"
#include "features/options.h"

namespace orbserve::bench {
namespace {

constexpr int kPasses = 3;

struct Settings {
  std::vector<std::string> photographs;
  int width_px = 640;  // of the paper's images
  int height_px = 480;
  int corners = 500;
  int distance_px = 5;  // a window of 9x9
  std::string json;     // file for the results; "" = none
};

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Shares of the corners that the first passes of the minimum distance find"};
  app.add_option("photographs", settings.photographs, "Images to make the frames of")->required();
  app.add_option("--width", settings.width_px, "Width of the frames, pixels")
      ->check(CLI::Range(16, 8192));
  app.add_option("--height", settings.height_px, "Height of the frames, pixels")
      ->check(CLI::Range(16, 8192));
  app.add_option("--corners", settings.corners, "Wanted corners")
      ->check(CLI::Range(1, kMaxFeatures));
  app.add_option("--distance", settings.distance_px, "Minimum distance, pixels")
      ->check(CLI::Range(2, 64));
  app.add_option("--json", settings.json, "Also write the results to this file");
  CLI11_PARSE(app, argc, argv);
  const std::vector<cv::Mat> photographs = LoadGrey(settings.photographs);
  if (photographs.size() != settings.photographs.size()) return 1;
  const std::vector<cv::Mat> frames =
      FramesOf(photographs, {settings.width_px, settings.height_px});

  std::printf("%dx%d, distance %d; share of the corners found after 1, 2, 3 passes\n",
              settings.width_px, settings.height_px, settings.distance_px);
  std::vector<std::string> results;
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
        const std::string name =
            settings.photographs[i].substr(settings.photographs[i].rfind('/') + 1);
        std::printf("  %-40s quality %.6f, %5zu corners:", name.c_str(),
                    static_cast<double>(quality_level), all);
        std::vector<double> shares;
        for (int passes = 1; passes <= kPasses; ++passes) {
          const size_t found = CountCorners(frames[i], pipeline, quality_level, passes);
          shares.push_back(all == 0 ? 1.0 : static_cast<double>(found) / static_cast<double>(all));
          std::printf(" %.3f", shares.back());
        }
        std::printf("\n");
        std::fflush(stdout);
        // Order of the photographs, since names of files in several folders may be equal.
        results.push_back(absl::StrFormat(
            R"({"preset": "%s", "compressed": %s, "photograph": %d, "corners": %d, "found": [%s]})",
            preset, is_compressed ? "true" : "false", i, all, absl::StrJoin(shares, ", ")));
      }
    }
  }
  if (!settings.json.empty()) {
    std::ofstream file(settings.json);
    file << "[" << absl::StrJoin(results, ",\n ") << "]\n";
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", settings.json.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
