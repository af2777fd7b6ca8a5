// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of the step `minimum_distance` share this view of one level of a frame.

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_LEVELS_CUH_
#define ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_LEVELS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "features/algo/distance_grid.h"
#include "gpu/steps/detect/corner_sink.cuh"
#include "gpu/steps/suppress/distance_params.h"

namespace orbserve::gpu {

// LevelData is the view that kernels have of one level of a frame.
struct LevelData {
  const DistanceParams::Level& level;
  uint64_t* best;
  uint32_t* inside;
  int32_t* list[kCellLists];
  int32_t* list_count;
};
__device__ __forceinline__ LevelData DataOf(const DistanceParams& params, int frame_index, int l) {
  const DistanceParams::Level& level = params.level[l];
  const int64_t first = frame_index * params.cell_stride + level.first_cell;
  return {level,
          params.best + first,
          params.inside + first,
          {params.list[0] + first, params.list[1] + first},
          params.frames.counters[frame_index].undecided_cells[l]};
}

// The places of a level.
template <bool kCompressed>
struct PlacesOf;
template <>
struct PlacesOf<false> {
  using Places = algo::PixelPlaces;
};
template <>
struct PlacesOf<true> {
  using Places = algo::BlockPlaces;
};
template <bool kCompressed>
__device__ __forceinline__ typename PlacesOf<kCompressed>::Places MakePlaces(
    const DistanceParams& params, const FrameParams& frame, const FrameCounters& counters,
    int frame_index, int l) {
  const algo::PixelPlaces pixels = {params.maps.Of(frame_index, l), params.maps.pitch[l],
                                    CandidateThreshold(params.is_corner_map, frame, counters)};
  if constexpr (kCompressed) {
    const Region& region = params.level[l].region;
    return {pixels, region.x_begin, region.y_begin, region.x_end, region.y_end};
  } else {
    return pixels;
  }
}

// The level that a thread block works on.
__device__ __forceinline__ int LevelOfBlock(const DistanceParams& params) {
  int l = 0;
  while (l + 1 < params.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_block) {
    ++l;
  }
  return l;
}

// Calls `launch` with std::true_type or std::false_type, by compression.
template <typename Launch>
auto WithCompression(const DistanceParams& params, const Launch& launch) {
  return params.is_compressed ? launch(std::true_type()) : launch(std::false_type());
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_LEVELS_CUH_
