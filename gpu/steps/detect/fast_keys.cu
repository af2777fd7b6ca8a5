// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame. Out: per (frame, level) rank keys (features/algo/order.h) of the
// corners that survive suppression in a window of 3x3 to 9x9 pixels, in any order, and their count.
// With cells and without a second threshold the corners go straight to their cells, by an atomic
// minimum (gpu/steps/suppress/cell.cu), and there are no lists.
//
// gpu/steps/detect/fast_tile.cuh has the phases of a tile. Values that the window compares lie in
// shared memory: FAST scores in 8 bits, sums of absolute differences in 16, Harris responses in 32,
// as OrderedBits(). Harris responses (paper 1, sec. 5.2) are computed of every corner before any is
// dropped. Corners of all warps come together for that, so that few lanes idle: a tile of a
// photograph has some 70 corners. Where FAST scores are compared and Harris ranks, responses are
// computed of the corners that are left.
//
// Shared memory with tiles that look at 16 rows (32 rows): 10 to 18 KiB (20 to 34 KiB).

#include "gpu/steps/detect/fast_keys.h"

#include "gpu/runtime/check.h"
#include "gpu/steps/detect/fast_tile.cuh"

namespace orbserve::gpu {
namespace fast_tile {
namespace {

// Value by which corners are compared, and the source of their response.
enum class Rule {
  kFastScore,     // both are the FAST score
  kHarrisOfKept,  // FAST score, then Harris of the corners that are left
  kSadCircle,     // both are the sum of absolute differences
  kSadArc,
  kHarris,  // both are the Harris response
};

constexpr Score ComparedScore(Rule rule) {
  switch (rule) {
    case Rule::kSadCircle:
      return Score::kSadCircle;
    case Rule::kSadArc:
      return Score::kSadArc;
    case Rule::kHarris:
      return Score::kHarris;
    default:
      return Score::kFast;
  }
}
// Harris responses of all corners read one pixel more than the ring: a tile has one more row at
// either side, and pixels at the sides of the level have no response.
constexpr int MarginOf(Rule rule) {
  return rule == Rule::kHarris ? algo::kHarrisRadiusPx : algo::kFastRadiusPx;
}
template <Rule kRule>
using ValueType = typename ValueOf<ComparedScore(kRule)>::Type;

// `kArcLength`: of the arc extremes, where FAST scores are compared; else 9.
template <Rule kRule, int kArcLength>
__global__ __launch_bounds__(kThreads) void FastKeysKernel(
    const __grid_constant__ FastKeyParams params) {
  using Value = ValueType<kRule>;
  constexpr Score kCompared = ComparedScore(kRule);
  constexpr int kMarginRows = MarginOf(kRule);
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

  int count = KeepCorners<kCompared, kArcLength>(
      params, image + kMarginRows * kPitch + kColumnsPerLane, threshold_grey, queue,
      EntriesOfWarp(queue_count), [&](int place, int score) {
        if constexpr (kCompared == Score::kFast) score -= threshold_grey - 1;
        if constexpr (kCompared != Score::kHarris) values[place] = static_cast<Value>(score);
        return true;
      });
  if constexpr (kCompared == Score::kHarris) {
    const int total = ShareCounts(count, counts);
    for (int i = static_cast<int>(threadIdx.x); i < total; i += kThreads) {
      const int place = EntryOfBlock(queue, counts, i);
      const float response = HarrisAt(image, kMarginRows, place);
      if (response > 0.0f) values[place] = algo::OrderedBits(response);
    }
  }
  __syncthreads();  // all values are there
  count = KeepMaxima(tiles, level, tile, images.Mask(frame, frame_index, tile.level), values, queue,
                     count);

  const int total = ShareCounts(count, counts);
  const auto response_at = [&](int place) {
    if constexpr (kRule == Rule::kFastScore) {
      return static_cast<float>(values[place] + threshold_grey - 1);
    } else if constexpr (kRule == Rule::kHarrisOfKept) {
      return HarrisAt(image, kMarginRows, place);
    } else if constexpr (kRule == Rule::kHarris) {
      return algo::ValueOfOrderedBits(values[place]);
    } else {
      return static_cast<float>(values[place]);
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

template <Rule kRule, int kArcLength = 9>
void Launch(const FastKeyParams& params, dim3 grid, cudaStream_t stream) {
  const int shared_bytes =
      SharedBytesOf(FastTiles::BandsOf(params.tiles.rows, params.tiles.radius_px), MarginOf(kRule),
                    sizeof(ValueType<kRule>));
  FastKeysKernel<kRule, kArcLength><<<grid, kThreads, shared_bytes, stream>>>(params);
}

template <Rule kRule>
void LaunchForArc(const FastKeyParams& params, dim3 grid, cudaStream_t stream) {
  switch (params.arc_length) {
    case 9:
      return Launch<kRule, 9>(params, grid, stream);
    case 10:
      return Launch<kRule, 10>(params, grid, stream);
    case 11:
      return Launch<kRule, 11>(params, grid, stream);
    default:
      return Launch<kRule, 12>(params, grid, stream);
  }
}

}  // namespace
}  // namespace fast_tile

absl::Status LaunchFastKeys(const FastKeyParams& params, cudaStream_t stream) {
  using fast_tile::Rule;
  const int count = params.TileCount();
  if (count == 0) return absl::OkStatus();
  const dim3 grid(count, params.frames.count);
  switch (params.score) {
    case Score::kFast:
      fast_tile::LaunchForArc<Rule::kFastScore>(params, grid, stream);
      break;
    case Score::kSadCircle:
      fast_tile::Launch<Rule::kSadCircle>(params, grid, stream);
      break;
    case Score::kSadArc:
      fast_tile::Launch<Rule::kSadArc>(params, grid, stream);
      break;
    case Score::kHarris:
      if (params.compares_fast_scores) {
        fast_tile::LaunchForArc<Rule::kHarrisOfKept>(params, grid, stream);
      } else {
        fast_tile::Launch<Rule::kHarris>(params, grid, stream);
      }
      break;
  }
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
