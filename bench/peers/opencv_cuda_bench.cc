// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// OpenCV's CUDA module and the CUDA backend on the same images, in turn:
//
//   oriented corners   cv::cuda::ORB without descriptors (FAST, Harris responses, angles, 4 levels
//                      of 2.0) and the preset `oriented-fast`, all corners
//   FAST               cv::cuda::FastFeatureDetector and FAST corners of one level
//
// A call begins with an image in pinned memory and ends with the keypoints on the host. OpenCV
// allocates the memory of every call anew unless its pool of buffers is on, which holds for a whole
// process: --pool. With the pool, calls that begin with an image on the device are timed, too.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <opencv2/core/cuda.hpp>
#include <opencv2/core/version.hpp>
#include <opencv2/cudafeatures2d.hpp>
#include <opencv2/features2d.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/frame_latency.h"
#include "bench/gpu_workload.h"
#include "bench/peers/turns.h"
#include "bench/print_devices.h"
#include "bench/spin_calls.h"
#include "features/backend.h"
#include "features/errors.h"
#include "features/options.h"
#include "gpu/gpu_backend.h"
#include "gpu/runtime/stream.h"

namespace orbserve::bench {
namespace {

struct Settings {
  std::vector<std::string> images;
  int runs = 1000;
  bool pool = false;
  std::string json;
};

// Memory of OpenCV's pool. The largest image of 4 bytes a pixel and the list of its corners fit.
constexpr size_t kPoolBytes = size_t{128} << 20;

class OpenCvBench {
 public:
  // `stream` records and runs the graph of our steps.
  OpenCvBench(const Settings& settings, FeatureBackend& backend, cudaStream_t stream)
      : backend_(backend), stream_(stream), pool_(settings.pool), turns_(settings.runs) {}

  absl::Status Run(const GreyImage& image) {
    const cv::cuda::HostMem memory(image.height_px, image.width_px, CV_8UC1,
                                   cv::cuda::HostMem::PAGE_LOCKED);
    const cv::Mat pinned = memory.createMatHeader();
    for (int y = 0; y < image.height_px; ++y) {
      const auto width = static_cast<size_t>(image.width_px);
      std::memcpy(pinned.data + static_cast<size_t>(y) * pinned.step,
                  image.pixels.data() + static_cast<size_t>(y) * width, width);
    }
    ORBSERVE_RETURN_IF_ERROR(OrientedCorners(image, pinned));
    if (pool_) ORBSERVE_RETURN_IF_ERROR(OrientedCornersOnDevice(image, pinned));
    return Fast(image, pinned);
  }

  bool WriteJson(const std::string& path) const { return turns_.WriteTo(path); }

 private:
  // All corners of the preset's levels.
  static cv::Ptr<cv::cuda::ORB> OrbFor(const Preset& preset) {
    constexpr int kFirstLevel = 0;
    constexpr int kPointsOfATest = 2;
    constexpr int kPatchSide = 31;
    return cv::cuda::ORB::create(preset.frame.max_features, preset.pipeline.pyramid.scale_factor,
                                 preset.pipeline.pyramid.levels, preset.pipeline.select.border_px,
                                 kFirstLevel, kPointsOfATest, cv::ORB::HARRIS_SCORE, kPatchSide,
                                 preset.frame.fast_threshold_grey);
  }

  absl::Status OrientedCorners(const GreyImage& image, const cv::Mat& pinned) {
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset("oriented-fast"));
    const cv::Ptr<cv::cuda::ORB> orb = OrbFor(*preset);
    cv::cuda::GpuMat uploaded;
    std::vector<cv::KeyPoint> keypoints;
    ORBSERVE_ASSIGN_OR_RETURN(
        const auto plan, backend_.MakePlan({image.width_px, image.height_px, preset->pipeline}));
    const std::shared_ptr<InputSlot> slot = SlotWith(backend_, image);
    return turns_.Time(What(image, "oriented corners", "an image in pinned memory"),
                       {{"cv::cuda::ORB, keypoints on the host",
                         [&]() -> absl::StatusOr<size_t> {
                           uploaded.upload(pinned, cv::cuda::Stream::Null());
                           orb->detectAndCompute(uploaded, cv::noArray(), keypoints, cv::noArray());
                           return keypoints.size();
                         }},
                        {"orbserve, keypoints on the host",
                         [&] { return CountFeatures(plan, slot, preset->frame); }}});
  }

  absl::Status OrientedCornersOnDevice(const GreyImage& image, const cv::Mat& pinned) {
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset("oriented-fast"));
    const cv::Ptr<cv::cuda::ORB> orb = OrbFor(*preset);
    const cv::cuda::GpuMat on_device(pinned);
    cv::cuda::GpuMat found;
    std::vector<cv::KeyPoint> keypoints;
    GpuWorkload workload;
    ORBSERVE_RETURN_IF_ERROR(workload.Prepare(image, preset->pipeline, preset->frame, 1));
    ORBSERVE_ASSIGN_OR_RETURN(const WorkloadGraph graph, WorkloadGraph::Capture(workload, stream_));
    std::vector<Contender> contenders = {
        {"cv::cuda::ORB, keypoints on the device",
         [&]() -> absl::StatusOr<size_t> {
           orb->detectAndComputeAsync(on_device, cv::noArray(), found, cv::noArray());
           cv::cuda::Stream::Null().waitForCompletion();
           return static_cast<size_t>(found.cols);
         }},
        {"cv::cuda::ORB, keypoints on the host", [&]() -> absl::StatusOr<size_t> {
           orb->detectAndCompute(on_device, cv::noArray(), keypoints, cv::noArray());
           return keypoints.size();
         }}};
    // A frame with more keypoints than one graph can rank goes on elsewhere.
    ORBSERVE_RETURN_IF_ERROR(graph.Run());
    const gpu::FrameReport& report = workload.side.reports()[0];
    if (report.unranked == 0) {
      contenders.push_back({"orbserve, keypoints on the host", [&]() -> absl::StatusOr<size_t> {
                              ORBSERVE_RETURN_IF_ERROR(graph.Run());
                              return static_cast<size_t>(report.total);
                            }});
    }
    return turns_.Time(What(image, "oriented corners", "an image on the device"), contenders);
  }

  absl::Status Fast(const GreyImage& image, const cv::Mat& pinned) {
    constexpr int kReachPx = 3;
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset("bfrost"));
    PipelineOptions options = preset->pipeline;
    options.select.border_px = kReachPx;
    options.describe.orientation = Orientation::kNone;
    options.describe.descriptor = Descriptor::kNone;
    FrameParameters parameters = preset->frame;
    parameters.max_features = kMaxFeatures;
    ORBSERVE_ASSIGN_OR_RETURN(const auto plan,
                              backend_.MakePlan({image.width_px, image.height_px, options}));
    const std::shared_ptr<InputSlot> slot = SlotWith(backend_, image);
    // Corners before suppression, all of which OpenCV keeps.
    const auto most_corners = static_cast<int>(image.pixels.size() / 2);
    const cv::Ptr<cv::cuda::FastFeatureDetector> fast = cv::cuda::FastFeatureDetector::create(
        parameters.fast_threshold_grey, true, cv::FastFeatureDetector::TYPE_9_16, most_corners);
    cv::cuda::GpuMat uploaded;
    std::vector<cv::KeyPoint> keypoints;
    return turns_.Time(What(image, "FAST", "an image in pinned memory"),
                       {{"cv::cuda::FastFeatureDetector, keypoints on the host",
                         [&]() -> absl::StatusOr<size_t> {
                           uploaded.upload(pinned, cv::cuda::Stream::Null());
                           fast->detect(uploaded, keypoints);
                           return keypoints.size();
                         }},
                        {"orbserve, keypoints on the host",
                         [&] { return CountFeatures(plan, slot, parameters); }}});
  }

  absl::StatusOr<size_t> CountFeatures(const std::shared_ptr<FeaturePlan>& plan,
                                       const std::shared_ptr<InputSlot>& slot,
                                       const FrameParameters& parameters) {
    FrameJob job;
    job.input = slot;
    job.parameters = parameters;
    const FrameBatchAnswer answer = Extract(backend_, plan, {job});
    ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
    return answer.frames[0].features->count();
  }

  std::string What(const GreyImage& image, const char* work, const char* from) const {
    return absl::StrFormat(
        "\"image\": \"%s\", \"width\": %d, \"height\": %d, \"work\": \"%s\", \"from\": \"%s\", "
        "\"opencv\": \"%s\", \"pool\": %s",
        image.name, image.width_px, image.height_px, work, from, CV_VERSION,
        pool_ ? "true" : "false");
  }

  FeatureBackend& backend_;
  cudaStream_t stream_;
  bool pool_;
  Turns turns_;
};

absl::Status Run(const Settings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = {0};
  ORBSERVE_ASSIGN_OR_RETURN(const std::unique_ptr<FeatureBackend> backend,
                            gpu::CreateGpuBackend(options));
  bench::PrintDevices(*backend);
  std::printf("OpenCV %s, buffer pool %s\n", CV_VERSION, settings.pool ? "on" : "off");
  if (settings.pool) {
    cv::cuda::setBufferPoolUsage(true);
    cv::cuda::setBufferPoolConfig(0, kPoolBytes, 1);
  }
  ORBSERVE_ASSIGN_OR_RETURN(const gpu::Stream stream, gpu::Stream::Create());
  OpenCvBench bench(settings, *backend, stream.get());
  for (const std::string& path : settings.images) {
    const GreyImage image = ReadPgm(path);
    if (image.pixels.empty()) {
      return MakeError(ErrorReason::kBadImage, path + ": not a PGM image of 8 bits");
    }
    ORBSERVE_RETURN_IF_ERROR(bench.Run(image));
  }
  if (!bench.WriteJson(settings.json)) {
    return MakeError(ErrorReason::kInternal, settings.json + ": cannot be written");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Detection by OpenCV's CUDA module and by the CUDA backend, in turn"};
  app.add_option("images", settings.images, "PGM files")->required();
  app.add_option("--runs", settings.runs, "Timed calls of each")->check(CLI::Range(1, 1'000'000));
  app.add_flag("--pool", settings.pool, "OpenCV takes the memory of a call from its buffer pool");
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  try {
    const absl::Status status = orbserve::bench::Run(settings);
    if (status.ok()) return 0;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
  } catch (const cv::Exception& failure) {
    std::fprintf(stderr, "OpenCV: %s\n", failure.what());
  }
  return 1;
}
