// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares SiftExtractor with OpenCV's own cv::SIFT: every field, every byte and the order. Not a
// unit test: a program with a count of what it compared and an exit code (0 = no byte differs, 1 =
// some do, or a file cannot be read, 2 = usage, 77 = skipped: there was nothing to compare, or this
// OpenCV does not compute as the one that is the reference).
//
//   sift_parity [--synthetic] [--full] [--shard I/N] [--target NAME] [--max-megapixels M]
//               [FOLDER_OR_FILE...]
//
// Every image found is compared under one of the option sets, in turn, or with --full under all.
// --synthetic adds images made by rule, each under all sets. NAME is `reference` or a SIMD target;
// the fastest without it. OpenCV must run its code for AVX2, not that for AVX-512:
// OPENCV_CPU_DISABLE=AVX512-SKX.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/features2d.hpp>

#include "absl/strings/str_cat.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/kernels/sift_extractor.h"
#include "cpu/kernels/sift_kernels.h"
#include "cpu/memory/aligned_buffer.h"
#include "features/options.h"
#include "tests/cpu/opencv_orb.h"
#include "tests/cpu/parity_program.h"
#include "tests/support/image_files.h"
#include "tests/support/image_makers.h"
#include "tests/support/sift_settings.h"

namespace orbserve::testing {
namespace {

std::string NameOf(const SiftSettings& options) {
  return absl::StrCat("features ", options.max_features, " layers ", options.octave_layers,
                      " contrast ", options.contrast_threshold, " edge ", options.edge_threshold,
                      " sigma ", options.sigma, " first octave ", options.first_octave);
}

struct Totals {
  int64_t images = 0;
  int64_t runs = 0;
  int64_t features = 0;
  int64_t differing_features = 0;
  int64_t differing_runs = 0;
};

bool SameKeypoint(const cv::KeyPoint& a, const algo::SiftFeature& b) {
  const float theirs[] = {a.pt.x, a.pt.y, a.size, a.angle, a.response};
  const float ours[] = {b.x, b.y, b.size, b.angle_deg, b.response};
  return std::memcmp(theirs, ours, sizeof(ours)) == 0 && a.octave == b.octave;
}

cv::KeyPoint KeyPointOf(const algo::SiftFeature& feature) {
  return {feature.x, feature.y, feature.size, feature.angle_deg, feature.response, feature.octave};
}

void Compare(const std::string& name, const cv::Mat& image, const SiftSettings& options,
             const cv::Mat& mask, const cpu::SiftKernels& kernels, Totals* totals) {
  const cv::Ptr<cv::SIFT> sift =
      cv::SIFT::create(options.max_features, options.octave_layers, options.contrast_threshold,
                       options.edge_threshold, options.sigma, CV_8U);
  const cpu::SiftExtractor extractor(image.cols, image.rows, options.options(), kernels);
  cpu::SiftMemory ours;
  ours.scratch.resize(1);
  cpu::AlignedBuffer memory;
  if (!memory.Allocate(extractor.image_floats() * sizeof(float))) std::abort();
  auto* const images = reinterpret_cast<float*>(memory.data());
  const ImageView mask_view = ViewOf(mask);
  extractor.Detect(ViewOf(image), mask.empty() ? nullptr : &mask_view, options.max_features,
                   nullptr, images, &ours);
  extractor.PrepareDescriptors(images, &ours);
  extractor.Describe(ours.tasks.data(), static_cast<int>(ours.tasks.size()), &ours.scratch[0]);
  for (algo::SiftFeature& feature : ours.keypoints) {
    feature.octave = extractor.PackedOctave(feature.octave);
  }

  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
  if (options.first_octave < 0) {
    sift->detectAndCompute(image, mask, keypoints, descriptors);
  } else {
    // OpenCV never detects without doubling, but it describes so: no octave is below 0.
    for (const algo::SiftFeature& feature : ours.keypoints) {
      keypoints.push_back(KeyPointOf(feature));
    }
    if (!keypoints.empty()) sift->compute(image, keypoints, descriptors);
  }
  ++totals->runs;
  totals->features += static_cast<int64_t>(keypoints.size());
  int64_t differing = std::abs(static_cast<int64_t>(keypoints.size()) -
                               static_cast<int64_t>(ours.keypoints.size()));
  std::string first;
  for (size_t i = 0; i < std::min(keypoints.size(), ours.keypoints.size()); ++i) {
    const bool same_place = SameKeypoint(keypoints[i], ours.keypoints[i]);
    const bool same = same_place && std::memcmp(descriptors.ptr(static_cast<int>(i)),
                                                ours.descriptors.data() + 128 * i, 128) == 0;
    if (same) continue;
    ++differing;
    if (first.empty()) {
      first = absl::StrCat("row ", i, same_place ? " (descriptor)" : " (keypoint)", " at ",
                           keypoints[i].pt.x, ", ", keypoints[i].pt.y);
    }
  }
  if (differing == 0) return;
  ++totals->differing_runs;
  totals->differing_features += differing;
  std::printf("DIFFERS %s %s: %ld of %zu (here %zu), %s\n", name.c_str(), NameOf(options).c_str(),
              static_cast<long>(differing), keypoints.size(), ours.keypoints.size(), first.c_str());
}

// Says why this OpenCV is no reference, or nothing.
std::string WhyNoReference() {
  if (!cv::checkHardwareSupport(CV_CPU_AVX2) || !cv::checkHardwareSupport(CV_CPU_FMA3)) {
    return "OpenCV runs without AVX2 and FMA here";
  }
  if (cv::checkHardwareSupport(CV_CPU_AVX512_SKX)) {
    return "OpenCV runs its code for AVX-512; set OPENCV_CPU_DISABLE=AVX512-SKX";
  }
  // What is fused is the compiler's choice.
  if (cv::getBuildInformation().find("(ver 12.") == std::string::npos) {
    return "this OpenCV was not built by GCC 12";
  }
  return "";
}

const cpu::SiftKernels* KernelsOf(const std::string& name) {
  if (name == "reference") return &cpu::ReferenceSiftKernels();
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    if (name.empty() || target.name == name) return &cpu::SiftKernelsFor(target);
  }
  return nullptr;
}

void CompareImage(const std::string& name, const cv::Mat& image, size_t index, bool all,
                  const cpu::SiftKernels& kernels, Totals* totals) {
  const std::vector<SiftSettings> grid = SiftSettingSets();
  ++totals->images;
  for (size_t i = 0; i < grid.size(); ++i) {
    if (!all && i != index * 7 % grid.size()) continue;
    // Odd sizes as well: the same pixels less a few columns and rows.
    const bool odd = i % 3 == 1 && image.cols > 80 && image.rows > 80;
    const cv::Mat pixels =
        odd ? image(cv::Rect(1, 2, image.cols - 6 - static_cast<int>(i % 8), image.rows - 3))
                  .clone()
            : image;
    cv::Mat mask;
    if (i % 5 == 4 && grid[i].first_octave < 0) {
      const TestImage random = RandomMask(pixels.cols, pixels.rows, static_cast<uint32_t>(index));
      mask = MatOf(random.view()).clone();
    }
    Compare(name, pixels, grid[i], mask, kernels, totals);
  }
  std::fflush(stdout);
}

void CompareSynthetic(const cpu::SiftKernels& kernels, Totals* totals) {
  const std::pair<const char*, TestImage> images[] = {
      {"scene 160x120", SceneImage(160, 120, 1)},   {"scene 81x59", SceneImage(81, 59, 2)},
      {"noise 133x90", NoiseImage(133, 90, 3)},     {"lattice 100x80", DotLattice(100, 80, 9)},
      {"checkerboard 90x70", Checkerboard(90, 70)}, {"noise 11x40", NoiseImage(11, 40, 4)},
      {"noise 5x3", NoiseImage(5, 3, 5)},           {"noise 1x1", NoiseImage(1, 1, 6)},
  };
  size_t index = 0;
  for (const auto& [name, image] : images) {
    CompareImage(name, MatOf(image.view()), index++, true, kernels, totals);
  }
}

int Main(int argc, char** argv) {
  ParityArguments arguments;
  const auto none = [](const std::string&, const auto&) { return false; };
  if (!ParseParityArguments(argc, argv, none, &arguments)) {
    std::fprintf(stderr, "sift_parity: wrong usage, see the head of sift_parity.cc\n");
    return 2;
  }
  const cpu::SiftKernels* const kernels = KernelsOf(arguments.target);
  if (kernels == nullptr) {
    std::fprintf(stderr, "sift_parity: no target %s here\n", arguments.target.c_str());
    return 2;
  }
  const std::string reason = WhyNoReference();
  const std::vector<std::string> files = ImageFilesOf(arguments.paths);
  if (!reason.empty() || (files.empty() && !arguments.synthetic)) {
    std::printf("SKIPPED: %s\n", reason.empty() ? "no images found" : reason.c_str());
    return 77;
  }
  cv::setNumThreads(1);
  Totals totals;
  if (arguments.synthetic) CompareSynthetic(*kernels, &totals);
  const int unreadable = ForEachImage(
      files, arguments, [&](const std::string& file, const cv::Mat& image, size_t number) {
        CompareImage(file, image, number, arguments.full, *kernels, &totals);
      });
  std::printf(
      "target '%s', images %ld, runs %ld, features %ld, differing runs %ld, differing features "
      "%ld\n",
      arguments.target.c_str(), static_cast<long>(totals.images), static_cast<long>(totals.runs),
      static_cast<long>(totals.features), static_cast<long>(totals.differing_runs),
      static_cast<long>(totals.differing_features));
  return totals.differing_runs == 0 && totals.features > 0 && unreadable == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::testing

int main(int argc, char** argv) { return orbserve::testing::Main(argc, argv); }
