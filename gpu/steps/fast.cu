// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame. Out: per (frame, level) the corners that survive 3x3 suppression,
// compacted in any order, their count and their histogram by score.
// Segment test and score: features/algo/fast.h. Candidate tests: paper 1 (sec. 5.1, the 32-bit
// binary encoding), papers 2 (sec. II-D) and 3 (sec. III-A, the 8 KiB bit table), and our own, the
// extremes of arcs, which are test and score in one. The score always comes from the extremes.
//
// One block takes a tile of 128 columns through four phases. Each phase compacts its output, which
// gives all lanes of the next one work: in photographs one pixel in twenty to one in four passes
// phase 2, and two in five of those pass phase 3.
//   1. The tile and a margin of pixels come to shared memory.
//   2. A rough test looks at every pixel, four at a time: a lane takes four columns and four rows.
//      Candidates go to a queue.
//   3. A lane takes one candidate, tests it and computes its score.
//   4. A lane takes one corner and compares it with its neighbours.
// A tile yields 124 columns and two rows less than it looks at, as suppression needs neighbours.
// Only corners leave the multiprocessor, with one atomic per tile. Shared memory: up to 20 KiB,
// 10 KiB with tiles of 14 rows.

#include "gpu/steps/fast.h"

#include "features/algo/fast.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr unsigned kFullWarp = 0xffffffffu;
constexpr int kWarpLanes = 32;
constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kColumnsPerLane = 4;
constexpr int kTileColumns = kWarpLanes * kColumnsPerLane;  // that are scored
constexpr int kYieldColumns = kTileColumns - 4;             // one at either side goes; word steps
constexpr int kBandRows = 4;                                // scored rows of a lane at a time
constexpr int kRadius = algo::kFastRadiusPx;
constexpr int kHaloRows = 2 * kRadius;
// Of both the image and the scores, in bytes: four rows of eight words meet no bank twice.
constexpr int kPitch = 160;
constexpr int kPitchWords = kPitch / 4;
constexpr uint32_t kEachByte = 0x01010101u;
constexpr uint32_t kHighBits = 0x80 * kEachByte;
constexpr uint32_t kLowBits = 0x7f * kEachByte;

// How much of the tile's columns and rows is scored and yielded; rows and columns of the tile.
struct Tile {
  int level;
  int x_begin;  // of scored column 0, a multiple of 4; may be negative
  int y_begin;  // of scored row 0; may be negative
  int yields;   // rows 1 .. yields
};

constexpr int BandsOf(int tile_rows) { return DivUp(tile_rows + 2, kBandRows); }
constexpr int ImageRowsOf(int bands) { return bands * kBandRows + kHaloRows; }
// Image, scores and queue.
constexpr int SharedBytesOf(int bands) {
  const int scored_rows = bands * kBandRows;
  return ImageRowsOf(bands) * kPitch + scored_rows * kPitch +
         scored_rows * kTileColumns * static_cast<int>(sizeof(uint16_t));
}

__host__ __device__ constexpr int FirstScoredColumn(int border_px) {
  return (border_px - 1) & ~(kColumnsPerLane - 1);
}

__device__ __forceinline__ Tile FindTile(const FastTiles& tiles, const LevelImages& images,
                                         int index, int last_level) {
  int l = 0;
  while (l < last_level && index >= tiles.begin[l + 1]) ++l;
  const int local = index - tiles.begin[l];
  const int y = tiles.border_px + local / tiles.columns[l] * tiles.rows;
  Tile tile;
  tile.level = l;
  tile.x_begin = FirstScoredColumn(tiles.border_px) + local % tiles.columns[l] * kYieldColumns;
  tile.y_begin = y - 1;
  tile.yields = min(tiles.rows, images.level[l].height_px - tiles.border_px - y);
  return tile;
}

// Copies the tile's part of the image, with a margin of kRadius rows and a word of columns. Beyond
// the image its first and last words and rows are repeated; no result depends on them.
__device__ __forceinline__ void LoadTile(const uint8_t* __restrict__ image, const LevelImage& level,
                                         const Tile& tile, int rows, uint32_t* __restrict__ words) {
  constexpr int kRowsInFlight = 6;
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const int pitch = level.pitch_bytes;
  const auto load = [&](int row, int word) -> uint32_t {
    const int x = max(min(tile.x_begin + (word - 1) * kColumnsPerLane, pitch - kColumnsPerLane), 0);
    const int y = max(min(tile.y_begin - kRadius + row, level.height_px - 1), 0);
    return *reinterpret_cast<const uint32_t*>(image + static_cast<uint32_t>(y * pitch + x));
  };
  // The two words that the lanes of a row leave over.
  const int last_row = static_cast<int>(threadIdx.x / 2);
  const int last_word = kWarpLanes + static_cast<int>(threadIdx.x % 2);
  const uint32_t last = last_row < rows ? load(last_row, last_word) : 0;
  for (int begin = warp; begin < rows; begin += kRowsInFlight * kWarps) {
    uint32_t word[kRowsInFlight];
#pragma unroll
    for (int i = 0; i < kRowsInFlight; ++i) word[i] = load(begin + i * kWarps, lane);
#pragma unroll
    for (int i = 0; i < kRowsInFlight; ++i) {
      const int row = begin + i * kWarps;
      if (row < rows) words[row * kPitchWords + lane] = word[i];
    }
  }
  if (last_row < rows) words[last_row * kPitchWords + last_word] = last;
}

// Grey levels halved, so that sums of two fit a byte.
__device__ __forceinline__ uint32_t Halved(uint32_t greys) { return (greys >> 1) & kLowBits; }

// The high bit of each byte, all over the byte. (__byte_perm() does not pass on that part of the
// selector.)
__device__ __forceinline__ uint32_t SpreadHighBits(uint32_t bytes) {
  uint32_t spread;
  asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(spread) : "r"(bytes));
  return spread;
}

// The ends of the horizontal, the vertical and the two diagonal diameters of the rings of four
// pixels, grey levels halved.
struct Diameters {
  uint32_t end[4][2];
};

// Which of four pixels may be corners, in the high bits of their bytes: an arc of 9 or more holds
// one end of every diameter, so each of them must have an end that is bright (dark) enough. On
// halved grey levels, which lets some more pass: p >= c + t + 1 implies p / 2 >= c / 2 +
// half_threshold, rounded down, for half_threshold = (t + 1) / 2, 1..127, and p <= c - t - 1
// implies p / 2 <= c / 2 - half_threshold alike.
__device__ __forceinline__ uint32_t MayBeCorners(uint32_t centre, const Diameters& diameters,
                                                 uint32_t half_threshold) {
  // p + from_bright has the high bit where p is bright, p + from_dark where p is not dark:
  // from_bright = max(128 - half_threshold - centre, 0), from_dark = min(127 + half_threshold -
  // centre, 128). No sum or difference leaves its byte.
  const uint32_t bright_sum = (0x100 - half_threshold) * kEachByte - centre;
  const uint32_t from_bright = bright_sum & SpreadHighBits(bright_sum) & kLowBits;
  const uint32_t dark_sum = (0x7f + half_threshold) * kEachByte - centre;
  const uint32_t over = SpreadHighBits(dark_sum);
  const uint32_t from_dark = (dark_sum & ~over) | (over & kHighBits);
  uint32_t bright = kHighBits;
  uint32_t not_dark = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t* end = diameters.end[i];
    bright &= (end[0] + from_bright) | (end[1] + from_bright);
    not_dark |= (end[0] + from_dark) & (end[1] + from_dark);
  }
  return (bright | ~not_dark) & kHighBits;
}

#if __CUDA_ARCH__ >= 900
// Order of packed numbers: both polarities at once, the grey level in the lower half, its negative
// in the upper. Minima and maxima of three numbers are one instruction.
struct PackedOrder {
  __device__ static uint32_t Least(uint32_t a, uint32_t b) { return __vmins2(a, b); }
  __device__ static uint32_t Least(uint32_t a, uint32_t b, uint32_t c) {
    return __vimin3_s16x2(a, b, c);
  }
  __device__ static uint32_t Greatest(uint32_t a, uint32_t b) { return __vmaxs2(a, b); }
  __device__ static uint32_t Greatest(uint32_t a, uint32_t b, uint32_t c) {
    return __vimax3_s16x2(a, b, c);
  }
};
#endif

__device__ __forceinline__ void LoadRing(const uint8_t* centre,
                                         int (&ring)[algo::kFastRingPixels]) {
#pragma unroll
  for (int i = 0; i < algo::kFastRingPixels; ++i) {
    ring[i] = centre[algo::FastRingY(i) * kPitch + algo::FastRingX(i)];
  }
}

// FAST score (algo::FastScore) of the pixel in shared memory, plus one.
template <int kArcLength>
__device__ __forceinline__ int ScorePlusOne(const uint8_t* centre) {
  int ring[algo::kFastRingPixels];
  LoadRing(centre, ring);
  const int grey = *centre;
#if __CUDA_ARCH__ >= 900
  uint32_t both[algo::kFastRingPixels];
#pragma unroll
  for (int i = 0; i < algo::kFastRingPixels; ++i) {
    both[i] = static_cast<uint32_t>(ring[i]) * 0xffff0001u;  // grey - 65536 * grey
  }
  const uint32_t best = algo::BestArc<kArcLength, PackedOrder>(both);
  const int bright = static_cast<int16_t>(best & 0xffff);
  const int dark = static_cast<int16_t>(best >> 16);
  return max(bright - grey, dark + grey);
#else
  return algo::FastScore<kArcLength>(ring, grey) + 1;
#endif
}

// The papers' tests.
template <CornerTest kTest, int kArcLength>
__device__ __forceinline__ bool IsCorner(const uint8_t* centre, int threshold_grey,
                                         const uint32_t* __restrict__ bit_table) {
  int ring[algo::kFastRingPixels];
  LoadRing(centre, ring);
  const int grey = *centre;
  uint32_t bright = 0;
  uint32_t dark = 0;
#pragma unroll
  for (int i = 0; i < algo::kFastRingPixels; ++i) {
    bright |= (ring[i] > grey + threshold_grey ? 1u : 0u) << i;
    dark |= (ring[i] < grey - threshold_grey ? 1u : 0u) << i;
  }
  if constexpr (kTest == CornerTest::kBitTable) {
    return (((bit_table[bright / 32] >> (bright % 32)) | (bit_table[dark / 32] >> (dark % 32))) &
            1) != 0;
  } else {
    return algo::HoldsArc<kArcLength>(bright) || algo::HoldsArc<kArcLength>(dark);
  }
}

// Number of the warp's entries in the block's queue of `count`: every fourth batch of 32.
__device__ __forceinline__ int EntriesOfWarp(unsigned count) {
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int in_last_round = static_cast<int>(count % kThreads) - warp * kWarpLanes;
  return static_cast<int>(count / kThreads * kWarpLanes) + max(min(in_last_round, kWarpLanes), 0);
}
// Place of the warp's entry number `index` in the queue.
__device__ __forceinline__ unsigned PlaceInQueue(unsigned index) {
  const unsigned warp = threadIdx.x / kWarpLanes;
  return index / kWarpLanes * kThreads + warp * kWarpLanes + index % kWarpLanes;
}

// Replaces each of the warp's first `count` entries by what `phase` returns for it, and removes
// those for which that is negative. Returns the number of entries that are left.
template <typename Phase>
__device__ __forceinline__ int Sift(uint16_t* queue, int count, const Phase& phase) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  int kept = 0;
  for (int begin = 0; begin < count; begin += kWarpLanes) {
    const int index = begin + lane;
    int entry = -1;
    if (index < count) entry = phase(static_cast<int>(queue[PlaceInQueue(index)]));
    const unsigned keeps = __ballot_sync(kFullWarp, entry >= 0);
    __syncwarp();  // all lanes have read theirs
    if (entry >= 0) {
      queue[PlaceInQueue(kept + __popc(keeps & ((1u << lane) - 1)))] = static_cast<uint16_t>(entry);
    }
    kept += __popc(keeps);
  }
  __syncwarp();  // what was put back can be read
  return kept;
}

// Entries of the queue as phase 2 leaves them: bit of the lane's mask, lane and band.
constexpr int kLaneShift = 5;
constexpr int kBandShift = 10;
// As phase 3 leaves them: the pixel's place among the scores, in bytes.
__device__ __forceinline__ int ScorePlace(int entry) {
  const int row = (entry >> kBandShift) * kBandRows + (entry & 7) - (8 - kBandRows);
  const int column = (entry >> kLaneShift & 31) * kColumnsPerLane + (entry >> 3 & 3);
  return row * kPitch + column;
}

// Phase 2 for the bands of this warp.
__device__ __forceinline__ void QueueCandidates(const uint32_t* __restrict__ words, int bands,
                                                const LevelImage& level, const Tile& tile,
                                                int threshold_grey, uint16_t* __restrict__ queue,
                                                int* queue_count) {
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const auto half_threshold = static_cast<uint32_t>(threshold_grey + 1) / 2;
  const int x = tile.x_begin + lane * kColumnsPerLane;
  uint32_t ring_fits = 0;  // bytes of the columns in which the ring fits into the image
#pragma unroll
  for (int i = 0; i < kColumnsPerLane; ++i) {
    if (x + i >= kRadius && x + i < level.width_px - kRadius) ring_fits |= 0xffu << (8 * i);
  }
  // Scored rows in which the ring fits, of those that suppression looks at.
  const int first_row = Max(kRadius - tile.y_begin, 0);
  const int end_row = Min(level.height_px - kRadius - tile.y_begin, tile.yields + 2);

  for (int band = warp; band < bands; band += kWarps) {
    const uint32_t* const own = words + band * kBandRows * kPitchWords + lane + 1;
    // Halved: the lane's columns, and from two and three columns left and right of them.
    uint32_t half[kBandRows + kHaloRows];
    uint32_t left2[kBandRows + kHaloRows];
    uint32_t left3[kBandRows + kHaloRows];
    uint32_t right2[kBandRows + kHaloRows];
    uint32_t right3[kBandRows + kHaloRows];
#pragma unroll
    for (int i = 0; i < kBandRows + kHaloRows; ++i) {
      half[i] = Halved(own[i * kPitchWords]);
      const uint32_t before = Halved(own[i * kPitchWords - 1]);
      const uint32_t after = Halved(own[i * kPitchWords + 1]);
      left2[i] = __byte_perm(before, half[i], 0x5432);
      left3[i] = __byte_perm(before, half[i], 0x4321);
      right2[i] = __byte_perm(half[i], after, 0x5432);
      right3[i] = __byte_perm(half[i], after, 0x6543);
    }
    // Row i of the band at bit 8 - kBandRows + i of each pixel's byte.
    uint32_t candidates = 0;
#pragma unroll
    for (int i = 0; i < kBandRows; ++i) {
      const int y = i + kRadius;
      const Diameters diameters = {{{left3[y], right3[y]},
                                    {half[y - 3], half[y + 3]},
                                    {left2[y - 2], right2[y + 2]},
                                    {left2[y + 2], right2[y - 2]}}};
      candidates = candidates >> 1 | MayBeCorners(half[y], diameters, half_threshold);
    }
    const int skip = Clamp(first_row - band * kBandRows, 0, kBandRows);
    const int keep = Clamp(end_row - band * kBandRows, 0, kBandRows);
    const uint32_t rows = ((1u << keep) - 1) & ~((1u << skip) - 1);
    candidates &= ring_fits & (rows << (8 - kBandRows)) * kEachByte;

    const int count = __popc(candidates);
    int end = count;
#pragma unroll
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
      const int other = __shfl_up_sync(kFullWarp, end, distance);
      if (lane >= distance) end += other;
    }
    int begin = 0;
    if (lane == kWarpLanes - 1 && end > 0) begin = atomicAdd(queue_count, end);
    begin = __shfl_sync(kFullWarp, begin, kWarpLanes - 1);
    uint16_t* next = queue + begin + end - count;
    const int entry = band << kBandShift | lane << kLaneShift;
    while (candidates != 0) {
      const int bit = 31 - __clz(static_cast<int>(candidates));
      candidates ^= 1u << bit;
      *next++ = static_cast<uint16_t>(entry | bit);
    }
  }
}

// True where a score is greater than its eight neighbours.
__device__ __forceinline__ bool IsGreatest(const uint8_t* score) {
  int greatest = Max(score[-1], score[1]);
#pragma unroll
  for (int dx = -1; dx <= 1; ++dx) {
    greatest = Max<int>(greatest, score[dx - kPitch]);
    greatest = Max<int>(greatest, score[dx + kPitch]);
  }
  return *score > greatest;
}

template <CornerTest kTest, int kArcLength>
__global__ __launch_bounds__(kThreads) void FastCornersKernel(
    const __grid_constant__ FastParams params) {
  extern __shared__ uint4 tile_memory[];
  __shared__ int queue_count;
  __shared__ int kept_count[kWarps];
  __shared__ int list_begin;
  const LevelImages& images = params.images;
  const FastTiles& tiles = params.tiles;
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  // Read together, ahead of the first use of any.
  const FrameMode mode = frame.mode;
  const int threshold_grey = frame.threshold_grey;
  const uint8_t* const level_zero = images.input + frame.image_offset;
  if (mode != FrameMode::kDetect) return;

  const Tile tile =
      FindTile(tiles, images, tiles.begin[params.first_level] + static_cast<int>(blockIdx.x),
               params.last_level);
  const LevelImage& level = images.level[tile.level];
  const int bands = BandsOf(tiles.rows);
  const int score_bytes = bands * kBandRows * kPitch;
  auto* const image = reinterpret_cast<uint8_t*>(tile_memory);
  uint8_t* const scores = image + ImageRowsOf(bands) * kPitch;
  auto* const queue = reinterpret_cast<uint16_t*>(scores + score_bytes);

  LoadTile(tile.level == 0 ? level_zero : images.Image(frame, frame_index, tile.level), level, tile,
           ImageRowsOf(bands), reinterpret_cast<uint32_t*>(image));
  if (threadIdx.x == 0) queue_count = 0;
  for (int i = static_cast<int>(threadIdx.x); i < score_bytes / 16; i += kThreads) {
    reinterpret_cast<uint4*>(scores)[i] = {0, 0, 0, 0};
  }
  __syncthreads();  // the image is there, no pixel has a score, the queue is empty

  QueueCandidates(reinterpret_cast<const uint32_t*>(image), bands, level, tile, threshold_grey,
                  queue, &queue_count);
  __syncthreads();  // the queue is complete

  // The image's pixel at scored row 0 and column 0.
  const uint8_t* const first_pixel = image + kRadius * kPitch + kColumnsPerLane;
  int count = EntriesOfWarp(queue_count);
  if constexpr (kTest != CornerTest::kArcExtremes) {
    count = Sift(queue, count, [&](int entry) {
      return IsCorner<kTest, kArcLength>(first_pixel + ScorePlace(entry), threshold_grey,
                                         params.bit_table)
                 ? entry
                 : -1;
    });
  }
  count = Sift(queue, count, [&](int entry) {
    const int place = ScorePlace(entry);
    const int score = ScorePlusOne<kArcLength>(first_pixel + place) - threshold_grey;
    if (score <= 0) return -1;
    scores[place] = static_cast<uint8_t>(score);  // FAST score less the threshold, plus one
    return place;
  });
  __syncthreads();  // all scores are there

  const int column_begin = Max(1, tiles.border_px - tile.x_begin);
  const int column_end = Min(1 + kYieldColumns, level.width_px - tiles.border_px - tile.x_begin);
  const uint8_t* __restrict__ mask = images.Mask(frame, frame_index, tile.level);
  FrameCounters& counters = params.frames.counters[frame_index];
  count = Sift(queue, count, [&](int place) {
    const int row = static_cast<int>(static_cast<unsigned>(place) / kPitch);
    const int column = place - row * kPitch;
    if (row < 1 || row > tile.yields || column < column_begin || column >= column_end ||
        !IsGreatest(scores + place)) {
      return -1;
    }
    if (mask != nullptr && mask[static_cast<int64_t>(tile.y_begin + row) * level.pitch_bytes +
                                tile.x_begin + column] == 0) {
      return -1;
    }
    atomicAdd(&counters.histogram[tile.level][warp % kHistogramCopies]
                                 [scores[place] + threshold_grey - 1],
              1u);
    return place;
  });

  if (lane == 0) kept_count[warp] = count;
  __syncthreads();  // all counts are there
  if (threadIdx.x == 0) {
    int total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += kept_count[i];
    list_begin = total > 0 ? atomicAdd(&counters.corners[tile.level], total) : 0;
  }
  __syncthreads();  // the tile has its part of the list
  const FastCornerLists& corners = params.corners;
  int64_t list = frame_index * corners.stride + corners.offset[tile.level] + list_begin;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i < warp) list += kept_count[i];
  }
  for (int i = lane; i < count; i += kWarpLanes) {
    const unsigned place = queue[PlaceInQueue(i)];
    const int y = tile.y_begin + static_cast<int>(place / kPitch);
    const int x = tile.x_begin + static_cast<int>(place % kPitch);
    corners.position[list + i] = static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x);
    corners.score[list + i] = static_cast<uint8_t>(scores[place] + threshold_grey - 1);
  }
}

template <CornerTest kTest>
void LaunchFor(const FastParams& params, dim3 grid, cudaStream_t stream) {
  const int shared_bytes = SharedBytesOf(BandsOf(params.tiles.rows));
  switch (params.arc_length) {
    case 9:
      FastCornersKernel<kTest, 9><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    case 10:
      FastCornersKernel<kTest, 10><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    case 11:
      FastCornersKernel<kTest, 11><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    default:
      FastCornersKernel<kTest, 12><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
  }
}

}  // namespace

FastTiles FastTiles::With(int rows, const CompiledPipeline& pipeline) {
  const int border = pipeline.spec.pipeline.select.border_px;
  const int first_column = FirstScoredColumn(border) + 1;
  FastTiles tiles = {};
  tiles.border_px = border;
  tiles.rows = rows;
  tiles.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < tiles.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    tiles.begin[l] = tiles.count;
    tiles.columns[l] = 1;  // a divisor even where there are no tiles
    if (level.region.empty()) continue;
    tiles.columns[l] = DivUp(level.region.x_end - first_column, kYieldColumns);
    tiles.count += tiles.columns[l] * DivUp(level.region.height(), rows);
  }
  return tiles;
}

FastTiles FastTiles::For(int frames, int multiprocessors, const CompiledPipeline& pipeline) {
  constexpr int64_t kTilesPerMultiprocessor = 8;
  constexpr int kFewestRows = 6;
  constexpr int kRowStep = 8;
  for (int rows = kMostRows; rows > kFewestRows; rows -= kRowStep) {
    const FastTiles tiles = With(rows, pipeline);
    if (int64_t{tiles.count} * frames >= kTilesPerMultiprocessor * multiprocessors) return tiles;
  }
  return With(kFewestRows, pipeline);
}

absl::Status LaunchFastCorners(const FastParams& params, cudaStream_t stream) {
  const FastTiles& tiles = params.tiles;
  if (params.frames.count == 0 || params.first_level > params.last_level) return absl::OkStatus();
  const int end =
      params.last_level + 1 < tiles.levels ? tiles.begin[params.last_level + 1] : tiles.count;
  const int count = end - tiles.begin[params.first_level];
  if (count == 0) return absl::OkStatus();
  const dim3 grid(count, params.frames.count);
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

FastParams FastStep::ParamsFor(const StepContext& context) const {
  const DetectOptions& detect = pipeline_.spec.pipeline.detect;
  FastParams params = {};
  params.frames = context.frames;
  params.images = images_.At(context);
  params.corners = corners_.At(context);
  params.tiles = FastTiles::For(context.kind.frames(), context.tables->multiprocessors, pipeline_);
  params.arc_length = detect.fast_arc_length;
  switch (detect.candidate_test) {
    case CandidateTest::kAutomatic:
      params.test = context.tables->default_test;
      break;
    case CandidateTest::kBinaryEncoding:
      params.test = CornerTest::kBinaryEncoding;
      break;
    case CandidateTest::kBitTable:
      params.test = CornerTest::kBitTable;
      break;
  }
  params.bit_table =
      context.tables->bit_tables + (params.arc_length - 9) * algo::kFastBitTableWords;
  params.first_level = first_level_;
  params.last_level = last_level_;
  return params;
}

absl::Status FastStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchFastCorners(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
