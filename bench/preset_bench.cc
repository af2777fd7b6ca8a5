// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every preset beside the nearest that a user of OpenCV can call, one frame in flight. Times are
// those of one pass over all photographs, each brought to the size of the case. `orb` has
// an equal in OpenCV, and `orb-slam3` one made of its primitives; the name of each other peer says
// what it does instead, and the numbers of features of both sides are printed with the results.

#include <hwy/highway.h>
#include <tbb/version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_engine.h"
#include "bench/harness.h"
#include "bench/orb_slam3_peer.h"
#include "bench/photographs.h"
#include "cpu/kernels/kernel_target.h"
#include "features/options.h"

namespace orbserve::bench {
namespace {

constexpr double kHarrisK = 0.04;
constexpr int kCornerBlock = 7;  // pixels; the window of our corner maps

// OpenCV's way to a comparable result. `run` returns the number of features of one frame.
struct Peer {
  std::string name;
  std::function<size_t(const cv::Mat& frame)> run;
};

Peer OrbPeer(const Preset& preset, bool describe) {
  const PyramidOptions& pyramid = preset.pipeline.pyramid;
  const bool by_harris = preset.pipeline.detect.score == Score::kHarris;
  const cv::Ptr<cv::ORB> orb = cv::ORB::create(
      preset.frame.max_features, pyramid.scale_factor, pyramid.levels, /*edgeThreshold=*/31,
      /*firstLevel=*/0, /*WTA_K=*/2, by_harris ? cv::ORB::HARRIS_SCORE : cv::ORB::FAST_SCORE,
      /*patchSize=*/31, preset.frame.fast_threshold_grey);
  const std::string name =
      (describe ? "cv::ORB, " : "cv::ORB::detect, ") + std::to_string(pyramid.levels) +
      (pyramid.levels == 1 ? " level, " : " levels, ") + (by_harris ? "Harris" : "FAST") + " score";
  return {name, [orb, describe](const cv::Mat& frame) {
            std::vector<cv::KeyPoint> keypoints;
            if (describe) {
              cv::Mat descriptors;
              orb->detectAndCompute(frame, cv::noArray(), keypoints, descriptors);
            } else {
              orb->detect(frame, keypoints);
            }
            return keypoints.size();
          }};
}

// cv::FAST on each level, then the strongest corner of each cell of the frame, then the strongest
// cells.
Peer CellPeer(const Preset& preset) {
  return {"cv::FAST with its own score, arc 9, best of each cell", [&preset](const cv::Mat& frame) {
            const SuppressOptions& suppress = preset.pipeline.suppress;
            const int columns = (frame.cols + suppress.cell_width_px - 1) / suppress.cell_width_px;
            const int rows = (frame.rows + suppress.cell_height_px - 1) / suppress.cell_height_px;
            std::vector<cv::KeyPoint> best(static_cast<size_t>(columns * rows));
            for (cv::KeyPoint& corner : best) corner.response = -1;
            cv::Mat level = frame;
            float scale = 1;
            for (int octave = 0; octave < preset.pipeline.pyramid.levels; ++octave) {
              if (octave > 0) {
                const double factor =
                    1.0 / static_cast<double>(preset.pipeline.pyramid.scale_factor);
                cv::Mat smaller;
                cv::resize(level, smaller, cv::Size(), factor, factor, cv::INTER_LINEAR);
                level = smaller;
                scale *= preset.pipeline.pyramid.scale_factor;
              }
              std::vector<cv::KeyPoint> corners;
              cv::FAST(level, corners, preset.frame.fast_threshold_grey, /*nonmaxSuppression=*/true,
                       cv::FastFeatureDetector::TYPE_9_16);
              for (cv::KeyPoint& corner : corners) {
                corner.pt *= scale;
                corner.octave = octave;
                const int column =
                    std::min(static_cast<int>(corner.pt.x) / suppress.cell_width_px, columns - 1);
                const int row =
                    std::min(static_cast<int>(corner.pt.y) / suppress.cell_height_px, rows - 1);
                cv::KeyPoint& chosen = best[static_cast<size_t>(row * columns + column)];
                if (corner.response > chosen.response) chosen = corner;
              }
            }
            std::erase_if(best, [](const cv::KeyPoint& corner) { return corner.response < 0; });
            cv::KeyPointsFilter::retainBest(best, preset.frame.max_features);
            return best.size();
          }};
}

Peer CornerMapPeer(const Preset& preset) {
  const bool harris = preset.pipeline.detect.detector == Detector::kHarris;
  return {harris ? "cv::goodFeaturesToTrack, Harris" : "cv::goodFeaturesToTrack, least eigenvalue",
          [&preset, harris](const cv::Mat& frame) {
            std::vector<cv::Point2f> corners;
            cv::goodFeaturesToTrack(frame, corners, preset.frame.max_features,
                                    static_cast<double>(preset.frame.quality_level),
                                    preset.pipeline.suppress.minimum_distance_px, cv::noArray(),
                                    kCornerBlock, harris, kHarrisK);
            return corners.size();
          }};
}

Peer SiftPeer() {
  return {"cv::SIFT",
          [sift = cv::SIFT::create(0, 3, 0.04, 10.0, 1.6, CV_8U)](const cv::Mat& frame) {
            std::vector<cv::KeyPoint> keypoints;
            cv::Mat descriptors;
            sift->detectAndCompute(frame, cv::noArray(), keypoints, descriptors);
            return keypoints.size();
          }};
}

// All steps of ORB-SLAM3 with the same answers, which RunCase() checks.
Peer OrbSlam3PeerOf(const Preset& preset) {
  return {"cv::resize, cv::FAST a zone, cv::GaussianBlur, tree in C++",
          [peer = OrbSlam3Peer(preset.pipeline, preset.frame)](const cv::Mat& frame) {
            std::vector<cv::KeyPoint> keypoints;
            cv::Mat descriptors;
            peer.Extract(frame, &keypoints, &descriptors);
            return keypoints.size();
          }};
}

// Ends the program if an answer of ours is not the peer's.
void CheckOrbSlam3(const Preset& preset, const std::vector<cv::Mat>& frames,
                   const std::vector<Features>& answers) {
  const OrbSlam3Peer peer(preset.pipeline, preset.frame);
  for (size_t f = 0; f < frames.size(); ++f) {
    std::vector<cv::KeyPoint> keypoints;
    cv::Mat descriptors;
    peer.Extract(frames[f], &keypoints, &descriptors);
    const Features& ours = answers[f];
    bool is_same = ours.count() == keypoints.size();
    for (size_t i = 0; is_same && i < keypoints.size(); ++i) {
      const cv::KeyPoint& keypoint = keypoints[i];
      is_same = keypoint.pt.x == ours.x[i] && keypoint.pt.y == ours.y[i] &&
                keypoint.size == ours.size[i] && keypoint.angle == ours.angle_deg[i] &&
                keypoint.response == ours.response[i] && keypoint.octave == ours.octave[i] &&
                std::memcmp(descriptors.ptr(static_cast<int>(i)), ours.descriptors.data() + 32 * i,
                            32) == 0;
    }
    if (is_same) continue;
    std::fprintf(stderr, "orb-slam3: frame %zu differs from OpenCV's primitives\n", f);
    std::exit(1);
  }
}

// Which one is nearest is a matter of judgement.
Peer PeerOf(const Preset& preset) {
  if (preset.pipeline.select.selection == Selection::kOrbSlam3) return OrbSlam3PeerOf(preset);
  if (preset.pipeline.detect.detector == Detector::kSift) return SiftPeer();
  if (preset.pipeline.suppress.suppression == Suppression::kCell) return CellPeer(preset);
  if (preset.pipeline.detect.detector != Detector::kFast) return CornerMapPeer(preset);
  return OrbPeer(preset, preset.pipeline.describe.descriptor != Descriptor::kNone);
}

void RunCase(Harness& harness, const std::vector<cv::Mat>& photographs, const Preset& preset,
             cv::Size size, int threads, const std::vector<std::string>& targets) {
  const std::string frame_name = std::string(preset.name) + " " + std::to_string(size.width) + "x" +
                                 std::to_string(size.height);
  const std::string name =
      frame_name + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  if (!harness.Wants(name)) return;
  const std::vector<cv::Mat> frames = FramesOf(photographs, size);
  cv::setNumThreads(threads);
  const Peer peer = PeerOf(preset);
  std::vector<Variant> variants = {{peer.name, [&] {
                                      for (const cv::Mat& frame : frames) peer.run(frame);
                                    }}};
  std::vector<std::unique_ptr<CpuEngine>> engines;
  for (const std::string& target : targets) {
    engines.push_back(std::make_unique<CpuEngine>(
        cpu::CpuBackendOptions{.threads = threads, .simd_target = target}, frames, preset.pipeline,
        preset.frame));
    variants.push_back({"orbserve " + target, [engine = engines.back().get()] { engine->Run(1); }});
  }
  if (preset.pipeline.select.selection == Selection::kOrbSlam3) {
    for (const auto& engine : engines) CheckOrbSlam3(preset, frames, engine->Answers());
  }
  if (threads == harness.threads().front()) {  // answers do not depend on threads
    size_t features = 0;
    for (const cv::Mat& frame : frames) features += peer.run(frame);
    harness.AddInfo(frame_name + " features", std::to_string(engines[0]->CountFeatures()) + ", " +
                                                  peer.name + ": " + std::to_string(features));
  }
  harness.Compare(name, variants, peer.name);
}

int Main(int argc, char** argv) {
  Harness harness("preset_bench", "Every preset beside the nearest of OpenCV");
  std::vector<std::string> files;
  std::vector<std::string> targets;
  std::vector<int> widths = {640, 1920};
  std::vector<int> heights = {480, 1080};
  std::vector<std::string> known;
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) known.emplace_back(target.name);
  harness.app().add_option("photographs", files, "Images to make the frames of")->required();
  harness.app()
      .add_option("--target", targets, "SIMD targets, comma-separated; all of this processor")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  harness.app().add_option("--width", widths, "Pixels, comma-separated")->delimiter(',');
  harness.app().add_option("--height", heights, "One for each width")->delimiter(',');
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  if (widths.size() != heights.size()) {
    std::fprintf(stderr, "%zu widths and %zu heights\n", widths.size(), heights.size());
    return 2;
  }
  if (targets.empty()) targets = known;
  const std::vector<cv::Mat> photographs = LoadGrey(files);
  if (photographs.empty()) return 1;
  harness.AddInfo("photographs", std::to_string(photographs.size()));
  harness.AddInfo("highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
                                 std::to_string(HWY_PATCH));
  harness.AddInfo("onetbb", TBB_VERSION_STRING);
  harness.AddInfo("opencv", CV_VERSION);
  for (const Preset& preset : Presets()) {
    if (const auto found = FindPreset(preset.name); !found.ok()) {
      std::printf("left out: %s\n", std::string(found.status().message()).c_str());
      continue;
    }
    for (const int threads : harness.threads()) {
      for (size_t i = 0; i < widths.size(); ++i) {
        RunCase(harness, photographs, preset, {widths[i], heights[i]}, threads, targets);
      }
    }
  }
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
