// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The search of a block for FAST corners in a tile of a level. The kernels that make corner lists,
// rank keys and response maps share it.
//
// A tile goes through phases. Each phase compacts its output, which gives all lanes of the next one
// work: in photographs one pixel in twenty to one in four passes phase 2, and two in five of those
// pass phase 3.
//   1. The tile and a margin of pixels come to shared memory.
//   2. A rough test looks at every pixel, four at a time: a lane takes four columns and four rows.
//      Candidates go to a queue.
//   3. A lane takes one candidate, tests it and computes its score.
//   4. A lane takes one corner and compares it with its neighbours.
//
// Candidate tests: paper 1 (sec. 5.1, the 32-bit binary encoding), papers 2 (sec. II-D) and 3 (sec.
// III-A, the 8 KiB bit table), and our own, the extremes of arcs, which are test and FAST score in
// one.

#ifndef ORBSERVE_GPU_STEPS_DETECT_FAST_TILE_CUH_
#define ORBSERVE_GPU_STEPS_DETECT_FAST_TILE_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "features/algo/corner.h"
#include "features/algo/corner_score.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/algo/segment_test.h"
#include "features/host_device.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/detect/fast.h"

namespace orbserve::gpu::fast_tile {

inline constexpr int kWarps = 4;
inline constexpr int kThreads = kWarps * kWarpLanes;
inline constexpr int kColumnsPerLane = FastTiles::kColumnStep;
inline constexpr int kTileColumns = FastTiles::kColumns;
static_assert(kTileColumns == kWarpLanes * kColumnsPerLane);
inline constexpr int kBandRows = FastTiles::kRowStep;  // scored rows of a lane at a time
inline constexpr int kRadius = algo::kFastRadiusPx;
inline constexpr int kHaloRows = 2 * kRadius;
// Of both the image and the scores, in elements: four rows of eight words meet no bank twice.
inline constexpr int kPitch = 160;
inline constexpr int kPitchWords = kPitch / 4;
inline constexpr uint32_t kEachByte = 0x01010101u;
inline constexpr uint32_t kHighBits = 0x80 * kEachByte;
inline constexpr uint32_t kLowBits = 0x7f * kEachByte;

constexpr int ImageRowsOf(int bands, int margin_rows) {
  return bands * kBandRows + 2 * margin_rows;
}
// Image, values of pixels, and queue.
constexpr int SharedBytesOf(int bands, int margin_rows, size_t value_bytes) {
  const int scored_rows = bands * kBandRows;
  return ImageRowsOf(bands, margin_rows) * kPitch +
         scored_rows * kPitch * static_cast<int>(value_bytes) +
         scored_rows * kTileColumns * static_cast<int>(sizeof(uint16_t));
}
// No kernel asks for more shared memory than every device gives without being asked.
inline constexpr int kMaxMarginRows = kColumnsPerLane;
static_assert(SharedBytesOf(FastTiles::BandsOf(FastTiles::kMaxRows, 1), kMaxMarginRows,
                            sizeof(uint32_t)) <= 48 * 1024);

// Copies the tile's part of the image, with a margin of kMarginRows rows and a word of columns.
// Beyond the image its first and last words and rows are repeated; no result depends on them.
template <int kMarginRows>
__device__ __forceinline__ void LoadTile(const uint8_t* __restrict__ image, const LevelImage& level,
                                         const FastTile& tile, int rows,
                                         uint32_t* __restrict__ words) {
  constexpr int kRowsInFlight = 6;
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const int pitch = level.pitch_bytes;
  const auto load = [&](int row, int word) -> uint32_t {
    const int x = max(min(tile.x_begin + (word - 1) * kColumnsPerLane, pitch - kColumnsPerLane), 0);
    const int y = max(min(tile.y_begin - kMarginRows + row, level.height_px - 1), 0);
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

// Number of the warp's entries in the block's queue of `count`: every fourth batch of 32.
__device__ __forceinline__ int EntriesOfWarp(unsigned count) {
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int in_last_round = static_cast<int>(count % kThreads) - warp * kWarpLanes;
  return static_cast<int>(count / kThreads * kWarpLanes) + max(min(in_last_round, kWarpLanes), 0);
}
// Place of entry number `index` of a warp in the queue.
__device__ __forceinline__ unsigned PlaceInQueue(unsigned warp, unsigned index) {
  return index / kWarpLanes * kThreads + warp * kWarpLanes + index % kWarpLanes;
}
// Place of entry number `index` of the calling warp.
__device__ __forceinline__ unsigned PlaceInQueue(unsigned index) {
  return PlaceInQueue(threadIdx.x / kWarpLanes, index);
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
inline constexpr int kLaneShift = 5;
inline constexpr int kBandShift = 10;
// As phase 3 leaves them: the pixel's place among the scores, in bytes.
__device__ __forceinline__ int ScorePlace(int entry) {
  const int row = (entry >> kBandShift) * kBandRows + (entry & 7) - (8 - kBandRows);
  const int column = (entry >> kLaneShift & 31) * kColumnsPerLane + (entry >> 3 & 3);
  return row * kPitch + column;
}

// Phase 2 for the bands of this warp. `words`: the image from kRadius rows above scored row 0 on.
// Pixels less than `kReachPx` away from a side of the level are no candidates, nor are those of
// rows from `tile_end_row` on.
template <int kReachPx>
__device__ __forceinline__ void QueueCandidates(const uint32_t* __restrict__ words, int bands,
                                                const LevelImage& level, const FastTile& tile,
                                                int tile_end_row, int threshold_grey,
                                                uint16_t* __restrict__ queue, int* queue_count) {
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const auto half_threshold = static_cast<uint32_t>(threshold_grey + 1) / 2;
  const int x = tile.x_begin + lane * kColumnsPerLane;
  uint32_t fits = 0;  // bytes of the columns in which the test fits into the image
#pragma unroll
  for (int i = 0; i < kColumnsPerLane; ++i) {
    if (x + i >= kReachPx && x + i < level.width_px - kReachPx) fits |= 0xffu << (8 * i);
  }
  // Scored rows in which the test fits, of those that suppression looks at.
  const int first_row = Max(kReachPx - tile.y_begin, 0);
  const int end_row = Min(level.height_px - kReachPx - tile.y_begin, tile_end_row);

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
    candidates &= fits & (rows << (8 - kBandRows)) * kEachByte;

    const int count = __popc(candidates);
    const int end = SumUpToLane(count, lane);
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

// Phases 1 and 2 of a tile whose suppression looks `radius_px` pixels far. All threads of the block
// take part; afterwards the queue is complete and all `values` are 0.
template <int kMarginRows, int kReachPx, typename Value>
__device__ __forceinline__ void FindCandidates(const uint8_t* __restrict__ source,
                                               const LevelImage& level, const FastTile& tile,
                                               int radius_px, int bands, int threshold_grey,
                                               uint8_t* image, Value* values, uint16_t* queue,
                                               int* queue_count) {
  static_assert(kMarginRows >= kRadius && kMarginRows <= kMaxMarginRows);
  static_assert(sizeof(Value) <= sizeof(uint32_t));
  LoadTile<kMarginRows>(source, level, tile, ImageRowsOf(bands, kMarginRows),
                        reinterpret_cast<uint32_t*>(image));
  if (threadIdx.x == 0) *queue_count = 0;
  const int vectors = bands * kBandRows * kPitch * static_cast<int>(sizeof(Value)) / 16;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    reinterpret_cast<uint4*>(values)[i] = {0, 0, 0, 0};
  }
  __syncthreads();  // the image is there, no pixel has a value, the queue is empty

  QueueCandidates<kReachPx>(
      reinterpret_cast<const uint32_t*>(image + (kMarginRows - kRadius) * kPitch), bands, level,
      tile, tile.yields + 2 * radius_px, threshold_grey, queue, queue_count);
  __syncthreads();  // the queue is complete
}

// --- Tests by strings of bits ---

// The one of the two strings of a ring that may hold an arc: 16 bits. Both together have 16 bits at
// most, so that an arc of 9 is in the longer one.
__device__ __forceinline__ uint32_t LongerString(const int (&ring)[algo::kFastRingPixels], int grey,
                                                 int threshold_grey) {
  const uint32_t both = algo::PackedSegmentBits(ring, grey, threshold_grey);
  const uint32_t bright = both & 0xffff;
  return __popc(bright) > algo::kFastRingPixels / 2 ? bright : both >> 16;
}
// True if the string makes a corner.
__device__ __forceinline__ bool HoldsArc(const FastSearch& search, uint32_t string) {
  return search.test == CornerTest::kBitTable ? algo::InArcTable(search.bit_table, string)
                                              : algo::HasArc(string, search.arc_length);
}

// --- Scores of candidates ---

// Phase 3, all but responses of patches. Calls `keep(place, score)` for each of the warp's `count`
// candidates that is a corner, and keeps it in the queue, as its place, if that returns true.
// `first_pixel`: the image's at scored row 0 and column 0. `score`: that of the test or of the
// ring, 0 for a patch. Returns the number of the warp's entries that are left.
template <typename S, int kArcLength, typename Keep>
__device__ __forceinline__ int KeepCorners(const FastSearch& search, const uint8_t* first_pixel,
                                           int threshold_grey, uint16_t* queue, int count,
                                           const Keep& keep) {
  if constexpr (S::kSource == algo::ScoreSource::kTest) {
    if (search.test != CornerTest::kArcExtremes) {
      count = Sift(queue, count, [&](int entry) {
        const uint8_t* const centre = first_pixel + ScorePlace(entry);
        int ring[algo::kFastRingPixels];
        LoadRing(centre, ring);
        return HoldsArc(search, LongerString(ring, *centre, threshold_grey)) ? entry : -1;
      });
    }
    return Sift(queue, count, [&](int entry) {
      const int place = ScorePlace(entry);
      const int score = ScorePlusOne<kArcLength>(first_pixel + place) - 1;
      return score >= threshold_grey && keep(place, score) ? place : -1;
    });
  } else {
    return Sift(queue, count, [&](int entry) {
      const int place = ScorePlace(entry);
      const uint8_t* const centre = first_pixel + place;
      int ring[algo::kFastRingPixels];
      LoadRing(centre, ring);
      const int grey = *centre;
      const uint32_t string = LongerString(ring, grey, threshold_grey);
      if (!HoldsArc(search, string)) return -1;
      int score = 0;
      if constexpr (S::kSource == algo::ScoreSource::kRing) {
        score = S::Of(ring, grey, string, search.arc_length);
      }
      return keep(place, score) ? place : -1;
    });
  }
}

// --- Entries of all warps ---

// Makes the numbers of the warps' entries known to the block and returns their sum. Has a barrier,
// before which each warp's part of the queue is complete.
__device__ __forceinline__ int ShareCounts(int count, int (&counts)[kWarps]) {
  if (threadIdx.x % kWarpLanes == 0) counts[threadIdx.x / kWarpLanes] = count;
  __syncthreads();  // all counts and all entries are there
  int total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += counts[i];
  return total;
}
// Entry number `index` of the block, those of warp 0 first. After ShareCounts().
__device__ __forceinline__ int EntryOfBlock(const uint16_t* queue, const int (&counts)[kWarps],
                                            int index) {
  int warp = 0;
#pragma unroll
  for (int i = 0; i < kWarps - 1; ++i) {
    if (warp == i && index >= counts[i]) {
      index -= counts[i];
      ++warp;
    }
  }
  return queue[PlaceInQueue(warp, index)];
}

// --- Responses of patches ---

// Sum of the products of four grey levels and four signed weights, plus `sum`.
__device__ __forceinline__ int AddProducts(uint32_t greys, uint32_t weights, int sum) {
  int result;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(greys), "r"(weights), "r"(sum));
  return result;
}

// Gradient sums (features/algo/corner.h) of the pixel in shared memory, by one lane. The semi-
// separable Sobel operator of paper 1 (sec. 5.2): rows come one after the other, their horizontal
// parts are computed once, by products of four bytes, and those of three rows lie in registers. A
// lane for each pixel beats lanes for rows of the block, which repeat the horizontal part three
// times. `byte`: of the pixel four rows up and four columns left, in `words`.
__device__ __forceinline__ algo::GradientSums SumGradientsOfTile(const uint32_t* words, int byte) {
  constexpr int kRows = algo::kHarrisBlockPx + 2;
  constexpr int kColumns = algo::kHarrisBlockPx;
  constexpr uint32_t kDifference = 0x000100ffu;  // -1 0 1, of bytes 0..2
  constexpr uint32_t kSmooth = 0x00010201u;      // 1 2 1
  // Nine bytes from anywhere lie in three aligned words.
  const uint32_t* const source = words + byte / 4;
  const auto shift = static_cast<uint32_t>(byte % 4) * 8;
  algo::GradientSums sums = {0, 0, 0};
  int difference[3][kColumns];  // of the rows y, y - 1 and y - 2, at y % 3
  int smooth[3][kColumns];
#pragma unroll
  for (int y = 0; y < kRows; ++y) {
    const uint32_t first = source[y * kPitchWords];
    const uint32_t second = source[y * kPitchWords + 1];
    const uint32_t third = source[y * kPitchWords + 2];
    const uint32_t from0 = __funnelshift_r(first, second, shift);  // bytes 0..3 of the nine
    const uint32_t from4 = __funnelshift_r(second, third, shift);
    const uint32_t from8 = third >> shift;
    const uint32_t from2 = __byte_perm(from0, from4, 0x5432);
    const uint32_t from6 = __byte_perm(from4, from8, 0x4432);  // and a byte that counts nothing
    // Column i of the block lies between bytes i and i + 2 of the row.
    const uint32_t greys[kColumns] = {from0, from0, from2, from2, from4, from4, from6};
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int odd_byte = i % 2 * 8;
      difference[y % 3][i] = AddProducts(greys[i], kDifference << odd_byte, 0);
      smooth[y % 3][i] = AddProducts(greys[i], kSmooth << odd_byte, 0);
      if (y < 2) continue;
      const int ix =
          difference[(y - 2) % 3][i] + 2 * difference[(y - 1) % 3][i] + difference[y % 3][i];
      const int iy = smooth[y % 3][i] - smooth[(y - 2) % 3][i];
      sums.xx += ix * ix;
      sums.yy += iy * iy;
      sums.xy += ix * iy;
    }
  }
  return sums;
}
// Response of the pixel at `place`, in a tile with a margin of `margin_rows`.
template <typename S>
__device__ __forceinline__ float ResponseAt(const uint8_t* image, int margin_rows, int place) {
  static_assert(S::kReachPx <= kColumnsPerLane, "a tile has so many columns of margin");
  if constexpr (S::kScore == Score::kHarris) {  // its twin
    return algo::HarrisResponse(
        SumGradientsOfTile(reinterpret_cast<const uint32_t*>(image),
                           place + (margin_rows - algo::kHarrisRadiusPx) * kPitch +
                               kColumnsPerLane - algo::kHarrisRadiusPx));
  } else {
    return S::Of(image + place + margin_rows * kPitch + kColumnsPerLane, kPitch);
  }
}

// --- Suppression ---

// True if a value is greater than those at the sides of the square of (2 * kRing + 1)^2 pixels.
template <int kRing, typename Value>
__device__ __forceinline__ bool IsAboveRing(const Value* value) {
  Value greatest = 0;
#pragma unroll
  for (int i = -kRing; i < kRing; ++i) {
    greatest = Max(greatest, value[-kRing * kPitch + i]);
    greatest = Max(greatest, value[kRing * kPitch - i]);
    greatest = Max(greatest, value[-i * kPitch - kRing]);
    greatest = Max(greatest, value[i * kPitch + kRing]);
  }
  return *value > greatest;
}
// True if a value that is above its eight neighbours is the only maximum of its window.
template <typename Value>
__device__ __forceinline__ bool IsAboveOuterRings(const Value* value, int radius_px) {
  return (radius_px < 2 || IsAboveRing<2>(value)) && (radius_px < 3 || IsAboveRing<3>(value)) &&
         (radius_px < 4 || IsAboveRing<4>(value));
}

// Phase 4: of the warp's `count` corners those that the tile yields, that the mask (or null) lets
// through, and that are the only maximum of their window. All values of the block are there.
template <typename Value>
__device__ __forceinline__ int KeepMaxima(const FastTiles& tiles, const LevelImage& level,
                                          const FastTile& tile, const uint8_t* __restrict__ mask,
                                          const Value* values, uint16_t* queue, int count) {
  const int radius = tiles.radius_px;
  const int column_begin = tiles.ColumnBegin(tile, radius);
  const int column_end = tiles.ColumnEnd(tile, level.width_px, radius);
  count = Sift(queue, count, [&](int place) {
    const int row = static_cast<int>(static_cast<unsigned>(place) / kPitch);
    const int column = place - row * kPitch;
    if (row < radius || row >= radius + tile.yields || column < column_begin ||
        column >= column_end || !IsAboveRing<1>(values + place)) {
      return -1;
    }
    const int64_t pixel =
        static_cast<int64_t>(tile.y_begin + row) * level.pitch_bytes + tile.x_begin + column;
    return mask != nullptr && mask[pixel] == 0 ? -1 : place;
  });
  // Three in four corners are gone: it is worth filling the lanes again.
  if (radius > 1) {
    count = Sift(queue, count,
                 [&](int place) { return IsAboveOuterRings(values + place, radius) ? place : -1; });
  }
  return count;
}

}  // namespace orbserve::gpu::fast_tile

#endif  // ORBSERVE_GPU_STEPS_DETECT_FAST_TILE_CUH_
