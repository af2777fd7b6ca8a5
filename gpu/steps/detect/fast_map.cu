// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame. Out: per (frame, level) OrderedBits() of the response of each
// corner inside the border that the mask lets through, 0 for all other pixels
// (gpu/steps/detect/response_map.h).
//
// gpu/steps/detect/fast_tile.cuh has the phases of a tile. Suppression follows elsewhere, so that a
// tile yields all pixels that it looks at. Responses lie in shared memory first, from where whole
// rows go to the map: 512 bytes each. Shared memory with tiles of 16 rows (32 rows): 18 KiB (34
// KiB).

#include "gpu/steps/detect/fast_map.h"

#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/detect/fast_tile.cuh"

namespace orbserve::gpu {
namespace fast_tile {
namespace {

constexpr int kMapRadius = 0;  // of suppression: none

// `kArcLength`: of the arc extremes, which give FAST scores; else 9.
template <Score kScore, int kArcLength>
__global__ __launch_bounds__(kThreads) void FastMapKernel(
    const __grid_constant__ FastMapParams params) {
  using S = algo::CornerScore<kScore>;
  constexpr int kMarginRows = S::kReachPx;
  constexpr int kEntriesPerStore = 4;
  extern __shared__ uint4 tile_memory[];
  __shared__ int queue_count;
  __shared__ int counts[kWarps];
  const LevelImages& images = params.images;
  const FastTiles& tiles = params.tiles;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  // Read together, ahead of the first use of any.
  const FrameMode mode = frame.mode;
  const int threshold_grey = frame.threshold_grey;
  const uint8_t* const level_zero = images.input + frame.image_offset;
  if (mode != FrameMode::kDetect) return;

  const FastTile tile =
      tiles.Find(images, tiles.begin[params.first_level] + static_cast<int>(blockIdx.x),
                 params.last_level, kMapRadius);
  const LevelImage& level = images.level[tile.level];
  const int bands = FastTiles::BandsOf(tiles.rows, kMapRadius);
  auto* const image = reinterpret_cast<uint8_t*>(tile_memory);
  auto* const responses =
      reinterpret_cast<uint32_t*>(image + ImageRowsOf(bands, kMarginRows) * kPitch);
  auto* const queue = reinterpret_cast<uint16_t*>(responses + bands * kBandRows * kPitch);
  FindCandidates<kMarginRows, kMarginRows>(
      tile.level == 0 ? level_zero : images.Image(frame, frame_index, tile.level), level, tile,
      kMapRadius, bands, threshold_grey, image, responses, queue, &queue_count);

  const uint8_t* __restrict__ mask = images.Mask(frame, frame_index, tile.level);
  const int border = params.border_px;
  const int count = KeepCorners<S, kArcLength>(
      params, image + kMarginRows * kPitch + kColumnsPerLane, threshold_grey, queue,
      EntriesOfWarp(queue_count), [&](int place, int score) {
        const int y = tile.y_begin + place / kPitch;
        const int x = tile.x_begin + place % kPitch;
        if (x < border || x >= level.width_px - border || y < border ||
            y >= level.height_px - border) {
          return false;
        }
        if (mask != nullptr && mask[static_cast<int64_t>(y) * level.pitch_bytes + x] == 0) {
          return false;
        }
        if constexpr (S::kSource != algo::ScoreSource::kPatch) {
          responses[place] = algo::OrderedBits(static_cast<float>(score));
        }
        return true;
      });
  if constexpr (S::kSource == algo::ScoreSource::kPatch) {
    const int total = ShareCounts(count, counts);
    for (int i = static_cast<int>(threadIdx.x); i < total; i += kThreads) {
      const int place = EntryOfBlock(queue, counts, i);
      const float response = ResponseAt<S>(image, kMarginRows, place);
      if (response > 0.0f || !params.positive_only) {
        responses[place] = algo::OrderedBits(response);
      }
    }
  }
  __syncthreads();  // all responses are there

  const ResponseMaps& maps = params.maps;
  const int pitch = maps.pitch[tile.level];
  uint32_t* const map = maps.Of(frame_index, tile.level);
  constexpr int kStoresPerRow = kTileColumns / kEntriesPerStore;
  for (int i = static_cast<int>(threadIdx.x); i < tile.yields * kStoresPerRow; i += kThreads) {
    const int row = i / kStoresPerRow;
    const int column = i % kStoresPerRow * kEntriesPerStore;
    const int x = tile.x_begin + column;
    if (x >= pitch) continue;
    *reinterpret_cast<uint4*>(map + static_cast<int64_t>(tile.y_begin + row) * pitch + x) =
        *reinterpret_cast<const uint4*>(responses + row * kPitch + column);
  }
}

template <Score kScore, int kArcLength = 9>
void LaunchMap(const FastMapParams& params, dim3 grid, cudaStream_t stream) {
  const int shared_bytes = SharedBytesOf(FastTiles::BandsOf(params.tiles.rows, kMapRadius),
                                         algo::CornerScore<kScore>::kReachPx, sizeof(uint32_t));
  FastMapKernel<kScore, kArcLength><<<grid, kThreads, shared_bytes, stream>>>(params);
}

}  // namespace
}  // namespace fast_tile

absl::Status LaunchFastMap(const FastMapParams& params, cudaStream_t stream) {
  const int count = params.TileCount();
  if (count == 0) return absl::OkStatus();
  const dim3 grid(count, params.frames.count);
  algo::WithScore(params.score, [&](auto of) {
    using S = decltype(of);
    if constexpr (S::kSource == algo::ScoreSource::kTest) {
      switch (params.arc_length) {
        case 9:
          return fast_tile::LaunchMap<S::kScore, 9>(params, grid, stream);
        case 10:
          return fast_tile::LaunchMap<S::kScore, 10>(params, grid, stream);
        case 11:
          return fast_tile::LaunchMap<S::kScore, 11>(params, grid, stream);
        default:
          return fast_tile::LaunchMap<S::kScore, 12>(params, grid, stream);
      }
    } else {
      fast_tile::LaunchMap<S::kScore>(params, grid, stream);
    }
  });
  return CheckLaunch("FastMapKernel");
}

FastMapParams FastMapStep::ParamsFor(const StepContext& context) const {
  const PipelineOptions& options = pipeline_.spec.pipeline;
  return {FastSearch::For(pipeline_, images_, context, first_level_, last_level_),
          maps_.At(context), options.detect.score, options.select.border_px,
          options.suppress.compare == Compare::kScore};
}

absl::Status FastMapStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchFastMap(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
