// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/papers/oriented_fast_ablation.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_workload.h"
#include "bench/papers/oriented_fast_variants.h"
#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/algo/segment_test.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/steps/detect/fast_keys.h"
#include "gpu/steps/pyramid.h"

namespace orbserve::bench {
namespace {

constexpr int kThresholdGrey = 20;
constexpr int kArcLength = 9;
constexpr int kOrientedLevels = 4;

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

class OrientedFastAblation {
 public:
  explicit OrientedFastAblation(AblationRun& results) : results_(results) {}

  absl::Status Run(const std::vector<GreyImage>& images) {
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
    return absl::OkStatus();
  }

 private:
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
      ORBSERVE_RETURN_IF_ERROR(pyramid->Enqueue(context, results_.stream()));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(results_.stream()));
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
    ORBSERVE_RETURN_IF_ERROR(results_.TimeAll(what, variants));
    if (levels == kOrientedLevels) ORBSERVE_RETURN_IF_ERROR(Detection(what, workload, params));
    if (with_energy && levels == kOrientedLevels) {
      for (size_t i = 4; i < variants.size(); ++i) {
        ORBSERVE_RETURN_IF_ERROR(results_.Energy(what, variants[i]));
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
    // The stream of the launch clears them, since it does not wait for the default stream.
    for (const gpu::DeviceBuffer& level : responses) {
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemsetAsync(level.data(), 0, level.size_bytes(), results_.stream()));
    }
    ORBSERVE_RETURN_IF_ERROR(launch(results_.stream()));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(results_.stream()));
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
    cudaStream_t const stream = results_.stream();
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

    ORBSERVE_ASSIGN_OR_RETURN(const WorkloadGraph graph, WorkloadGraph::Capture(workload, stream));
    const auto ours = [&] { return graph.Run(); };
    std::vector<double> on_device;
    std::vector<double> of_style;
    std::vector<double> of_ours;
    for (int i = -results_.settings().calls / 10; i < results_.settings().calls; ++i) {
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
    results_.Print(what, "detection as OpenCV's CUDA module, on the device, host clock", on_device);
    results_.Print(what, "detection as OpenCV's CUDA module, to the host, host clock", of_style);
    // Frames with more features than a graph ranks go on elsewhere.
    if (report.unranked == 0)
      results_.Print(what, "detection, ours, to the host, host clock", of_ours);
    std::printf("  features: %d and %d%s\n", static_cast<int>(kept), report.total,
                report.unranked == 0 ? "" : ", of more than one graph can rank");
    return absl::OkStatus();
  }

  AblationRun& results_;
};

}  // namespace

absl::Status RunOrientedFastAblation(const std::vector<GreyImage>& images, AblationRun& results) {
  return OrientedFastAblation(results).Run(images);
}

}  // namespace orbserve::bench
