// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Papers 1 and 2 kernel by kernel: each step of their ablations beside the one before it, on one
// device in one run. Every variant's answers are compared before it is timed. Exit code 1 where
// they differ.
//
// Paper 1 (oriented FAST): FAST alone and FAST with Harris responses, at 1 and 4 levels of 2.0; the
// five ring patterns; detection as OpenCV's CUDA module does it; energy of a frame. Paper 2 (front
// end for VIO): suppression at four windows, and tables of bytes and of bits.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/device_power.h"
#include "bench/frame_latency.h"
#include "bench/gpu_workload.h"
#include "bench/papers/oriented_fast_variants.h"
#include "bench/papers/vio_front_end_variants.h"
#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/algo/segment_test.h"
#include "features/errors.h"
#include "gpu/gpu_backend.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/detect/fast_keys.h"
#include "gpu/steps/detect/fast_map.h"
#include "gpu/steps/pyramid.h"
#include "gpu/steps/suppress/cell.h"

namespace orbserve::bench {
namespace {

struct Settings {
  std::vector<std::string> images;
  std::vector<int> papers = {1, 2};
  int launches = 20;   // of a graph
  int repeats = 7;     // graphs timed in a round
  int rounds = 3;      // over all variants
  int calls = 200;     // timed by the host's clock
  double seconds = 0;  // of each measurement of power; 0 = none
  std::string json;
};

constexpr int kThresholdGrey = 20;
constexpr int kArcLength = 9;
constexpr int kOrientedLevels = 4;

// A kernel, or a few, that is timed among others.
struct Variant {
  std::string name;
  GpuLaunch launch;
  GpuLaunch reset;
};

template <typename T>
absl::StatusOr<std::vector<T>> Download(const gpu::DeviceBuffer& from, size_t count) {
  std::vector<T> values(count);
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemcpy(values.data(), from.data(), count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

template <typename T>
absl::StatusOr<gpu::DeviceBuffer> Upload(const std::vector<T>& values) {
  return gpu::DeviceBuffer::CreateCopyOf(
      0, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}, nullptr);
}

// 625 copies of a pattern: a grey centre and the ring pixels that are set in `ring`, of `grey`.
GreyImage PatternImage(const std::string& name, uint32_t ring, uint8_t grey) {
  constexpr int kSide = 1024;
  constexpr int kCopies = 25;
  GreyImage image = {name, kSide, kSide, std::vector<uint8_t>(size_t{kSide} * kSide, 128)};
  for (int n = 0; n < kCopies * kCopies; ++n) {
    const int x = 32 + 40 * (n % kCopies);
    const int y = 32 + 40 * (n / kCopies);
    for (int i = 0; i < algo::kFastRingPixels; ++i) {
      if ((ring >> i & 1) == 0) continue;
      const int at = (y + algo::FastRingY(i)) * kSide + x + algo::FastRingX(i);
      image.pixels[static_cast<size_t>(at)] = grey;
    }
  }
  return image;
}

class AblationBench {
 public:
  AblationBench(const Settings& settings, const PowerReaders& power)
      : settings_(settings), power_(power) {}

  absl::Status Run(const std::vector<GreyImage>& images) {
    ORBSERVE_ASSIGN_OR_RETURN(const KernelTimer timer,
                              KernelTimer::Create(settings_.launches, settings_.repeats));
    timer_ = &timer;
    if (Wants(1)) {
      for (const GreyImage& image : images) {
        for (const int levels : {1, kOrientedLevels}) {
          ORBSERVE_RETURN_IF_ERROR(OrientedFast(image, levels, &image == &images.back()));
        }
      }
      const std::pair<uint32_t, uint8_t> patterns[] = {
          {0x01ff, 255}, {0x1ff0, 255}, {0xf01f, 0}, {0x00ff, 255}, {0x5555, 255}};
      int number = 0;
      for (const auto& [ring, grey] : patterns) {
        ++number;
        const GreyImage image = PatternImage(absl::StrFormat("pattern %d", number), ring, grey);
        for (const int levels : {1, kOrientedLevels}) {
          ORBSERVE_RETURN_IF_ERROR(OrientedFast(image, levels, false));
        }
      }
    }
    if (Wants(2)) {
      for (const GreyImage& image : images) ORBSERVE_RETURN_IF_ERROR(VioFrontEnd(image));
    }
    return absl::OkStatus();
  }

  bool WriteJson() const {
    if (settings_.json.empty()) return true;
    std::ofstream out(settings_.json);
    out << "[" << json_ << "\n]\n";
    return static_cast<bool>(out);
  }

 private:
  bool Wants(int paper) const {
    return std::count(settings_.papers.begin(), settings_.papers.end(), paper) > 0;
  }

  // --- Paper 1 ---

  static absl::string_view NameOf(FastVariant fast) {
    switch (fast) {
      case FastVariant::kBaseline:
        return "baseline";
      case FastVariant::kBinary:
        return "binary";
      case FastVariant::kShared:
        return "shared";
      case FastVariant::kSharedBinary:
        break;
    }
    return "shared+binary";
  }
  static absl::string_view NameOf(HarrisVariant harris) {
    switch (harris) {
      case HarrisVariant::kNone:
        return "";
      case HarrisVariant::kBaseline:
        return " + 2-D Harris";
      case HarrisVariant::kSeparable:
        return " + separable";
      case HarrisVariant::kParaSeparable:
        return " + para-separable";
      case HarrisVariant::kSemiSeparable:
        break;
    }
    return " + semi-separable";
  }

  absl::Status OrientedFast(const GreyImage& image, int levels, bool with_energy) {
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset("oriented-fast"));
    PipelineOptions options = preset->pipeline;
    options.pyramid.levels = levels;
    FrameParameters parameters = preset->frame;
    parameters.fast_threshold_grey = kThresholdGrey;
    GpuWorkload workload;
    ORBSERVE_RETURN_IF_ERROR(workload.Prepare(image, options, parameters, 1));
    const gpu::StepContext& context = workload.context;
    if (const auto* const pyramid = workload.Find<gpu::PyramidStep>(); pyramid != nullptr) {
      ORBSERVE_RETURN_IF_ERROR(pyramid->Enqueue(context, timer_->stream()));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(timer_->stream()));
    }
    const auto* const search = workload.Find<gpu::FastKeysStep>();
    if (search == nullptr) return MakeError(ErrorReason::kInternal, "no search for keys");
    gpu::FastKeyParams keys = search->ParamsFor(context);
    keys.first_level = 0;
    keys.last_level = levels - 1;

    VariantParams params = {};
    params.levels = levels;
    params.threshold_grey = kThresholdGrey;
    std::vector<gpu::DeviceBuffer> responses;
    for (int l = 0; l < levels; ++l) {
      const gpu::LevelImage& level = keys.images.level[l];
      const size_t entries =
          static_cast<size_t>(level.pitch_bytes) * static_cast<size_t>(level.height_px);
      ORBSERVE_ASSIGN_OR_RETURN(responses.emplace_back(),
                                gpu::DeviceBuffer::Create(0, entries * sizeof(float), nullptr));
      params.level[l] = {l == 0 ? keys.images.input + workload.side.params()[0].image_offset
                                : keys.images.pyramid + level.offset,
                         reinterpret_cast<float*>(responses.back().data()),
                         level.width_px,
                         level.height_px,
                         level.pitch_bytes,
                         level.pitch_bytes};
    }
    ORBSERVE_RETURN_IF_ERROR(PrepareVariants(params));

    using F = FastVariant;
    using H = HarrisVariant;
    const std::pair<F, H> steps[] = {{F::kBaseline, H::kNone},
                                     {F::kBinary, H::kNone},
                                     {F::kShared, H::kNone},
                                     {F::kSharedBinary, H::kNone},
                                     {F::kBaseline, H::kBaseline},
                                     {F::kBinary, H::kBaseline},
                                     {F::kSharedBinary, H::kBaseline},
                                     {F::kSharedBinary, H::kSeparable},
                                     {F::kSharedBinary, H::kParaSeparable},
                                     {F::kSharedBinary, H::kSemiSeparable}};
    ORBSERVE_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> expected,
                              ResponsesOnHost(params));
    int64_t corners = 0;
    for (const std::vector<float>& level : expected) {
      corners += std::count_if(level.begin(), level.end(), [](float r) { return r != 0.0f; });
    }
    std::vector<Variant> variants;
    for (const auto& [fast, harris] : steps) {
      const GpuLaunch launch = [fast = fast, harris = harris, &params](cudaStream_t stream) {
        return LaunchVariant(fast, harris, params, stream);
      };
      const std::string name = absl::StrFormat("%s%s", NameOf(fast), NameOf(harris));
      ORBSERVE_RETURN_IF_ERROR(
          Compare(name, launch, params, responses, expected, harris == H::kNone));
      variants.push_back({name, launch, nullptr});
    }
    variants.push_back(
        {"ours, with suppression and lists",
         [&keys](cudaStream_t stream) { return LaunchFastKeys(keys, stream); },
         [&context](cudaStream_t stream) {
           return gpu::StatusFromCuda(
               cudaMemsetAsync(context.frames.counters, 0, sizeof(gpu::FrameCounters), stream),
               "cudaMemsetAsync");
         }});
    const std::string what = absl::StrFormat(
        "\"paper\": 1, \"image\": \"%s\", \"width\": %d, "
        "\"height\": %d, \"levels\": %d, \"corners\": %d",
        image.name, image.width_px, image.height_px, levels, corners);
    std::printf("%s, %dx%d, %d level(s), %d corners\n", image.name.c_str(), image.width_px,
                image.height_px, levels, static_cast<int>(corners));
    ORBSERVE_RETURN_IF_ERROR(TimeAll(what, variants));
    if (levels == kOrientedLevels) ORBSERVE_RETURN_IF_ERROR(Detection(what, workload, params));
    if (with_energy && levels == kOrientedLevels) {
      for (size_t i = 4; i < variants.size(); ++i) {
        ORBSERVE_RETURN_IF_ERROR(Energy(what, variants[i]));
      }
    }
    return absl::OkStatus();
  }

  // Harris responses of the corners of all levels, by the functions that every backend uses.
  static absl::StatusOr<std::vector<std::vector<float>>> ResponsesOnHost(
      const VariantParams& params) {
    std::vector<std::vector<float>> all;
    for (int l = 0; l < params.levels; ++l) {
      const VariantLevel& level = params.level[l];
      const auto pitch = static_cast<ptrdiff_t>(level.pitch_bytes);
      const size_t bytes =
          static_cast<size_t>(level.pitch_bytes) * static_cast<size_t>(level.height_px);
      std::vector<uint8_t> pixels(bytes);
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemcpy(pixels.data(), level.image, bytes, cudaMemcpyDeviceToHost));
      std::vector<float>& responses = all.emplace_back(bytes, 0.0f);
      constexpr int kMargin = algo::kHarrisRadiusPx;
      for (int y = kMargin; y < level.height_px - kMargin; ++y) {
        for (int x = kMargin; x < level.width_px - kMargin; ++x) {
          const ptrdiff_t at = y * pitch + x;
          const uint8_t* const centre = pixels.data() + at;
          uint8_t ring[algo::kFastRingPixels];
          algo::LoadFastRing(centre, pitch, ring);
          const algo::SegmentBits bits = algo::SegmentBitsOf(ring, *centre, params.threshold_grey);
          if (!algo::HasArc(bits.brighter, kArcLength) && !algo::HasArc(bits.darker, kArcLength)) {
            continue;
          }
          responses[static_cast<size_t>(at)] =
              algo::HarrisResponse(algo::SumGradients(centre, pitch));
        }
      }
    }
    return all;
  }

  // `fast_only`: only places are compared.
  absl::Status Compare(const std::string& name, const GpuLaunch& launch,
                       const VariantParams& params, const std::vector<gpu::DeviceBuffer>& responses,
                       const std::vector<std::vector<float>>& expected, bool fast_only) {
    for (const gpu::DeviceBuffer& level : responses) {
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemset(level.data(), 0, level.size_bytes()));
    }
    ORBSERVE_RETURN_IF_ERROR(launch(timer_->stream()));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(timer_->stream()));
    for (size_t l = 0; l < static_cast<size_t>(params.levels); ++l) {
      ORBSERVE_ASSIGN_OR_RETURN(const std::vector<float> actual,
                                Download<float>(responses[l], expected[l].size()));
      for (size_t i = 0; i < actual.size(); ++i) {
        const bool same = fast_only ? (actual[i] != 0.0f) == (expected[l][i] != 0.0f)
                                    : actual[i] == expected[l][i];
        if (!same) {
          return MakeError(ErrorReason::kInternal,
                           absl::StrFormat("%s differs at level %d, entry %d", name, l, i));
        }
      }
    }
    return absl::OkStatus();
  }

  // The whole detection with orientation: as OpenCV's CUDA module does it, with the host between
  // its kernels, and as we do, one graph. Both begin with level 0 on the device.
  absl::Status Detection(const std::string& what, const GpuWorkload& workload,
                         const VariantParams& params) {
    cudaStream_t const stream = timer_->stream();
    const auto* const pyramid = workload.Find<gpu::PyramidStep>();
    const size_t entries = static_cast<size_t>(params.level[0].width_px) *
                           static_cast<size_t>(params.level[0].height_px);
    std::vector<gpu::DeviceBuffer> buffers;
    for (int i = 0; i < 5; ++i) {
      ORBSERVE_ASSIGN_OR_RETURN(buffers.emplace_back(),
                                gpu::DeviceBuffer::Create(0, entries * sizeof(uint32_t), nullptr));
    }
    ORBSERVE_ASSIGN_OR_RETURN(const gpu::DeviceBuffer counts,
                              gpu::DeviceBuffer::Create(0, 2 * sizeof(uint32_t), nullptr));
    ORBSERVE_ASSIGN_OR_RETURN(const gpu::PinnedBuffer pinned,
                              gpu::PinnedBuffer::Create(2 * sizeof(uint32_t), nullptr));
    const auto* const count = reinterpret_cast<const uint32_t*>(pinned.data());
    const StyleLists lists = {reinterpret_cast<uint32_t*>(buffers[0].data()),
                              reinterpret_cast<uint32_t*>(buffers[1].data()),
                              reinterpret_cast<float*>(buffers[2].data()),
                              reinterpret_cast<float*>(buffers[3].data()),
                              reinterpret_cast<int32_t*>(buffers[4].data()),
                              reinterpret_cast<uint32_t*>(counts.data())};
    const auto read_counts = [&]() -> absl::Status {
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemcpyAsync(pinned.data(), counts.data(), 8, cudaMemcpyDeviceToHost, stream));
      return gpu::StatusFromCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    };
    // Keypoints as OpenCV's `detect` returns them.
    struct Keypoint {
      float x, y, size, angle, response;
      int octave, class_id;
    };
    const auto pitch = static_cast<int64_t>(entries);
    ORBSERVE_ASSIGN_OR_RETURN(
        const gpu::DeviceBuffer merged,
        gpu::DeviceBuffer::Create(0, kStyleRowsOfFloats * entries * sizeof(float), nullptr));
    auto* const rows = reinterpret_cast<float*>(merged.data());
    std::vector<float> downloaded;
    std::vector<Keypoint> keypoints;
    int64_t kept = 0;
    const auto style = [&](bool to_host) -> absl::Status {
      kept = 0;
      for (int l = 0; l < params.levels; ++l) {
        const VariantLevel& level = params.level[l];
        if (l > 0 && pyramid != nullptr) {
          ORBSERVE_RETURN_IF_ERROR(
              LaunchResize(pyramid->ParamsFor(workload.context, l, l, false), stream));
        }
        ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(
            lists.scores, 0,
            static_cast<size_t>(level.width_px) * static_cast<size_t>(level.height_px) * 4,
            stream));
        ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(lists.counts, 0, 8, stream));
        ORBSERVE_RETURN_IF_ERROR(LaunchStyleCorners(level, params.threshold_grey, lists,
                                                    static_cast<uint32_t>(entries), stream));
        ORBSERVE_RETURN_IF_ERROR(read_counts());
        ORBSERVE_RETURN_IF_ERROR(LaunchStyleSuppression(level, lists, count[0], stream));
        ORBSERVE_RETURN_IF_ERROR(read_counts());
        ORBSERVE_RETURN_IF_ERROR(LaunchStyleResponses(level, lists, count[1], stream));
        ORBSERVE_RETURN_IF_ERROR(LaunchStyleAngles(level, lists, count[1], stream));
        if (to_host) {
          ORBSERVE_RETURN_IF_ERROR(LaunchStyleMerge(lists, count[1], l, rows, pitch, kept, stream));
        }
        kept += count[1];
      }
      if (!to_host) {
        return gpu::StatusFromCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      }
      const auto columns = static_cast<size_t>(kept);
      downloaded.resize(kStyleRowsOfFloats * columns);
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpy2DAsync(
          downloaded.data(), columns * sizeof(float), rows, entries * sizeof(float),
          columns * sizeof(float), kStyleRowsOfFloats, cudaMemcpyDeviceToHost, stream));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
      keypoints.resize(columns);
      for (size_t i = 0; i < columns; ++i) {
        const float* const at = downloaded.data() + i;
        keypoints[i] = {at[0],
                        at[columns],
                        at[5 * columns],
                        at[3 * columns],
                        at[2 * columns],
                        static_cast<int>(at[4 * columns]),
                        -1};
      }
      return absl::OkStatus();
    };

    ORBSERVE_ASSIGN_OR_RETURN(const gpu::Stream side, gpu::Stream::Create());
    std::array<gpu::Event, gpu::kMostBranchEvents> order;
    gpu::BranchStreams branches;
    branches.side = side.get();
    for (size_t i = 0; i < order.size(); ++i) {
      ORBSERVE_ASSIGN_OR_RETURN(order[i], gpu::Event::Create(gpu::Event::Timing::kOff));
      branches.order[i] = order[i].get();
    }
    ORBSERVE_ASSIGN_OR_RETURN(const gpu::Graph graph,
                              gpu::Graph::Capture(stream, [&](cudaStream_t captured) {
                                branches.main = captured;
                                return workload.plan->steps().Enqueue(workload.context, branches);
                              }));
    const auto ours = [&]() -> absl::Status {
      ORBSERVE_RETURN_IF_ERROR(graph.Launch(stream));
      return gpu::StatusFromCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    };
    std::vector<double> on_device;
    std::vector<double> of_style;
    std::vector<double> of_ours;
    for (int i = -settings_.calls / 10; i < settings_.calls; ++i) {
      const auto time = [](const auto& call, double* microseconds) {
        const auto begin = std::chrono::steady_clock::now();
        const absl::Status status = call();
        *microseconds = MicrosecondsSince(begin);
        return status;
      };
      double device_us = 0;
      double style_us = 0;
      double ours_us = 0;
      ORBSERVE_RETURN_IF_ERROR(time([&] { return style(false); }, &device_us));
      ORBSERVE_RETURN_IF_ERROR(time([&] { return style(true); }, &style_us));
      ORBSERVE_RETURN_IF_ERROR(time(ours, &ours_us));
      if (i < 0) continue;
      on_device.push_back(device_us);
      of_style.push_back(style_us);
      of_ours.push_back(ours_us);
    }
    const gpu::FrameReport& report = workload.side.reports()[0];
    Print(what, "detection as OpenCV's CUDA module, on the device, host clock", on_device);
    Print(what, "detection as OpenCV's CUDA module, to the host, host clock", of_style);
    // Frames with more features than a graph ranks go on elsewhere.
    if (report.unranked == 0) Print(what, "detection, ours, to the host, host clock", of_ours);
    std::printf("  features: %d and %d%s\n", static_cast<int>(kept), report.total,
                report.unranked == 0 ? "" : ", of more than one graph can rank");
    return absl::OkStatus();
  }

  absl::Status Energy(const std::string& what, const Variant& variant) {
    if (settings_.seconds <= 0 || power_.readers.empty()) return absl::OkStatus();
    ORBSERVE_ASSIGN_OR_RETURN(
        const gpu::Graph graph,
        gpu::Graph::Capture(timer_->stream(), [&](cudaStream_t stream) -> absl::Status {
          for (int i = 0; i < settings_.launches; ++i) {
            if (variant.reset != nullptr) ORBSERVE_RETURN_IF_ERROR(variant.reset(stream));
            ORBSERVE_RETURN_IF_ERROR(variant.launch(stream));
          }
          return absl::OkStatus();
        }));
    std::atomic<bool> stop{false};
    std::atomic<int64_t> frames{0};
    absl::Status status;
    const auto begin = std::chrono::steady_clock::now();
    std::thread worker([&] {
      status = gpu::StatusFromCuda(cudaSetDevice(0), "cudaSetDevice");
      while (status.ok() && !stop) {
        for (int i = 0; i < 8 && status.ok(); ++i) status = graph.Launch(timer_->stream());
        status.Update(
            gpu::StatusFromCuda(cudaStreamSynchronize(timer_->stream()), "cudaStreamSynchronize"));
        frames += 8 * settings_.launches;
      }
    });
    const std::optional<double> watts =
        MeanWatts(power_, std::chrono::duration<double>(settings_.seconds));
    stop = true;
    worker.join();
    ORBSERVE_RETURN_IF_ERROR(status);
    const double rate = static_cast<double>(frames) / (MicrosecondsSince(begin) * 1e-6);
    if (!watts.has_value()) return absl::OkStatus();
    std::printf("  %-44s %8.1f W %10.0f frames/s %8.3f mJ/frame %8.1f frames/s/W\n",
                variant.name.c_str(), *watts, rate, *watts / rate * 1e3, rate / *watts);
    Append(
        absl::StrFormat("{%s, \"variant\": \"%s\", \"watts\": %.1f, \"frames_per_second\": "
                        "%.0f, \"joules_per_frame\": %.7f}",
                        what, variant.name, *watts, rate, *watts / rate));
    return absl::OkStatus();
  }

  // --- Paper 2 ---

  static absl::StatusOr<PipelineOptions> VioOptions() {
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset("vio"));
    PipelineOptions options = preset->pipeline;
    options.pyramid.levels = 1;
    return options;
  }

  absl::Status VioFrontEnd(const GreyImage& image) {
    ORBSERVE_ASSIGN_OR_RETURN(PipelineOptions options, VioOptions());
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset("vio"));
    // The map of the detector alone: minimum distances begin with one.
    PipelineOptions of_map = options;
    of_map.suppress.suppression = Suppression::kMinimumDistance;
    of_map.suppress.minimum_distance_px = 2;
    of_map.select.border_px = algo::kFastRadiusPx;  // neighbours outside the border count, too
    GpuWorkload with_map;
    ORBSERVE_RETURN_IF_ERROR(with_map.Prepare(image, of_map, preset->frame, 1));
    const auto* const map = with_map.Find<gpu::FastMapStep>();
    if (map == nullptr) return MakeError(ErrorReason::kInternal, "no response map");
    const gpu::FastMapParams map_params = map->ParamsFor(with_map.context);
    ORBSERVE_RETURN_IF_ERROR(LaunchFastMap(map_params, timer_->stream()));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(timer_->stream()));

    std::printf("%s, %dx%d, arc 10, threshold 10, SAD_ARC, cells of 32x32\n", image.name.c_str(),
                image.width_px, image.height_px);
    const std::string what =
        absl::StrFormat("\"paper\": 2, \"image\": \"%s\", \"width\": %d, \"height\": %d",
                        image.name, image.width_px, image.height_px);
    for (const int window : {3, 5, 7, 9}) {
      options.suppress.window_px = window;
      GpuWorkload workload;
      ORBSERVE_RETURN_IF_ERROR(workload.Prepare(image, options, preset->frame, 1));
      const auto* const search = workload.Find<gpu::FastKeysStep>();
      if (search == nullptr) return MakeError(ErrorReason::kInternal, "no search for keys");
      const gpu::FastKeyParams keys = search->ParamsFor(workload.context);
      const algo::CellGrid& grid = keys.winners.cells.grid;
      const auto cells = static_cast<size_t>(grid.count());
      ORBSERVE_ASSIGN_OR_RETURN(const gpu::DeviceBuffer winners,
                                gpu::DeviceBuffer::Create(0, cells * sizeof(uint64_t), nullptr));
      SuppressionParams params = {map_params.maps.Of(0, 0),
                                  map_params.maps.pitch[0],
                                  image.width_px,
                                  image.height_px,
                                  options.select.border_px,
                                  window / 2,
                                  grid,
                                  reinterpret_cast<uint64_t*>(winners.data())};
      const auto clear = [cells](void* keys_of_cells) {
        return [=](cudaStream_t stream) {
          return gpu::StatusFromCuda(
              cudaMemsetAsync(keys_of_cells, 0xff, cells * sizeof(uint64_t), stream),
              "cudaMemsetAsync");
        };
      };
      const auto suppression = [&params](SuppressionVariant variant) {
        return [&params, variant](cudaStream_t stream) {
          return LaunchSuppression(variant, params, stream);
        };
      };
      const std::vector<Variant> variants = {
          {"responses alone",
           [&](cudaStream_t stream) { return LaunchFastMap(map_params, stream); }, nullptr},
          {"suppression in spirals", suppression(SuppressionVariant::kSpiral),
           clear(winners.data())},
          {"suppression by cell lines", suppression(SuppressionVariant::kCellLines),
           clear(winners.data())},
          {"responses, suppression and cells, ours",
           [&](cudaStream_t stream) { return LaunchFastKeys(keys, stream); },
           clear(keys.winners.key)}};
      std::vector<std::vector<uint64_t>> answers;
      for (size_t i = 1; i < variants.size(); ++i) {
        ORBSERVE_RETURN_IF_ERROR(variants[i].reset(timer_->stream()));
        ORBSERVE_RETURN_IF_ERROR(variants[i].launch(timer_->stream()));
        ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(timer_->stream()));
        std::vector<uint64_t>& answer = answers.emplace_back(cells);
        const void* const from = i == 3 ? static_cast<const void*>(keys.winners.key)
                                        : static_cast<const void*>(winners.data());
        ORBSERVE_CUDA_RETURN_IF_ERROR(
            cudaMemcpy(answer.data(), from, cells * sizeof(uint64_t), cudaMemcpyDeviceToHost));
      }
      if (answers[0] != answers[1] || answers[0] != answers[2]) {
        return MakeError(ErrorReason::kInternal,
                         absl::StrFormat("winners differ at window %d", window));
      }
      std::printf(" window %d\n", window);
      ORBSERVE_RETURN_IF_ERROR(
          TimeAll(absl::StrFormat("%s, \"window\": %d", what, window), variants));
    }
    return Tables(image, what, with_map);
  }

  absl::Status Tables(const GreyImage& image, const std::string& what,
                      const GpuWorkload& workload) {
    const FrameParameters& frame = (*FindPreset("vio"))->frame;
    const int arc_length = workload.plan->spec().pipeline.detect.fast_arc_length;
    const auto bits = algo::MakeArcTable(arc_length);
    std::vector<uint8_t> bytes(1 << algo::kFastRingPixels);
    for (uint32_t i = 0; i < bytes.size(); ++i) bytes[i] = algo::HasArc(i, arc_length) ? 1 : 0;
    ORBSERVE_ASSIGN_OR_RETURN(const gpu::DeviceBuffer byte_table, Upload(bytes));
    ORBSERVE_ASSIGN_OR_RETURN(const gpu::DeviceBuffer bit_table,
                              Upload(std::vector<uint32_t>(bits.begin(), bits.end())));
    const size_t entries = image.pixels.size();
    ORBSERVE_ASSIGN_OR_RETURN(const gpu::DeviceBuffer responses,
                              gpu::DeviceBuffer::Create(0, entries * sizeof(float), nullptr));
    const auto* const map = workload.Find<gpu::FastMapStep>();
    const gpu::LevelImages images = map->ParamsFor(workload.context).images;
    const std::pair<Score, const char*> scores[] = {
        {Score::kSadCircle, "SAD_CIRCLE"},
        {Score::kSadArc, "SAD_ARC"},
        {Score::kLargestThreshold, "LARGEST_THRESHOLD"}};
    std::vector<Variant> variants;
    for (const auto& [score, name] : scores) {
      std::vector<std::vector<float>> answers;
      for (const bool by_bytes : {true, false}) {
        const TableParams params = {images.input + workload.side.params()[0].image_offset,
                                    images.level[0].pitch_bytes,
                                    image.width_px,
                                    image.height_px,
                                    frame.fast_threshold_grey,
                                    arc_length,
                                    score,
                                    by_bytes ? byte_table.data() : nullptr,
                                    reinterpret_cast<const uint32_t*>(bit_table.data()),
                                    reinterpret_cast<float*>(responses.data())};
        const GpuLaunch launch = [params](cudaStream_t stream) {
          return LaunchTableResponses(params, stream);
        };
        ORBSERVE_RETURN_IF_ERROR(launch(timer_->stream()));
        ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(timer_->stream()));
        ORBSERVE_ASSIGN_OR_RETURN(answers.emplace_back(), Download<float>(responses, entries));
        variants.push_back(
            {absl::StrFormat("%s, %s table", name, by_bytes ? "byte" : "bit"), launch, nullptr});
      }
      if (answers[0] != answers[1]) {
        return MakeError(ErrorReason::kInternal, "the two tables give different responses");
      }
    }
    return TimeAll(what, variants);
  }

  // --- Both ---

  // All variants in turn, again and again.
  absl::Status TimeAll(const std::string& what, const std::vector<Variant>& variants) {
    std::vector<std::vector<double>> samples(variants.size());
    for (int round = 0; round < settings_.rounds; ++round) {
      for (size_t i = 0; i < variants.size(); ++i) {
        ORBSERVE_ASSIGN_OR_RETURN(const std::vector<double> own,
                                  timer_->Time(variants[i].launch, variants[i].reset));
        samples[i].insert(samples[i].end(), own.begin(), own.end());
      }
    }
    for (size_t i = 0; i < variants.size(); ++i) Print(what, variants[i].name, samples[i]);
    return absl::OkStatus();
  }

  void Print(const std::string& what, const std::string& name, const std::vector<double>& samples) {
    const double median = Percentile(samples, 0.5);
    const double p10 = Percentile(samples, 0.1);
    const double p90 = Percentile(samples, 0.9);
    std::printf("  %-60s %8.2f us (%.2f to %.2f)\n", name.c_str(), median, p10, p90);
    std::fflush(stdout);
    Append(absl::StrFormat(
        "{%s, \"variant\": \"%s\", \"median_us\": %.3f, \"p10_us\": %.3f, \"p90_us\": %.3f}", what,
        name, median, p10, p90));
  }

  void Append(const std::string& entry) { json_ += (json_.empty() ? "\n " : ",\n ") + entry; }

  const Settings& settings_;
  const PowerReaders& power_;
  const KernelTimer* timer_ = nullptr;
  std::string json_;
};

int Run(const Settings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = {0};
  const auto backend = gpu::CreateGpuBackend(options);
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().ToString().c_str());
    return 1;
  }
  for (const DeviceDescription& device : (*backend)->devices()) {
    std::printf("%s: %s, %s\n", device.device.c_str(), device.name.c_str(), device.details.c_str());
  }
  const PowerReaders power = FindPowerReaders((*backend)->devices());
  std::vector<GreyImage> images;
  for (const std::string& path : settings.images) {
    images.push_back(ReadPgm(path));
    if (images.back().pixels.empty()) {
      std::fprintf(stderr, "%s: not a PGM image of 8 bits\n", path.c_str());
      return 1;
    }
  }
  AblationBench bench(settings, power);
  const absl::Status status = bench.Run(images);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return bench.WriteJson() && status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"The ablations of papers 1 and 2 on the CUDA backend's device"};
  app.add_option("images", settings.images, "PGM files");
  app.add_option("--papers", settings.papers, "1, 2 or both")
      ->delimiter(',')
      ->check(CLI::Range(1, 2));
  app.add_option("--launches", settings.launches, "Launches of a graph")
      ->check(CLI::Range(1, 1000));
  app.add_option("--repeats", settings.repeats, "Graphs timed in a round")
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", settings.rounds, "Rounds over all variants")
      ->check(CLI::Range(1, 1000));
  app.add_option("--calls", settings.calls, "Calls timed by the host's clock")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--seconds", settings.seconds,
                 "Length of each measurement of power, on the last image; 0 = none");
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
