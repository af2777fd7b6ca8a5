// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares the CPU backend with OpenCV's own cv::ORB, and its own variants with each other: every
// field and every descriptor bit, as sets. Not a unit test: a program with a count of what it
// compared and an exit code (0 = no byte differs, 1 = some do, or a file cannot be read, 2 = usage,
// 77 = there was nothing to compare).
//
//   orb_parity [--synthetic] [--full] [--variants] [--shard I/N] [--target NAME] [--threads N]
//              [--max-megapixels M] [FOLDER_OR_FILE...]
//
// Every image found is compared under one of the settings, in turn, or with --full under all of
// them. --synthetic adds images made by rule, each under all settings (with --variants under every
// sixth). --variants compares the plain loops with every SIMD target, in random batches, with 1, 2
// and 7 threads.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>

#include "absl/strings/str_cat.h"
#include "cpu/cpu_backend.h"
#include "cpu/kernels/kernel_target.h"
#include "features/backend.h"
#include "tests/cpu/opencv_orb.h"
#include "tests/cpu/parity_program.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_files.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {
namespace {

std::vector<OrbSettings> Grid() {
  std::vector<OrbSettings> grid;
  for (const int max_features : {500, 1000, 2000, 5000}) {
    for (const int levels : {1, 4, 8}) {
      for (const float scale_factor : {1.2f, 2.0f}) {
        for (const Score score : {Score::kHarris, Score::kFast}) {
          grid.push_back({max_features, levels, scale_factor, score});
        }
      }
    }
  }
  return grid;
}

struct Totals {
  int64_t images = 0;
  int64_t runs = 0;
  int64_t features = 0;
  int64_t left_out = 0;  // OpenCV throws
  int64_t differing_bytes = 0;
  int64_t differing_runs = 0;
};

void Count(const std::string& what, const Features& expected, const Features& actual,
           Totals* totals) {
  ++totals->runs;
  totals->features += static_cast<int64_t>(expected.count());
  const std::string difference = FirstDifference(expected, actual);
  if (difference.empty()) return;
  ++totals->differing_runs;
  totals->differing_bytes +=
      std::max<int64_t>(1, static_cast<int64_t>(DifferingBytes(expected, actual)));
  std::printf("DIFFERS %s: %s\n", what.c_str(), difference.c_str());
}

// Keypoints that a caller could give: detected ones, some moved, turned or put on another level,
// octaves mixed. `class_id` is the row.
std::vector<cv::KeyPoint> MakeGiven(const std::vector<cv::KeyPoint>& detected, int levels,
                                    const cv::Size& size, std::mt19937& random) {
  std::vector<cv::KeyPoint> given = detected;
  std::uniform_real_distribution<float> x(-10.0f, static_cast<float>(size.width) + 10.0f);
  std::uniform_real_distribution<float> y(-10.0f, static_cast<float>(size.height) + 10.0f);
  std::uniform_real_distribution<float> angle(0.0f, 360.0f);
  for (int i = 0; i < 200; ++i) {
    cv::KeyPoint point(x(random), y(random), 31.0f, i % 5 == 0 ? -1.0f : angle(random), 0.5f,
                       static_cast<int>(random() % static_cast<uint32_t>(levels)));
    if (i % 7 == 0) point.pt.x = 30.5f + static_cast<float>(random() % 3) * 0.5f;
    if (i % 11 == 0) point.pt.y = static_cast<float>(size.height) - 31.5f;
    given.push_back(point);
  }
  if (random() % 2 == 0) std::shuffle(given.begin(), given.end(), random);
  for (size_t i = 0; i < given.size(); ++i) given[i].class_id = static_cast<int>(i);
  return given;
}

GivenKeypoints GivenOf(const std::vector<cv::KeyPoint>& keypoints) {
  GivenKeypoints given;
  for (const cv::KeyPoint& k : keypoints) {
    given.x.push_back(k.pt.x);
    given.y.push_back(k.pt.y);
    given.size.push_back(k.size);
    given.angle_deg.push_back(k.angle);
    given.response.push_back(k.response);
    given.octave.push_back(k.octave);
  }
  return given;
}

// The rows of `features` regrouped as OpenCV does when octaves do not ascend.
Features RegroupedByOctave(const Features& features) {
  std::vector<size_t> order(features.count());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return features.octave[a] < features.octave[b]; });
  Features grouped;
  grouped.descriptor_bytes = features.descriptor_bytes;
  grouped.Resize(features.count());
  for (size_t row = 0; row < order.size(); ++row) {
    const size_t from = order[row];
    grouped.x[row] = features.x[from];
    grouped.y[row] = features.y[from];
    grouped.size[row] = features.size[from];
    grouped.angle_deg[row] = features.angle_deg[from];
    grouped.response[row] = features.response[from];
    grouped.octave[row] = features.octave[from];
    grouped.source_index.push_back(features.source_index[from]);
    std::memcpy(grouped.descriptors.data() + 32 * row, features.descriptors.data() + 32 * from, 32);
  }
  return grouped;
}

void CompareWithOpenCv(FeatureBackend& backend, const std::string& name, const cv::Mat& image,
                       const OrbSettings& settings, bool with_mask_and_given, uint32_t seed,
                       Totals* totals) {
  const std::string what =
      absl::StrCat(name, " n ", settings.max_features, " levels ", settings.levels, " scale ",
                   settings.scale_factor, settings.score == Score::kHarris ? " Harris" : " FAST");
  const PipelineOptions pipeline = PipelineOf(settings);
  FrameInput input = {.image = ViewOf(image)};
  input.parameters.max_features = settings.max_features;
  const auto ours = RunFrame(backend, pipeline, input);
  if (!ours.ok()) {
    std::printf("FAILED %s: %s\n", what.c_str(), ours.status().ToString().c_str());
    ++totals->differing_runs;
    return;
  }
  const cv::Ptr<cv::ORB> orb = OrbOf(settings);
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
  try {
    orb->detectAndCompute(image, cv::noArray(), keypoints, descriptors);
  } catch (const cv::Exception&) {
    ++totals->left_out;
    return;
  }
  Count(what, Sorted(FeaturesOf(keypoints, descriptors)), **ours, totals);
  if (!with_mask_and_given) return;

  const TestImage mask = RandomMask(image.cols, image.rows, seed);
  std::vector<cv::KeyPoint> masked;
  orb->detectAndCompute(image, MatOf(mask.view()), masked, descriptors);
  input.mask = mask.view();
  const auto ours_masked = RunFrame(backend, pipeline, input);
  input.mask = {};
  if (ours_masked.ok()) {
    Count(what + " masked", Sorted(FeaturesOf(masked, descriptors)), **ours_masked, totals);
  } else {
    ++totals->differing_runs;
  }

  std::mt19937 random(seed);
  std::vector<cv::KeyPoint> given = MakeGiven(keypoints, settings.levels, image.size(), random);
  input.given_keypoints = std::make_shared<const GivenKeypoints>(GivenOf(given));
  const auto ours_given = RunFrame(backend, pipeline, input);
  const bool ascending = std::is_sorted(
      given.begin(), given.end(), [](const auto& a, const auto& b) { return a.octave < b.octave; });
  orb->compute(image, given, descriptors);
  if (!ours_given.ok()) {
    std::printf("FAILED %s given: %s\n", what.c_str(), ours_given.status().ToString().c_str());
    ++totals->differing_runs;
    return;
  }
  Features expected = FeaturesOf(given, descriptors);
  for (const cv::KeyPoint& k : given) {
    expected.source_index.push_back(static_cast<uint32_t>(k.class_id));
  }
  Count(what + " given", expected, ascending ? **ours_given : RegroupedByOctave(**ours_given),
        totals);
}

// Backends whose answers must be the same.
struct Variant {
  std::string name;
  std::unique_ptr<FeatureBackend> backend;
};

std::vector<Variant> MakeVariants() {
  std::vector<Variant> variants;
  const auto add = [&](const cpu::CpuBackendOptions& options, const std::string& name) {
    auto backend = cpu::CreateCpuBackend(options);
    if (!backend.ok()) {
      std::printf("%s: %s\n", name.c_str(), backend.status().ToString().c_str());
      std::exit(2);
    }
    variants.push_back({absl::StrCat(name, " x ", options.threads), *std::move(backend)});
  };
  add({.threads = 1, .reference = true}, "reference");
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    for (const int threads : {1, 2, 7}) {
      add({.threads = threads, .simd_target = target.name}, std::string(target.name));
    }
  }
  return variants;
}

// Every variant gets the same frames: the reference one by one, the others in random batches.
void CompareVariants(std::vector<Variant>& variants, const std::string& name, const cv::Mat& image,
                     const OrbSettings& settings, uint32_t seed, Totals* totals) {
  std::mt19937 random(seed);
  const PipelineOptions pipeline = PipelineOf(settings);
  const TestImage mask = RandomMask(image.cols, image.rows, seed);
  const PlanSpec spec = {image.cols, image.rows, pipeline};
  // Frames that differ in all that may differ inside a batch.
  std::vector<FrameInput> frames;
  for (int i = 0; i < 4; ++i) {
    FrameInput input = {.image = ViewOf(image)};
    input.parameters.max_features = i % 2 == 0 ? settings.max_features : 300;
    input.parameters.fast_threshold_grey = i < 2 ? 20 : 7;
    if (i == 1) input.mask = mask.view();
    frames.push_back(input);
  }
  std::vector<std::shared_ptr<const Features>> expected;
  for (Variant& variant : variants) {
    auto plan = variant.backend->MakePlan(spec);
    if (!plan.ok()) {
      ++totals->differing_runs;
      continue;
    }
    std::vector<size_t> order(frames.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const bool reference = expected.empty();
    if (!reference) std::shuffle(order.begin(), order.end(), random);
    for (size_t next = 0; next < order.size();) {
      const size_t batch = reference ? 1 : std::min<size_t>(1 + random() % 4, order.size() - next);
      std::vector<FrameJob> jobs;
      for (size_t i = 0; i < batch; ++i) {
        jobs.push_back(*MakeJob(*variant.backend, frames[order[next + i]]));
      }
      FrameBatchAnswer answer = RunBatch(*variant.backend, *plan, std::move(jobs));
      for (size_t i = 0; i < batch; ++i) {
        const FrameAnswer& frame = answer.frames[i];
        if (!frame.status.ok()) {
          std::printf("FAILED %s: %s\n", name.c_str(), frame.status.ToString().c_str());
          ++totals->differing_runs;
        } else if (reference) {
          expected.push_back(frame.features);
        } else {
          Count(absl::StrCat(name, " ", variant.name), *expected[order[next + i]], *frame.features,
                totals);
        }
      }
      next += batch;
    }
  }
}

struct Arguments : ParityArguments {
  bool variants = false;
  int threads = 2;
};

// Either way of comparing, whichever was asked for.
class Comparison {
 public:
  // Ends the program when there is no such backend.
  explicit Comparison(const Arguments& arguments) {
    if (arguments.variants) {
      variants_ = MakeVariants();
      return;
    }
    auto made =
        cpu::CreateCpuBackend({.threads = arguments.threads, .simd_target = arguments.target});
    if (!made.ok()) {
      std::printf("%s\n", made.status().ToString().c_str());
      std::exit(2);
    }
    backend_ = *std::move(made);
    std::printf("backend: %s\n", backend_->devices()[0].details.c_str());
  }

  // `index` of the image seeds what is random; every `every`-th setting from the `first`-th on.
  void CompareImage(const std::string& name, const cv::Mat& image, uint32_t index, size_t first,
                    size_t every, bool always_with_mask_and_given) {
    ++totals_.images;
    // Odd sizes as well: the same pixels less a few columns and rows.
    const cv::Mat odd = image.cols > 80 && image.rows > 80
                            ? image(cv::Rect(1, 2, image.cols - 6, image.rows - 3)).clone()
                            : image;
    for (size_t s = first; s < grid_.size(); s += every) {
      const uint32_t seed = index * 1000 + static_cast<uint32_t>(s);
      const cv::Mat& pixels = s % 4 == 3 ? odd : image;
      if (backend_ == nullptr) {
        CompareVariants(variants_, name, pixels, grid_[s], seed, &totals_);
      } else {
        CompareWithOpenCv(*backend_, name, pixels, grid_[s],
                          always_with_mask_and_given || grid_[s].max_features == 1000, seed,
                          &totals_);
      }
    }
    std::fflush(stdout);
  }

  size_t settings() const { return grid_.size(); }
  bool variants() const { return backend_ == nullptr; }
  const Totals& totals() const { return totals_; }

 private:
  const std::vector<OrbSettings> grid_ = Grid();
  std::vector<Variant> variants_;
  std::unique_ptr<FeatureBackend> backend_;  // null: variants
  Totals totals_;
};

void CompareSynthetic(Comparison* comparison) {
  const std::pair<const char*, TestImage> images[] = {
      {"scene 320x240", SceneImage(320, 240, 1)},
      {"scene 641x479", SceneImage(641, 479, 2)},
      {"noise 333x250", NoiseImage(333, 250, 3)},
      {"noise 64x64", NoiseImage(64, 64, 4)},
      {"lattice 300x200", DotLattice(300, 200, 9)},
      {"checkerboard 200x150", Checkerboard(200, 150)},
  };
  uint32_t index = 0;
  for (const auto& [name, image] : images) {
    const size_t every = comparison->variants() ? 6 : 1;
    comparison->CompareImage(name, MatOf(image.view()), index, index % every, every, true);
    ++index;
  }
}

int Main(int argc, char** argv) {
  Arguments arguments;
  const auto take = [&](const std::string& flag, const std::function<std::string()>& value) {
    if (flag == "--variants") {
      arguments.variants = true;
    } else if (flag == "--threads") {
      arguments.threads = std::atoi(value().c_str());
    } else {
      return false;
    }
    return true;
  };
  if (!ParseParityArguments(argc, argv, take, &arguments)) {
    std::fprintf(stderr, "orb_parity: wrong usage, see the head of orb_parity.cc\n");
    return 2;
  }
  const std::vector<std::string> files = ImageFilesOf(arguments.paths);
  if (files.empty() && !arguments.synthetic) {
    std::printf("SKIPPED: no images found\n");
    return 77;
  }
  cv::setNumThreads(1);
  Comparison comparison(arguments);
  if (arguments.synthetic) CompareSynthetic(&comparison);
  const int unreadable = ForEachImage(
      files, arguments, [&](const std::string& file, const cv::Mat& image, size_t number) {
        comparison.CompareImage(file, image, static_cast<uint32_t>(number),
                                arguments.full ? 0 : number * 7 % comparison.settings(),
                                arguments.full ? 1 : comparison.settings(), !arguments.full);
      });
  const Totals& totals = comparison.totals();
  std::printf(
      "images %ld, runs %ld, features %ld, left out (OpenCV throws) %ld, differing runs "
      "%ld, differing bytes %ld\n",
      static_cast<long>(totals.images), static_cast<long>(totals.runs),
      static_cast<long>(totals.features), static_cast<long>(totals.left_out),
      static_cast<long>(totals.differing_runs), static_cast<long>(totals.differing_bytes));
  return totals.differing_runs == 0 && totals.runs > 0 && unreadable == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::testing

int main(int argc, char** argv) { return orbserve::testing::Main(argc, argv); }
