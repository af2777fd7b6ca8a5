// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame. Out: per (frame, level) rank keys (features/algo/order.h) of the
// corners that survive suppression in a window of 3x3 to 9x9 pixels, in any order, and their count.
// With cells and without a second threshold the corners go straight to their cells, by an atomic
// minimum (gpu/steps/suppress/cell.cu), and there are no lists.
//
// gpu/steps/detect/fast_tile.cuh has the phases of a tile. Values that the window compares
// (features/algo/corner_score.h) lie in shared memory: FAST scores in 8 bits, sums of absolute
// differences in 16, Harris responses in 32. Responses of patches (paper 1, sec. 5.2) are computed
// of every corner before any is dropped. Corners of all warps come together for that, so that few
// lanes idle: a tile of a photograph has some 70 corners. Where FAST scores are compared and
// another score ranks, responses are computed of the corners that are left.
//
// Shared memory with tiles that look at 16 rows (32 rows): 10 to 18 KiB (20 to 34 KiB).

#include "gpu/steps/detect/fast_keys.h"

#include "gpu/runtime/check.h"
#include "gpu/steps/detect/fast_tile.cuh"

namespace orbserve::gpu {
namespace fast_tile {
namespace {

// Corners are compared by one score, and their responses are of another one or the same. A tile has
// rows of margin for the former: pixels nearer to the sides of the level have no value. A
// keypoint's border leaves room for the latter.
//
// `kArcLength`: of the arc extremes, where FAST scores are compared; else 9.
template <Score kCompared, Score kRanking, int kArcLength>
__global__ __launch_bounds__(kThreads) void FastKeysKernel(
    const __grid_constant__ FastKeyParams params) {
  using Compared = algo::CornerScore<kCompared>;
  using Value = typename Compared::Value;
  constexpr int kMarginRows = Compared::kReachPx;
  // Corners that are left lie a row inside what the tile looks at, or more.
  static_assert(algo::CornerScore<kRanking>::kReachPx <= kMarginRows + 1);
  extern __shared__ uint4 tile_memory[];
  __shared__ int queue_count;
  __shared__ int counts[kWarps];
  __shared__ int list_begin;
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
                 params.last_level, tiles.radius_px);
  const LevelImage& level = images.level[tile.level];
  const int bands = FastTiles::BandsOf(tiles.rows, tiles.radius_px);
  auto* const image = reinterpret_cast<uint8_t*>(tile_memory);
  auto* const values = reinterpret_cast<Value*>(image + ImageRowsOf(bands, kMarginRows) * kPitch);
  auto* const queue = reinterpret_cast<uint16_t*>(values + bands * kBandRows * kPitch);
  FindCandidates<kMarginRows, kMarginRows>(
      tile.level == 0 ? level_zero : images.Image(frame, frame_index, tile.level), level, tile,
      tiles.radius_px, bands, threshold_grey, image, values, queue, &queue_count);

  int count = KeepCorners<Compared, kArcLength>(
      params, image + kMarginRows * kPitch + kColumnsPerLane, threshold_grey, queue,
      EntriesOfWarp(queue_count), [&](int place, int score) {
        if constexpr (Compared::kSource != algo::ScoreSource::kPatch) {
          values[place] = Compared::ValueOf(score, threshold_grey);
        }
        return true;
      });
  if constexpr (Compared::kSource == algo::ScoreSource::kPatch) {
    const int total = ShareCounts(count, counts);
    for (int i = static_cast<int>(threadIdx.x); i < total; i += kThreads) {
      const int place = EntryOfBlock(queue, counts, i);
      const float response = ResponseAt<Compared>(image, kMarginRows, place);
      if (response > 0.0f) values[place] = Compared::ValueOf(response, threshold_grey);
    }
  }
  __syncthreads();  // all values are there
  count = KeepMaxima(tiles, level, tile, images.Mask(frame, frame_index, tile.level), values, queue,
                     count);

  const int total = ShareCounts(count, counts);
  const auto response_at = [&](int place) {
    if constexpr (kRanking == kCompared) {
      return Compared::ResponseOf(values[place], threshold_grey);
    } else {
      return ResponseAt<algo::CornerScore<kRanking>>(image, kMarginRows, place);
    }
  };
  if (params.winners.key != nullptr) {
    // Keys of a cell differ, so its winner does not depend on the order of arrival.
    const ScaledGrid& cells = params.winners.cells;
    auto* const winners = reinterpret_cast<unsigned long long*>(params.winners.key) +
                          static_cast<int64_t>(frame_index) * cells.grid.count();
    const float scale = cells.scale[tile.level];
    for (int i = static_cast<int>(threadIdx.x); i < total; i += kThreads) {
      const int place = EntryOfBlock(queue, counts, i);
      const int x = tile.x_begin + place % kPitch;
      const int y = tile.y_begin + place / kPitch;
      atomicMin(winners + algo::CellOf(cells.grid, x, y, scale),
                static_cast<unsigned long long>(
                    algo::CellKey(cells.grid, response_at(place), tile.level, x, y, scale)));
    }
    return;
  }
  if (threadIdx.x == 0 && total > 0) {
    list_begin = atomicAdd(&params.frames.counters[frame_index].corners[tile.level], total);
  }
  __syncthreads();  // the tile has its part of the list
  if (total == 0) return;
  const KeyLists& lists = params.keys;
  uint64_t* const keys =
      lists.key + frame_index * lists.stride + lists.offset[tile.level] + list_begin;
  for (int i = static_cast<int>(threadIdx.x); i < total; i += kThreads) {
    const int place = EntryOfBlock(queue, counts, i);
    keys[i] = algo::RankKey(response_at(place), tile.x_begin + place % kPitch,
                            tile.y_begin + place / kPitch);
  }
}

template <Score kCompared, Score kRanking, int kArcLength = 9>
void Launch(const FastKeyParams& params, dim3 grid, cudaStream_t stream) {
  using Compared = algo::CornerScore<kCompared>;
  const int shared_bytes =
      SharedBytesOf(FastTiles::BandsOf(params.tiles.rows, params.tiles.radius_px),
                    Compared::kReachPx, sizeof(typename Compared::Value));
  FastKeysKernel<kCompared, kRanking, kArcLength><<<grid, kThreads, shared_bytes, stream>>>(params);
}

// FAST scores are compared.
template <Score kRanking>
void LaunchForArc(const FastKeyParams& params, dim3 grid, cudaStream_t stream) {
  switch (params.arc_length) {
    case 9:
      return Launch<Score::kFast, kRanking, 9>(params, grid, stream);
    case 10:
      return Launch<Score::kFast, kRanking, 10>(params, grid, stream);
    case 11:
      return Launch<Score::kFast, kRanking, 11>(params, grid, stream);
    default:
      return Launch<Score::kFast, kRanking, 12>(params, grid, stream);
  }
}

}  // namespace
}  // namespace fast_tile

absl::Status LaunchFastKeys(const FastKeyParams& params, cudaStream_t stream) {
  const int count = params.TileCount();
  if (count == 0) return absl::OkStatus();
  const dim3 grid(count, params.frames.count);
  algo::WithScore(params.score, [&](auto of) {
    using S = decltype(of);
    if constexpr (S::kSource == algo::ScoreSource::kTest) {
      fast_tile::LaunchForArc<S::kScore>(params, grid, stream);
    } else {
      if constexpr (!S::kNeedsCompareScore) {
        if (params.compares_fast_scores) {
          return fast_tile::LaunchForArc<S::kScore>(params, grid, stream);
        }
      }
      fast_tile::Launch<S::kScore, S::kScore>(params, grid, stream);
    }
  });
  return CheckLaunch("FastKeysKernel");
}

FastKeyParams FastKeysStep::ParamsFor(const StepContext& context) const {
  const PipelineOptions& options = pipeline_.spec.pipeline;
  FastKeyParams params = {FastSearch::For(pipeline_, images_, context, first_level_, last_level_),
                          keys_.At(context),
                          options.detect.score,
                          ComparesFastScores(options),
                          {}};
  if (winners_.has_value() && SearchOffersToCells(context.kind)) {
    params.winners = winners_->At(context);
  }
  return params;
}

absl::Status FastKeysStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchFastKeys(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
