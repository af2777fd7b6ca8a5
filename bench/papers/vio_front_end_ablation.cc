// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/papers/vio_front_end_ablation.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_workload.h"
#include "bench/papers/vio_front_end_variants.h"
#include "features/algo/segment_test.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/memory.h"
#include "gpu/steps/detect/fast_keys.h"
#include "gpu/steps/detect/fast_map.h"
#include "gpu/steps/suppress/cell.h"

namespace orbserve::bench {
namespace {

class VioFrontEndAblation {
 public:
  explicit VioFrontEndAblation(AblationRun& results) : results_(results) {}

  absl::Status Run(const std::vector<GreyImage>& images) {
    for (const GreyImage& image : images) ORBSERVE_RETURN_IF_ERROR(VioFrontEnd(image));
    return absl::OkStatus();
  }

 private:
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
    ORBSERVE_RETURN_IF_ERROR(LaunchFastMap(map_params, results_.stream()));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(results_.stream()));

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
        ORBSERVE_RETURN_IF_ERROR(variants[i].reset(results_.stream()));
        ORBSERVE_RETURN_IF_ERROR(variants[i].launch(results_.stream()));
        ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(results_.stream()));
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
          results_.TimeAll(absl::StrFormat("%s, \"window\": %d", what, window), variants));
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
        {Score::kSadCircle, "SAD_CIRCLE"}, {Score::kSadArc, "SAD_ARC"}, {Score::kFast, "FAST"}};
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
        ORBSERVE_RETURN_IF_ERROR(launch(results_.stream()));
        ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(results_.stream()));
        ORBSERVE_ASSIGN_OR_RETURN(answers.emplace_back(), Download<float>(responses, entries));
        variants.push_back(
            {absl::StrFormat("%s, %s table", name, by_bytes ? "byte" : "bit"), launch, nullptr});
      }
      if (answers[0] != answers[1]) {
        return MakeError(ErrorReason::kInternal, "the two tables give different responses");
      }
    }
    return results_.TimeAll(what, variants);
  }

  AblationRun& results_;
};

}  // namespace

absl::Status RunVioFrontEndAblation(const std::vector<GreyImage>& images, AblationRun& results) {
  return VioFrontEndAblation(results).Run(images);
}

}  // namespace orbserve::bench
