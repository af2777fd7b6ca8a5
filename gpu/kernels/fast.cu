// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame. Out: per (frame, level) the corners that survive 3x3 suppression,
// compacted in any order, their count and their histogram by score.
// Segment test and score: features/algo/fast.h. Candidate tests: paper 1 (sec. 5.1, the 32-bit
// binary encoding), papers 2 (sec. II-D) and 3 (sec. III-A, the 8 KiB bit table), and our own, the
// extremes of arcs, which are test and score in one. The score is always made of the extremes.
//
// One warp walks down a strip of 128 columns: each lane holds 4 columns, the last seven rows stay
// in registers, a row is loaded once (one coalesced 4-byte load per lane, two rows ahead), its
// neighbours' bytes come by shuffles. The outer lanes only serve as neighbours, so a strip yields
// 120 columns. Scores of three rows stay in registers for the suppression. Nothing but the corners
// leaves the multiprocessor. Shared memory: 15 KiB per block of four warps for the corners of a
// tile, written out with one atomic per tile. 92 registers.
//
// Packed arithmetic: two pixels per register as unsigned 16-bit numbers with the grey level in the
// upper byte and a neighbour's, which is never looked at, in the lower: minima and maxima of such
// pairs are decided by the upper byte, so ring pixels need no unpacking. For pixels (1, 3) of a
// lane the 4 bytes as they lie in memory are such a pair, for (0, 2) those one byte further left.

#include "gpu/kernels/fast.h"

#include <algorithm>

#include "features/algo/fast.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr unsigned kFullWarp = 0xffffffffu;
constexpr int kWarpLanes = 32;
constexpr int kWarpsPerBlock = 4;            // no cooperation between them; 15 KiB of shared memory
constexpr int kBlocksPerMultiprocessor = 5;  // registers allow it; latency wants it
constexpr int kColumnsPerLane = 4;
constexpr int kStripColumns = (kWarpLanes - 2) * kColumnsPerLane;  // that a strip yields: 120
// No two survivors touch: one of every 2x2 pixels.
constexpr int kTileCorners = kStripColumns / 2 * kMaxFastTileRows / 2;
constexpr int kRows = 2 * algo::kFastRadiusPx + 1;
constexpr uint32_t kBothOnes = 0x00010001u;

// Columns x-4 .. x+7 of one row, x being the lane's first column.
struct RowWords {
  uint32_t left;
  uint32_t own;
  uint32_t right;
};

// Bytes x+kFrom .. x+kFrom+3 of a row, -4 <= kFrom <= 3.
template <int kFrom>
__device__ __forceinline__ uint32_t BytesFrom(const RowWords& row) {
  if constexpr (kFrom == -4) {
    return row.left;
  } else if constexpr (kFrom < 0) {
    return __byte_perm(row.left, row.own, 0x3210 + 0x1111 * (kFrom + 4));
  } else if constexpr (kFrom == 0) {
    return row.own;
  } else {
    return __byte_perm(row.own, row.right, 0x3210 + 0x1111 * kFrom);
  }
}

// Ring pixels in the upper bytes of pairs; kShift 0: pixels (1, 3), -1: pixels (0, 2).
template <int kShift>
__device__ __forceinline__ void LoadRingPairs(const RowWords (&row)[kRows], uint32_t (&ring)[16]) {
  // The order of features/algo/fast.h: row[3 + y], column x.
  ring[0] = BytesFrom<0 + kShift>(row[6]);
  ring[1] = BytesFrom<1 + kShift>(row[6]);
  ring[2] = BytesFrom<2 + kShift>(row[5]);
  ring[3] = BytesFrom<3 + kShift>(row[4]);
  ring[4] = BytesFrom<3 + kShift>(row[3]);
  ring[5] = BytesFrom<3 + kShift>(row[2]);
  ring[6] = BytesFrom<2 + kShift>(row[1]);
  ring[7] = BytesFrom<1 + kShift>(row[0]);
  ring[8] = BytesFrom<0 + kShift>(row[0]);
  ring[9] = BytesFrom<-1 + kShift>(row[0]);
  ring[10] = BytesFrom<-2 + kShift>(row[1]);
  ring[11] = BytesFrom<-3 + kShift>(row[2]);
  ring[12] = BytesFrom<-3 + kShift>(row[3]);
  ring[13] = BytesFrom<-3 + kShift>(row[4]);
  ring[14] = BytesFrom<-2 + kShift>(row[5]);
  ring[15] = BytesFrom<-1 + kShift>(row[6]);
}

// Whether a pixel of the pair can be a corner: an arc of 9 or more holds one end of every diameter,
// so both the horizontal and the vertical one must have an end that is bright (dark) enough.
template <int kShift>
__device__ __forceinline__ bool MayHoldCorner(const RowWords (&row)[kRows], uint32_t centre,
                                              uint32_t threshold_pair) {
  const uint32_t below = BytesFrom<0 + kShift>(row[6]);
  const uint32_t above = BytesFrom<0 + kShift>(row[0]);
  const uint32_t right = BytesFrom<3 + kShift>(row[3]);
  const uint32_t left = BytesFrom<-3 + kShift>(row[3]);
  const uint32_t bright = __vminu2(__vmaxu2(below, above), __vmaxu2(left, right));
  const uint32_t dark = __vmaxu2(__vminu2(below, above), __vminu2(left, right));
  // Limits with the lower byte such that the comparison is strict in the upper one.
  const uint32_t brightest = __vminu2(centre + threshold_pair, 0x00ff00ffu) * 256 + 0x00ff00ffu;
  const uint32_t darkest = (__vmaxu2(centre, threshold_pair) - threshold_pair) * 256;
  return __vmaxu2(bright, brightest) != brightest || __vminu2(dark, darkest) != darkest;
}

// Per pixel of the pair: score - threshold + 1 of a corner, else 0; `centre` has the grey levels as
// plain 16-bit numbers. Equals algo::FastScore: the largest excess that an arc reaches everywhere
// is the maximum over arcs of the minimum over the arc, less the centre.
template <int kArcLength>
__device__ __forceinline__ uint32_t ScorePair(const uint32_t (&ring)[16], uint32_t centre,
                                              uint32_t threshold_pair) {
  // Two neighbouring arcs share all but their ends: of the two ends the greater one counts, and the
  // shared part is put together from pairs of odd start. 36 minima and maxima of up to three inputs
  // per polarity, each one instruction.
  uint32_t low2[8];  // minimum of ring pixels 2i + 1 and 2i + 2
  uint32_t high2[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    low2[i] = __vminu2(ring[2 * i + 1], ring[(2 * i + 2) % 16]);
    high2[i] = __vmaxu2(ring[2 * i + 1], ring[(2 * i + 2) % 16]);
  }
  uint32_t low[8];  // of each two arcs
  uint32_t high[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint32_t first = ring[2 * i];
    const uint32_t last = ring[(2 * i + kArcLength) % 16];
    // Pixels 2i + 1 .. 2i + 6, then up to 2i + 8.
    low[i] = __vimin3_u16x2(low2[i], low2[(i + 1) % 8], low2[(i + 2) % 8]);
    high[i] = __vimax3_u16x2(high2[i], high2[(i + 1) % 8], high2[(i + 2) % 8]);
    low[i] = __vimin3_u16x2(low[i], low2[(i + 3) % 8], __vmaxu2(first, last));
    high[i] = __vimax3_u16x2(high[i], high2[(i + 3) % 8], __vminu2(first, last));
    if constexpr (kArcLength == 10 || kArcLength == 12) {
      low[i] = __vminu2(low[i], ring[(2 * i + kArcLength - 1) % 16]);
      high[i] = __vmaxu2(high[i], ring[(2 * i + kArcLength - 1) % 16]);
    }
    if constexpr (kArcLength >= 11) {
      low[i] = __vminu2(low[i], low2[(i + 4) % 8]);
      high[i] = __vmaxu2(high[i], high2[(i + 4) % 8]);
    }
  }
  const uint32_t brightest =
      __vimax3_u16x2(__vimax3_u16x2(low[0], low[1], low[2]), __vimax3_u16x2(low[3], low[4], low[5]),
                     __vmaxu2(low[6], low[7]));
  const uint32_t darkest =
      __vimin3_u16x2(__vimin3_u16x2(high[0], high[1], high[2]),
                     __vimin3_u16x2(high[3], high[4], high[5]), __vminu2(high[6], high[7]));
  // 256 is added so that no half borrows from the other.
  const uint32_t bright_excess = __byte_perm(brightest, 0, 0x4341) + 256 * kBothOnes - centre;
  const uint32_t dark_excess = centre + 256 * kBothOnes - __byte_perm(darkest, 0, 0x4341);
  const uint32_t least = threshold_pair + 256 * kBothOnes;
  return __vimax3_u16x2(bright_excess, dark_excess, least) - least;
}

// Whether 16 comparison bits, read as a ring, hold kArcLength neighbouring ones.
template <int kArcLength>
__device__ __forceinline__ bool HoldsArc(uint32_t bits) {
  uint32_t run = bits | (bits << 16);
  run &= run >> 1;
  run &= run >> 2;
  run &= run >> 4;  // bit i: ring pixels i .. i + 7
  run &= run >> (kArcLength - 8);
  return (run & 0xffffu) != 0;
}

// Grey level at column x + kColumn of a row.
template <int kColumn>
__device__ __forceinline__ int GreyAt(const RowWords& row) {
  constexpr int kByte = kColumn + 4;
  const uint32_t word = kByte < 4 ? row.left : kByte < 8 ? row.own : row.right;
  return static_cast<int>((word >> (8 * (kByte % 4))) & 0xff);
}

// The papers' tests, one pixel at a time: 0xff of a corner, else 0.
template <CornerTest kTest, int kArcLength, int kPixel>
__device__ __forceinline__ uint32_t TestOne(const RowWords (&row)[kRows], int threshold_grey,
                                            const uint32_t* __restrict__ bit_table) {
  const int ring[algo::kFastRingPixels] = {
      GreyAt<kPixel>(row[6]),     GreyAt<kPixel + 1>(row[6]), GreyAt<kPixel + 2>(row[5]),
      GreyAt<kPixel + 3>(row[4]), GreyAt<kPixel + 3>(row[3]), GreyAt<kPixel + 3>(row[2]),
      GreyAt<kPixel + 2>(row[1]), GreyAt<kPixel + 1>(row[0]), GreyAt<kPixel>(row[0]),
      GreyAt<kPixel - 1>(row[0]), GreyAt<kPixel - 2>(row[1]), GreyAt<kPixel - 3>(row[2]),
      GreyAt<kPixel - 3>(row[3]), GreyAt<kPixel - 3>(row[4]), GreyAt<kPixel - 2>(row[5]),
      GreyAt<kPixel - 1>(row[6])};
  const int centre = GreyAt<kPixel>(row[3]);
  // Bright in the lower half, dark in the upper.
  uint32_t encoded = 0;
#pragma unroll
  for (int i = 0; i < algo::kFastRingPixels; ++i) {
    encoded |= (ring[i] > centre + threshold_grey ? 1u : 0u) << i;
    encoded |= (ring[i] < centre - threshold_grey ? 1u : 0u) << (algo::kFastRingPixels + i);
  }
  const uint32_t bright = encoded & 0xffffu;
  const uint32_t dark = encoded >> 16;
  bool corner;
  if constexpr (kTest == CornerTest::kBitTable) {
    corner = (((bit_table[bright / 32] >> (bright % 32)) | (bit_table[dark / 32] >> (dark % 32))) &
              1) != 0;
  } else {
    corner = HoldsArc<kArcLength>(bright) || HoldsArc<kArcLength>(dark);
  }
  return corner ? 0xffu : 0u;
}

// Of the lane's four pixels: score - threshold + 1, or 0 where there is no corner, a byte each.
template <CornerTest kTest, int kArcLength>
__device__ __forceinline__ uint32_t ScoreFour(const RowWords (&row)[kRows], int threshold_grey,
                                              const uint32_t* __restrict__ bit_table) {
  const uint32_t threshold_pair = static_cast<uint32_t>(threshold_grey) * kBothOnes;
  const uint32_t centre_even = row[3].own & 0x00ff00ffu;
  const uint32_t centre_odd = (row[3].own >> 8) & 0x00ff00ffu;
  uint32_t corners = 0xffffffffu;
  if constexpr (kTest == CornerTest::kArcExtremes) {
    // Where a whole warp sees flat ground the score is skipped.
    if (!MayHoldCorner<-1>(row, centre_even, threshold_pair) &&
        !MayHoldCorner<0>(row, centre_odd, threshold_pair)) {
      return 0;
    }
  } else {
    corners = TestOne<kTest, kArcLength, 0>(row, threshold_grey, bit_table) |
              TestOne<kTest, kArcLength, 1>(row, threshold_grey, bit_table) << 8 |
              TestOne<kTest, kArcLength, 2>(row, threshold_grey, bit_table) << 16 |
              TestOne<kTest, kArcLength, 3>(row, threshold_grey, bit_table) << 24;
    if (corners == 0) return 0;
  }
  uint32_t ring[16];
  LoadRingPairs<-1>(row, ring);
  const uint32_t even = ScorePair<kArcLength>(ring, centre_even, threshold_pair);
  LoadRingPairs<0>(row, ring);
  const uint32_t odd = ScorePair<kArcLength>(ring, centre_odd, threshold_pair);
  return (even + odd * 256) & corners;
}

// Scores of one row with those of the neighbouring lanes.
struct ScoreRow {
  uint32_t left;   // columns x-1 .. x+2
  uint32_t own;    // x .. x+3
  uint32_t right;  // x+1 .. x+4
};

// All lanes of the warp take part.
__device__ __forceinline__ ScoreRow WithNeighbours(uint32_t own) {
  const uint32_t before = __shfl_up_sync(kFullWarp, own, 1);
  const uint32_t after = __shfl_down_sync(kFullWarp, own, 1);
  return {__byte_perm(before, own, 0x6543), own, __byte_perm(own, after, 0x4321)};
}

// The greatest of the eight neighbours of each of the four pixels.
__device__ __forceinline__ uint32_t GreatestNeighbour(const ScoreRow& above, const ScoreRow& middle,
                                                      const ScoreRow& below) {
  const uint32_t odd = __vimax3_u16x2(__vimax3_u16x2(above.left, above.own, above.right),
                                      __vimax3_u16x2(below.left, below.own, below.right),
                                      __vmaxu2(middle.left, middle.right));
  const uint32_t even =
      __vimax3_u16x2(__vimax3_u16x2(above.left << 8, above.own << 8, above.right << 8),
                     __vimax3_u16x2(below.left << 8, below.own << 8, below.right << 8),
                     __vmaxu2(middle.left << 8, middle.right << 8));
  return (odd & 0xff00ff00u) | ((even >> 8) & 0x00ff00ffu);
}

// Which tile a warp has.
struct Tile {
  int level;
  int x_strip;  // column of lane 0's first pixel, a multiple of 4; may be negative
  int y_begin;  // rows that it yields: [y_begin, y_end)
  int y_end;
};

__device__ __forceinline__ Tile FindTile(const BatchView& batch, int index, int last_level) {
  int l = 0;
  while (l < last_level && index >= batch.level[l + 1].tile_begin) ++l;
  const LevelLayout& level = batch.level[l];
  const int local = index - level.tile_begin;
  Tile tile;
  tile.level = l;
  tile.x_strip =
      (batch.border_px & ~3) - kColumnsPerLane + local % level.tile_columns * kStripColumns;
  tile.y_begin = batch.border_px + local / level.tile_columns * batch.tile_rows;
  tile.y_end = min(tile.y_begin + batch.tile_rows, level.height_px - batch.border_px);
  return tile;
}

template <CornerTest kTest, int kArcLength>
__global__ __launch_bounds__(
    kWarpsPerBlock* kWarpLanes,
    kBlocksPerMultiprocessor) void FastCornersKernel(const __grid_constant__ FastParams params) {
  __shared__ uint32_t
      tile_corners[kWarpsPerBlock][kTileCorners];  // score << 16 | row << 8 | column
  __shared__ int tile_count[kWarpsPerBlock];
  const BatchView& batch = params.batch;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int frame_index = static_cast<int>(blockIdx.y);
  const int tile_end = params.last_level + 1 < batch.levels
                           ? batch.level[params.last_level + 1].tile_begin
                           : batch.tiles_per_frame;
  const int tile_index = batch.level[params.first_level].tile_begin +
                         static_cast<int>(blockIdx.x) * kWarpsPerBlock + warp;
  // Whole warps leave; nothing below waits for the block.
  if (tile_index >= tile_end) return;
  const FrameParams& frame = batch.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;

  const Tile tile = FindTile(batch, tile_index, params.last_level);
  const LevelLayout& level = batch.level[tile.level];
  const int width = level.width_px;
  const int height = level.height_px;
  const int pitch = level.pitch_bytes;
  const int x = tile.x_strip + lane * kColumnsPerLane;
  const uint8_t* __restrict__ image = batch.Image(frame, frame_index, tile.level);
  // Lanes beyond the row read its last word; nothing comes of them.
  const uint8_t* __restrict__ column = image + Clamp(x, 0, pitch - kColumnsPerLane);
  const uint8_t* __restrict__ mask = batch.Mask(frame, frame_index, tile.level);
  const int threshold_grey = frame.threshold_grey;
  FrameCounters& counters = batch.counters[frame_index];

  if (lane == 0) tile_count[warp] = 0;
  __syncwarp();  // the counter is zero before anybody adds to it

  uint32_t ring_fits = 0;  // bytes of the columns in which the ring fits into the image
  uint32_t inside = 0;     // bytes of the columns that this lane yields
#pragma unroll
  for (int i = 0; i < kColumnsPerLane; ++i) {
    const uint32_t byte = 0xffu << (8 * i);
    if (x + i >= algo::kFastRadiusPx && x + i < width - algo::kFastRadiusPx) ring_fits |= byte;
    if (lane > 0 && lane < kWarpLanes - 1 && x + i >= batch.border_px &&
        x + i < width - batch.border_px) {
      inside |= byte;
    }
  }

  const auto load_row = [&](int y) -> uint32_t {
    return *reinterpret_cast<const uint32_t*>(
        column + static_cast<int64_t>(Clamp(y, 0, height - 1)) * pitch);
  };
  const auto widen = [&](uint32_t own) -> RowWords {
    return {__shfl_up_sync(kFullWarp, own, 1), own, __shfl_down_sync(kFullWarp, own, 1)};
  };

  // Rows y-3 .. y+3 round the row being scored; the first scored row lies above the tile.
  RowWords row[kRows];
  const int y_first = tile.y_begin - 1;
#pragma unroll
  for (int i = 0; i < kRows - 1; ++i) row[i + 1] = widen(load_row(y_first - 3 + i));
  uint32_t next = load_row(y_first + 3);
  uint32_t after_next = load_row(y_first + 4);
  uint32_t above = 0;   // scores of row y - 2
  uint32_t middle = 0;  // of row y - 1
  for (int y = y_first; y <= tile.y_end; ++y) {
#pragma unroll
    for (int i = 0; i < kRows - 1; ++i) row[i] = row[i + 1];
    row[kRows - 1] = widen(next);
    next = after_next;
    after_next = load_row(y + 5);

    uint32_t below = ScoreFour<kTest, kArcLength>(row, threshold_grey, params.bit_table);
    below &= ring_fits;
    if (y < algo::kFastRadiusPx || y >= height - algo::kFastRadiusPx) below = 0;

    // Suppression of row y - 1; most rows of most warps hold no corner.
    if (y > tile.y_begin && __any_sync(kFullWarp, (middle & inside) != 0)) {
      const uint32_t greatest =
          GreatestNeighbour(WithNeighbours(above), WithNeighbours(middle), WithNeighbours(below));
      // Most rows hold one or two in a whole warp: a loop over them, not over the pixels.
      uint32_t kept = __vcmpgtu4(middle, greatest) & inside;
      while (kept != 0) {
        const int byte = (__ffs(static_cast<int>(kept)) - 1) & ~7;  // times 8
        kept &= ~(0xffu << byte);
        const int column_in_lane = byte / 8;
        if (mask != nullptr &&
            mask[static_cast<int64_t>(y - 1) * pitch + x + column_in_lane] == 0) {
          continue;
        }
        const uint32_t response =
            ((middle >> byte) & 0xff) + static_cast<uint32_t>(threshold_grey) - 1;
        atomicAdd(&counters.histogram[tile.level][warp % kHistogramCopies][response], 1u);
        const int place = atomicAdd(&tile_count[warp], 1);
        tile_corners[warp][place] = response << 16 |
                                    static_cast<uint32_t>(y - 1 - tile.y_begin) << 8 |
                                    static_cast<uint32_t>(lane * kColumnsPerLane + column_in_lane);
      }
    }
    above = middle;
    middle = below;
  }

  __syncwarp();  // all corners of the tile are in shared memory
  const int count = tile_count[warp];
  if (count == 0) return;
  int begin = 0;
  if (lane == 0) begin = atomicAdd(&counters.corners[tile.level], count);
  begin = __shfl_sync(kFullWarp, begin, 0);
  const int64_t list = frame_index * batch.corner_stride + level.corner_offset + begin;
  for (int i = lane; i < count; i += kWarpLanes) {
    const uint32_t corner = tile_corners[warp][i];
    const uint32_t corner_y = tile.y_begin + ((corner >> 8) & 0xff);
    const uint32_t corner_x = tile.x_strip + static_cast<int>(corner & 0xff);
    batch.corner_position[list + i] = corner_y << 16 | corner_x;
    batch.corner_score[list + i] = static_cast<uint8_t>(corner >> 16);
  }
}

template <CornerTest kTest>
void LaunchFor(const FastParams& params, dim3 grid, cudaStream_t stream) {
  constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
  switch (params.arc_length) {
    case 9:
      FastCornersKernel<kTest, 9><<<grid, kThreads, 0, stream>>>(params);
      break;
    case 10:
      FastCornersKernel<kTest, 10><<<grid, kThreads, 0, stream>>>(params);
      break;
    case 11:
      FastCornersKernel<kTest, 11><<<grid, kThreads, 0, stream>>>(params);
      break;
    default:
      FastCornersKernel<kTest, 12><<<grid, kThreads, 0, stream>>>(params);
      break;
  }
}

}  // namespace

void FillFastBitTable(int arc_length, uint32_t* table) {
  std::fill(table, table + kBitTableWords, 0u);
  for (uint32_t bits = 0; bits < 1u << algo::kFastRingPixels; ++bits) {
    for (int start = 0; start < algo::kFastRingPixels; ++start) {
      bool arc = true;
      for (int i = 0; i < arc_length && arc; ++i) {
        arc = ((bits >> ((start + i) % algo::kFastRingPixels)) & 1) != 0;
      }
      if (arc) table[bits / 32] |= 1u << (bits % 32);
    }
  }
}

void LayOutFastTiles(int tile_rows, BatchView* batch) {
  batch->tile_rows = tile_rows;
  int tiles = 0;
  for (int l = 0; l < batch->levels; ++l) {
    LevelLayout& level = batch->level[l];
    level.tile_begin = tiles;
    level.tile_columns = 1;  // a divisor even where there are no tiles
    if (level.detect == 0) continue;
    const int first_column = batch->border_px & ~(kColumnsPerLane - 1);
    level.tile_columns = DivUp(level.width_px - batch->border_px - first_column, kStripColumns);
    tiles += level.tile_columns * DivUp(level.height_px - 2 * batch->border_px, tile_rows);
  }
  batch->tiles_per_frame = tiles;
}

absl::Status LaunchFastCorners(const FastParams& params, cudaStream_t stream) {
  const BatchView& batch = params.batch;
  if (batch.frame_count == 0 || params.first_level > params.last_level) return absl::OkStatus();
  const int end = params.last_level + 1 < batch.levels
                      ? batch.level[params.last_level + 1].tile_begin
                      : batch.tiles_per_frame;
  const int tiles = end - batch.level[params.first_level].tile_begin;
  if (tiles == 0) return absl::OkStatus();
  const dim3 grid(DivUp(tiles, kWarpsPerBlock), batch.frame_count);
  switch (params.test) {
    case CornerTest::kArcExtremes:
      LaunchFor<CornerTest::kArcExtremes>(params, grid, stream);
      break;
    case CornerTest::kBinaryEncoding:
      LaunchFor<CornerTest::kBinaryEncoding>(params, grid, stream);
      break;
    case CornerTest::kBitTable:
      LaunchFor<CornerTest::kBitTable>(params, grid, stream);
      break;
  }
  return CheckLaunch("FastCornersKernel");
}

}  // namespace orbserve::gpu
