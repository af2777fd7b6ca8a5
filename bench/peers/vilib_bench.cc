// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// vilib, the code that B. Nagy et al. published with "Faster than FAST" (2020), and the CUDA
// backend on the same frames, in turn:
//
//   corners           the best FAST corner of each cell of 32x32, two levels, three scores
//   tracks            points from one frame to the next, 5 levels, four models of light
//   frame and tracks  a new image in pinned memory, its pyramid, and the tracks; with the corners
//                     of the new frame or, as vilib's tracker does while it has enough, without
//
// Both follow the points that vilib found. Corners begin with an image in pinned memory and end
// with their places on the host, tracks with pyramids on the device.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/frame_latency.h"
#include "bench/peers/turns.h"
#include "bench/print_devices.h"
#include "bench/spin_calls.h"
#include "features/algo/lucas_kanade.h"
#include "features/backend.h"
#include "features/errors.h"
#include "features/options.h"
#include "gpu/gpu_backend.h"
#include "gpu/runtime/check.h"
#include "vilib/common/frame.h"
#include "vilib/common/framebundle.h"
#include "vilib/config.h"
#include "vilib/feature_detection/fast/fast_gpu.h"
#include "vilib/feature_tracker/feature_tracker_gpu.h"
#include "vilib/feature_tracker/feature_tracker_options.h"
#include "vilib/storage/opencv.h"
#include "vilib/storage/pyramid_pool.h"

namespace orbserve::bench {
namespace {

struct Settings {
  std::string first;
  std::string second;
  std::vector<std::string> images;  // more images for the corners
  int runs = 1000;
  std::string json;
};

constexpr int kTrackLevels = 5;
// vilib looks for new corners where fewer tracks are left.
constexpr size_t kFewestTracks = 10;

using State = std::shared_ptr<const FrameState>;

// An image as vilib takes it, in pinned memory.
class PinnedMat {
 public:
  explicit PinnedMat(const GreyImage& image) : mat_(image.height_px, image.width_px, CV_8UC1) {
    std::memcpy(mat_.data, image.pixels.data(), image.pixels.size());
    vilib::opencv_register_image_in_pinned_memory(mat_);
  }
  ~PinnedMat() { vilib::opencv_unregister_image_from_pinned_memory(mat_); }
  PinnedMat(const PinnedMat&) = delete;
  PinnedMat& operator=(const PinnedMat&) = delete;

  const cv::Mat& mat() const { return mat_; }

 private:
  cv::Mat mat_;
};

// vilib checks no call of CUDA in a release build, so that failures are looked for here.
absl::Status CheckCuda() {
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaDeviceSynchronize());
  return gpu::StatusFromCuda(cudaGetLastError(), "vilib");
}

class VilibBench {
 public:
  VilibBench(const Settings& settings, FeatureBackend& backend)
      : settings_(settings), backend_(backend), vio_(**FindPreset("vio")), turns_(settings.runs) {}

  absl::Status Run() {
    std::vector<std::string> paths = {settings_.first};
    paths.insert(paths.end(), settings_.images.begin(), settings_.images.end());
    for (const std::string& path : paths) {
      ORBSERVE_ASSIGN_OR_RETURN(const GreyImage image, Read(path, vio_.pipeline.pyramid.levels));
      ORBSERVE_RETURN_IF_ERROR(Corners(image));
    }
    ORBSERVE_ASSIGN_OR_RETURN(const GreyImage first, Read(settings_.first, kTrackLevels));
    ORBSERVE_ASSIGN_OR_RETURN(const GreyImage second, Read(settings_.second, kTrackLevels));
    if (first.width_px != second.width_px || first.height_px != second.height_px) {
      return MakeError(ErrorReason::kBadImage, "the two images have different sizes");
    }
    return Tracks(first, second);
  }

  bool WriteJson() const { return turns_.WriteTo(settings_.json); }

 private:
  // vilib halves a level exactly.
  static absl::StatusOr<GreyImage> Read(const std::string& path, int levels) {
    GreyImage image = ReadPgm(path);
    const int multiple = 1 << (levels - 1);
    if (image.pixels.empty() || image.width_px % multiple != 0 || image.height_px % multiple != 0) {
      return MakeError(
          ErrorReason::kBadImage,
          absl::StrFormat("%s: not a PGM image of 8 bits with sides that are multiples of %d", path,
                          multiple));
    }
    return image;
  }

  std::shared_ptr<vilib::DetectorBaseGPU> DetectorFor(const GreyImage& image,
                                                      vilib::fast_score score) const {
    const PipelineOptions& options = vio_.pipeline;
    const auto border = static_cast<size_t>(options.select.border_px);
    constexpr size_t kFirstLevel = 0;
    return std::make_shared<vilib::FASTGPU>(
        static_cast<size_t>(image.width_px), static_cast<size_t>(image.height_px),
        static_cast<size_t>(options.suppress.cell_width_px),
        static_cast<size_t>(options.suppress.cell_height_px), kFirstLevel,
        static_cast<size_t>(options.pyramid.levels), border, border,
        static_cast<float>(vio_.frame.fast_threshold_grey), options.detect.fast_arc_length, score);
  }

  // The pool of pyramids serves one size at a time. Returns what empties it.
  static auto PoolFor(const GreyImage& image, int levels) {
    vilib::PyramidPool::init(IMAGE_PYRAMID_PREALLOCATION_ITEM_NUM,
                             static_cast<size_t>(image.width_px),
                             static_cast<size_t>(image.height_px), 1, static_cast<size_t>(levels),
                             vilib::IMAGE_PYRAMID_MEMORY_TYPE);
    return absl::MakeCleanup([] { vilib::PyramidPool::deinit(); });
  }

  absl::Status Corners(const GreyImage& image) {
    const int levels = vio_.pipeline.pyramid.levels;
    const auto pool = PoolFor(image, levels);
    const PinnedMat pinned(image);
    struct NamedScore {
      Score ours;
      vilib::fast_score theirs;
      const char* name;
    };
    constexpr NamedScore kScores[] = {{Score::kSadCircle, vilib::SUM_OF_ABS_DIFF_ALL, "SAD_CIRCLE"},
                                      {Score::kSadArc, vilib::SUM_OF_ABS_DIFF_ON_ARC, "SAD_ARC"},
                                      {Score::kFast, vilib::MAX_THRESHOLD, "FAST"}};
    for (const NamedScore& score : kScores) {
      const std::shared_ptr<vilib::DetectorBaseGPU> detector = DetectorFor(image, score.theirs);
      PipelineOptions options = vio_.pipeline;
      options.detect.score = score.ours;
      ORBSERVE_ASSIGN_OR_RETURN(const auto plan,
                                backend_.MakePlan({image.width_px, image.height_px, options}));
      FrameJob job;
      job.input = SlotWith(backend_, image);
      job.parameters = vio_.frame;
      job.parameters.max_features = kMaxFeatures;  // as vilib, which answers every cell
      const std::vector<Contender> contenders = {
          {"vilib",
           [&]() -> absl::StatusOr<size_t> {
             const vilib::Frame frame(pinned.mat(), 0, static_cast<size_t>(levels));
             detector->reset();
             detector->detect(frame.pyramid_);
             return detector->count();
           }},
          {"orbserve", [&]() -> absl::StatusOr<size_t> {
             const FrameBatchAnswer answer = Extract(backend_, plan, {job});
             ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
             return answer.frames[0].features->count();
           }}};
      ORBSERVE_RETURN_IF_ERROR(turns_.Time(
          absl::StrFormat("%s, \"work\": \"corners\", \"score\": \"%s\"", Name(image), score.name),
          contenders));
      ORBSERVE_RETURN_IF_ERROR(CheckCuda());
    }
    return absl::OkStatus();
  }

  absl::Status Tracks(const GreyImage& first, const GreyImage& second) {
    ORBSERVE_ASSIGN_OR_RETURN(
        plan_, backend_.MakePlan({first.width_px, first.height_px, vio_.pipeline, kTrackLevels}));
    std::vector<State> states;
    for (const GreyImage* const image : {&first, &second}) {
      slot_ = SlotWith(backend_, *image);
      const FrameBatchAnswer answer = Extract(backend_, plan_, {JobFor(vio_.frame.max_features)});
      ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
      states.push_back(answer.frames[0].state);
    }
    const auto pool = PoolFor(first, kTrackLevels);
    const PinnedMat first_pinned(first);
    const PinnedMat second_pinned(second);
    const std::pair<Illumination, const char*> models[] = {{Illumination::kNone, "none"},
                                                           {Illumination::kOffset, "offset"},
                                                           {Illumination::kGain, "gain"},
                                                           {Illumination::kBoth, "both"}};
    for (const auto& [model, model_name] : models) {
      for (const int count : {50, 100, 200}) {
        const std::string what = absl::StrFormat("%s, \"illumination\": \"%s\", \"points\": %d",
                                                 Name(first), model_name, count);
        ORBSERVE_RETURN_IF_ERROR(TracksOf(what, model, count, first_pinned, second_pinned, states));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TracksOf(const std::string& what, Illumination model, int count,
                        const PinnedMat& first_pinned, const PinnedMat& second_pinned,
                        const std::vector<State>& states) {
    vilib::FeatureTrackerOptions theirs;
    theirs.klt_max_level = kTrackLevels - 1;
    theirs.reset_before_detection = false;
    theirs.use_best_n_features = count;
    theirs.min_tracks_to_detect_new_features = kFewestTracks;
    theirs.affine_est_offset = model == Illumination::kOffset || model == Illumination::kBoth;
    theirs.affine_est_gain = model == Illumination::kGain || model == Illumination::kBoth;
    GreyImage size;
    size.width_px = first_pinned.mat().cols;
    size.height_px = first_pinned.mat().rows;
    std::shared_ptr<vilib::DetectorBaseGPU> detector =
        DetectorFor(size, vilib::SUM_OF_ABS_DIFF_ON_ARC);
    vilib::FeatureTrackerGPU tracker(theirs, 1);
    tracker.setDetectorGPU(detector, 0);
    const auto first = std::make_shared<vilib::Frame>(first_pinned.mat(), 0, kTrackLevels);
    const auto second = std::make_shared<vilib::Frame>(second_pinned.mat(), 0, kTrackLevels);
    size_t tracked = 0;
    size_t detected = 0;
    const auto track = [&](const std::shared_ptr<vilib::Frame>& frame) -> absl::StatusOr<size_t> {
      const auto bundle = std::make_shared<vilib::FrameBundle>(std::vector{frame});
      tracker.track(bundle, tracked, detected);
      return tracked;
    };
    // The tracker forgets all and finds its points anew in the first frame.
    const auto begin_again = [&]() -> absl::Status {
      tracker.reset();
      first->num_features_ = 0;
      second->num_features_ = 0;
      ORBSERVE_RETURN_IF_ERROR(track(first).status());
      return CheckCuda();
    };

    ORBSERVE_RETURN_IF_ERROR(begin_again());
    TrackOptions ours = vio_.track;
    ours.levels = kTrackLevels;
    ours.coarse_patch_px = 8;  // as vilib
    ours.illumination = model;
    const auto points = std::make_shared<TrackPoints>();
    std::map<int, size_t> rows;  // of the points, by vilib's numbers
    for (size_t i = 0; i < first->num_features_; ++i) {
      const auto column = static_cast<Eigen::Index>(i);
      rows.emplace(first->track_id_vec_[column], i);
      points->x.push_back(algo::TrackPlace(static_cast<float>(first->px_vec_(0, column))));
      points->y.push_back(algo::TrackPlace(static_cast<float>(first->px_vec_(1, column))));
    }
    points->gain.resize(points->count());
    points->offset.resize(points->count());
    if (points->count() != static_cast<size_t>(count)) {
      return MakeError(ErrorReason::kBadImage,
                       absl::StrFormat("vilib found %d points and not %d", points->count(), count));
    }

    // The ends of both are compared before anything is timed.
    ORBSERVE_RETURN_IF_ERROR(track(second).status());
    const TrackBatchAnswer answer = Track(backend_, {{states[0], states[1], points, ours}});
    ORBSERVE_RETURN_IF_ERROR(answer.jobs[0].status);
    ORBSERVE_RETURN_IF_ERROR(Agreement(what, *second, rows, answer.jobs[0].tracked));

    const auto follow = [&](const State& from, const State& to) -> absl::StatusOr<size_t> {
      const TrackBatchAnswer tracks = Track(backend_, {{from, to, points, ours}});
      ORBSERVE_RETURN_IF_ERROR(tracks.jobs[0].status);
      return Followed(tracks.jobs[0].tracked);
    };
    ORBSERVE_RETURN_IF_ERROR(
        turns_.Time(what + ", \"work\": \"tracks\"",
                    {{"vilib", [&] { return track(second); }, begin_again},
                     {"orbserve", [&] { return follow(states[0], states[1]); }}}));
    const auto new_frame = [&] {
      return std::make_shared<vilib::Frame>(second_pinned.mat(), 0, kTrackLevels);
    };
    return turns_.Time(what + ", \"work\": \"frame and tracks\"",
                       {{"vilib, without corners", [&] { return track(new_frame()); }, begin_again},
                        {"vilib",
                         [&] {
                           const std::shared_ptr<vilib::Frame> frame = new_frame();
                           detector->reset();
                           detector->detect(frame->pyramid_);
                           return track(frame);
                         },
                         begin_again},
                        {"orbserve", [&]() -> absl::StatusOr<size_t> {
                           const FrameBatchAnswer frame = Extract(backend_, plan_, {JobFor(count)});
                           ORBSERVE_RETURN_IF_ERROR(frame.frames[0].status);
                           return follow(states[0], frame.frames[0].state);
                         }}});
  }

  // Tells how many points both followed, and how far apart they end.
  absl::Status Agreement(const std::string& what, const vilib::Frame& theirs,
                         const std::map<int, size_t>& rows, const TrackedPoints& ours) {
    std::vector<double> distances;
    for (size_t i = 0; i < theirs.num_features_; ++i) {
      const auto column = static_cast<Eigen::Index>(i);
      const auto found = rows.find(theirs.track_id_vec_[column]);
      if (found == rows.end() || ours.status[found->second] != TrackStatus::kOk) continue;
      const size_t row = found->second;
      distances.push_back(std::hypot(
          theirs.px_vec_(0, column) - static_cast<double>(algo::TrackPixels(ours.x[row])),
          theirs.px_vec_(1, column) - static_cast<double>(algo::TrackPixels(ours.y[row]))));
    }
    if (distances.empty()) {
      return MakeError(ErrorReason::kInternal, "no point was followed by both");
    }
    turns_.Row(
        absl::StrFormat("%s, \"work\": \"agreement\", \"vilib\": %d, \"orbserve\": %d, "
                        "\"both\": %d, \"median_px\": %.4f, \"p90_px\": %.4f",
                        what, theirs.num_features_, Followed(ours), distances.size(),
                        Percentile(distances, 0.5), Percentile(distances, 0.9)));
    return absl::OkStatus();
  }

  static size_t Followed(const TrackedPoints& points) {
    return static_cast<size_t>(
        std::count(points.status.begin(), points.status.end(), TrackStatus::kOk));
  }

  // Makes a job of the image in `slot_`.
  FrameJob JobFor(int max_features) const {
    FrameJob job;
    job.input = slot_;
    job.parameters = vio_.frame;
    job.parameters.max_features = max_features;
    job.keep_state = KeepState::kPyramid;
    return job;
  }

  static std::string Name(const GreyImage& image) {
    return absl::StrFormat("\"image\": \"%s\", \"width\": %d, \"height\": %d", image.name,
                           image.width_px, image.height_px);
  }

  const Settings& settings_;
  FeatureBackend& backend_;
  const Preset& vio_;
  std::shared_ptr<FeaturePlan> plan_;  // of tracks
  std::shared_ptr<InputSlot> slot_;    // of the second image once both have states
  Turns turns_;
};

absl::Status Run(const Settings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = {0};
  ORBSERVE_ASSIGN_OR_RETURN(const std::unique_ptr<FeatureBackend> backend,
                            gpu::CreateGpuBackend(options));
  bench::PrintDevices(*backend);
  VilibBench bench(settings, *backend);
  const absl::Status status = bench.Run();
  // A failure leaves the rows that were measured before it.
  if (!bench.WriteJson()) {
    return MakeError(ErrorReason::kInternal, settings.json + ": cannot be written");
  }
  return status;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Corners and tracks of vilib and of the CUDA backend, in turn"};
  app.add_option("first", settings.first, "PGM file, sides multiples of 16")->required();
  app.add_option("second", settings.second, "PGM file of the same size")->required();
  app.add_option("--corners", settings.images, "More PGM files in which corners are found");
  app.add_option("--runs", settings.runs, "Timed calls of each")->check(CLI::Range(1, 1'000'000));
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = orbserve::bench::Run(settings);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
