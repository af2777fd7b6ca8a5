// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force matching of 256-bit descriptors (Hamming) and of 128 bytes (L2): every SIMD target
// and the plain loops beside cv::BFMatcher. Descriptors are uniformly random (fixed seed): no early
// exit exists in any of them, and random bits are the worst case for ours, because the k-th best
// improves most often. Keypoints are spread evenly over a frame of 1920x1080, for matches in a
// window.

#include <hwy/highway.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "cpu/matching/match_descriptors.h"
#include "features/algo/metric.h"
#if ORBSERVE_BENCH_HAS_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#endif

namespace orbserve::bench {
namespace {

constexpr int kBinaryBytes = 32;

Features RandomDescriptors(int count, int descriptor_bytes, uint32_t seed) {
  Features features;
  features.descriptor_bytes = descriptor_bytes;
  features.Resize(static_cast<size_t>(count));
  std::mt19937 random(seed);
  for (uint8_t& byte : features.descriptors) byte = static_cast<uint8_t>(random());
  for (float& x : features.x) x = static_cast<float>(random() % 1920);
  for (float& y : features.y) y = static_cast<float>(random() % 1080);
  return features;
}

struct Task {
  std::string name;
  MatchOptions options;
  int descriptor_bytes = kBinaryBytes;
};

std::vector<Task> Tasks() {
  return {{"best", {.k = 1}},
          {"two best", {.k = 2}},
          {"ratio 0.8", {.k = 1, .ratio = 0.8f}},
          {"cross-check", {.k = 1, .cross_check = true}},
          {"16 best", {.k = 16}},
          {"best, window 50", {.k = 1, .window_px = 50.0f}},
          // The peer takes no mask with its cross-check.
          {"ratio 0.8, window 50", {.k = 1, .ratio = 0.8f, .window_px = 50.0f}},
          {"L2, two best", {.k = 2}, algo::kVectorBytes},
          {"L2, ratio 0.8", {.k = 1, .ratio = 0.8f}, algo::kVectorBytes},
          {"L2, cross-check", {.k = 1, .cross_check = true}, algo::kVectorBytes}};
}

#if ORBSERVE_BENCH_HAS_OPENCV
// Which pairs lie in the window; empty where there is none.
cv::Mat WindowMask(const Features& query, const Features& train, float window_px) {
  if (window_px == 0.0f) return {};
  cv::Mat mask(static_cast<int>(query.count()), static_cast<int>(train.count()), CV_8U);
  for (int q = 0; q < mask.rows; ++q) {
    auto* const row = mask.ptr<uint8_t>(q);
    const float x = query.x[static_cast<size_t>(q)];
    const float y = query.y[static_cast<size_t>(q)];
    for (size_t t = 0; t < train.count(); ++t) {
      row[t] = std::fabs(train.x[t] - x) <= window_px && std::fabs(train.y[t] - y) <= window_px;
    }
  }
  return mask;
}

// cv::BFMatcher doing the same. It has no ratio test of its own: users ask for two best and
// compare.
void RunPeer(const cv::Mat& query, const cv::Mat& train, const cv::Mat& mask,
             const MatchOptions& options) {
  const bool is_vector = algo::MetricOf(query.cols) == algo::Metric::kSquaredEuclidean;
  const cv::BFMatcher matcher(is_vector ? cv::NORM_L2 : cv::NORM_HAMMING, options.cross_check);
  if (options.cross_check) {
    std::vector<cv::DMatch> matches;
    matcher.match(query, train, matches, mask);
    return;
  }
  std::vector<std::vector<cv::DMatch>> matches;
  matcher.knnMatch(query, train, matches, options.ratio > 0 ? 2 : options.k, mask);
  if (options.ratio <= 0) return;
  std::vector<cv::DMatch> kept;
  for (const auto& pair : matches) {
    if (pair.empty()) continue;
    const float second =
        pair.size() > 1 ? pair[1].distance : static_cast<float>(algo::LargestDistance(query.cols));
    if (pair[0].distance < options.ratio * second) kept.push_back(pair[0]);
  }
}
#endif

void RunCase(Harness& harness, int query_count, int train_count, const Task& task, int threads) {
  const std::string name = std::to_string(query_count) + "x" + std::to_string(train_count) + " " +
                           task.name + ", " + std::to_string(threads) +
                           (threads == 1 ? " thread" : " threads");
  if (!harness.Wants(name)) return;
  const Features query = RandomDescriptors(query_count, task.descriptor_bytes, 1);
  const Features train = RandomDescriptors(train_count, task.descriptor_bytes, 2);
  tbb::task_arena arena(threads);
  std::vector<Variant> variants;
#if ORBSERVE_BENCH_HAS_OPENCV
  cv::Mat query_mat(query_count, task.descriptor_bytes, CV_8U,
                    const_cast<uint8_t*>(query.descriptors.data()));
  cv::Mat train_mat(train_count, task.descriptor_bytes, CV_8U,
                    const_cast<uint8_t*>(train.descriptors.data()));
  if (algo::MetricOf(task.descriptor_bytes) == algo::Metric::kSquaredEuclidean) {
    // The type that cv::SIFT answers, for which cv::BFMatcher is faster.
    query_mat.convertTo(query_mat, CV_32F);
    train_mat.convertTo(train_mat, CV_32F);
  }
  cv::setNumThreads(threads);
  variants.push_back({"cv::BFMatcher", [&] {
                        RunPeer(query_mat, train_mat,
                                WindowMask(query, train, task.options.window_px), task.options);
                      }});
#endif
  std::vector<const cpu::MatchKernels*> matchers = cpu::AllSimdMatchKernels();
  if (threads > 1) matchers.resize(1);
  if (threads == 1) matchers.push_back(&cpu::ReferenceMatchKernels());
  for (const cpu::MatchKernels* matcher : matchers) {
    variants.push_back({"orbserve " + std::string(matcher->name), [&, matcher] {
                          arena.execute(
                              [&] { cpu::MatchDescriptors(*matcher, query, train, task.options); });
                        }});
  }
  harness.Compare(name, variants, "cv::BFMatcher");
}

int Main(int argc, char** argv) {
  Harness harness("match_bench",
                  "Brute-force matching of 256-bit descriptors, and of vectors by L2");
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  harness.AddInfo("simd_target", std::string(cpu::SimdMatchKernels().name));
  harness.AddInfo("highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
                                 std::to_string(HWY_PATCH));
  harness.AddInfo("onetbb", TBB_VERSION_STRING);
#if ORBSERVE_BENCH_HAS_OPENCV
  harness.AddInfo("opencv", CV_VERSION);
#endif
  for (const int threads : harness.threads()) {
    for (const Task& task : Tasks()) RunCase(harness, 2000, 2000, task, threads);
    for (const int count : {128, 500, 1000, 5000}) {
      RunCase(harness, count, count, Tasks()[1], threads);
    }
  }
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
