// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Writes tests/data/orb-golden/: images made by rule, and what OpenCV finds in them. Run it with
// OpenCV 4.6 on a processor with AVX2 (docs/determinism.md says why that matters), and only to add
// a case: the files that are there must come out as they are.
//
//   golden_maker tests/data/orb-golden
//
// Exit codes: 0 written, 1 failed, 2 wrong usage.

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgcodecs.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "tests/cpu/golden_cases.h"
#include "tests/cpu/opencv_orb.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {
namespace {

// Columns as golden_files.h reads them; nine digits are enough to tell every float.
void WriteFeatures(const std::string& path, const Features& features) {
  std::ofstream file(path);
  file << "octave,x,y,size,angle,response,descriptor\n";
  for (size_t i = 0; i < features.count(); ++i) {
    const char* const descriptor =
        reinterpret_cast<const char*>(features.descriptors.data() + 32 * i);
    file << absl::StrFormat("%d,%.9g,%.9g,%.9g,%.9g,%.9g,%s\n", features.octave[i], features.x[i],
                            features.y[i], features.size[i], features.angle_deg[i],
                            features.response[i],
                            absl::BytesToHexString(absl::string_view(descriptor, 32)));
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

void WriteCorners(const std::string& path, const std::vector<cv::KeyPoint>& corners) {
  std::ofstream file(path);
  file << "x,y,score\n";
  for (const cv::KeyPoint& corner : corners) {
    file << absl::StrFormat("%g,%g,%g\n", corner.pt.x, corner.pt.y, corner.response);
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

void WriteImage(const std::string& path, const TestImage& image) {
  if (!cv::imwrite(path, MatOf(image.view()), {cv::IMWRITE_PNG_COMPRESSION, 9})) {
    throw std::runtime_error("cannot write " + path);
  }
}

void WriteAll(const std::string& folder) {
  cv::setNumThreads(1);
  WriteImage(folder + "/scene.png", SceneImage(320, 240, 1));
  WriteImage(folder + "/scene_mask.png", RandomMask(320, 240, 8));
  WriteImage(folder + "/noise.png", NoiseImage(161, 131, 2));
  WriteImage(folder + "/lattice.png", DotLattice(200, 160, 13));
  const auto read = [&](const char* name) {
    return cv::imread(folder + "/" + name + ".png", cv::IMREAD_GRAYSCALE);
  };
  for (const GoldenCase& golden : kGoldenCases) {
    const cv::Mat image = read(golden.image);
    const cv::Mat mask = *golden.mask == '\0' ? cv::Mat() : read(golden.mask);
    std::vector<cv::KeyPoint> keypoints;
    cv::Mat descriptors;
    OrbOf({golden.max_features, golden.levels, golden.scale_factor, golden.score})
        ->detectAndCompute(image, mask, keypoints, descriptors);
    WriteFeatures(folder + "/" + golden.name + ".csv", Sorted(FeaturesOf(keypoints, descriptors)));
    std::printf("%s: %zu features\n", golden.name, keypoints.size());
  }
  for (const char* const name : kGoldenFastImages) {
    std::vector<cv::KeyPoint> corners;
    cv::FAST(read(name), corners, 20, /*nonmaxSuppression=*/true,
             cv::FastFeatureDetector::TYPE_9_16);
    WriteCorners(folder + "/" + name + ".fast20.csv", corners);
    std::printf("%s.fast20: %zu corners\n", name, corners.size());
  }
}

}  // namespace
}  // namespace orbserve::testing

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: golden_maker FOLDER\n");
    return 2;
  }
  try {
    orbserve::testing::WriteAll(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_maker: %s\n", error.what());
    return 1;
  }
  return 0;
}
