// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: uploads of JPEG files (gpu/jpeg/jpeg_upload.h). Out: luma, 8 bits, rows of a given pitch.
//
// Each symbol of entropy-coded data tells where the next one begins. To decode many places at once,
// the data are cut into pieces of 512 bits. The block of the MCU and the coefficient with which a
// piece begins are not known at first:
//
// 1. FirstWalksKernel: several walks begin at the first bit of each piece, each in another block of
//    the MCU. Most walks find the true symbols soon, and one of them mostly has the true block,
//    too. A single walk needs thousands of bits of 4:2:0 to find the true block.
// 2. NextWalksKernel: each walk goes on over the next pieces. Where it ends a piece at the same
//    place as one of that piece's own walks, both are the same walk from there on: a link.
// 3. ResolveKernel follows these links from the first piece to the last, and adds up blocks. Then
//    the place where the true walk enters each piece is known.
// 4. WriteKernel decodes each piece from there, strictly, and writes coefficients.
// 5. DcKernel adds up DC differences.
// 6. IdctKernel turns coefficients into pixels.
//
// Method: Weissenberger & Schmidt, "Accelerating JPEG decompression on GPUs", HiPC 2021. Links
// replace its rounds of synchronisation: no block waits for another one.
//
// Kernels 1, 2 and 4 have a thread for each walk or piece. A thread waits for its tables most of
// the time, and a warp for the slowest load of its threads; in nearly every step some thread needs
// new data. So tables (19 KB) and data (up to 10 KB) lie in shared memory. Kernels 3 and 5 have one
// block for each file.

#include "gpu/jpeg/jpeg_kernels.h"

#include <algorithm>

#include "features/algo/jpeg_idct.h"
#include "features/algo/jpeg_zigzag.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

// Small blocks: a VGA frame has some 6,000 walks and 1,000 pieces, which all processors share.
constexpr int kWalkThreads = 128;
constexpr int kWriteThreads = 64;
// Words of data in shared memory: one piece for each thread, and some pieces behind them.
constexpr int kWalkWords = (kWalkThreads + 24) * kJpegPieceBytes / 4;
constexpr int kWriteWords = (kWriteThreads + 8) * kJpegPieceBytes / 4;
constexpr int kIdctThreads = 256;  // 8 for each block of 8 x 8
constexpr int kIdctBlocks = kIdctThreads / 8;
constexpr int kResolveThreads = 1024;  // pieces at a time, one for each thread
constexpr int kResolveWarps = kResolveThreads / kWarpLanes;
constexpr int kDcThreads = 1024;
constexpr int kDcsPerThread = 8;  // one load of 16 bytes
// A walk gives up after so many pieces in which it has met no other walk. At quality 90 some need
// 24 pieces if one walk begins in each piece, and 5 if six do.
constexpr int kMaxNextPieces = 64;
constexpr int kMostStarts = 10;  // blocks of an MCU

static_assert(kJpegWalks == kWarpLanes);  // a warp follows all walks of some pieces

// Kernels may overlap (JpegBatch::overlaps): blocks of the next one begin when all blocks of this
// one have, and load tables and data of the file. They wait for the end of this one before they
// read what it wrote, or write themselves. Without overlap both functions do nothing.
__device__ __forceinline__ void BeginNextKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void AwaitKernelBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ bool IsFirst(uint32_t begin) { return (begin & kJpegFirstPiece) != 0; }
__device__ __forceinline__ uint32_t BitOf(uint32_t begin) { return (begin & ~kJpegFirstPiece) * 8; }

// The data of a file, and the part of them that lies in shared memory.
struct StagedWords {
  const uint32_t* staged;
  uint32_t first;
  uint32_t count;
  const uint32_t* all;
  // True if everything up to a bit is there, with what is read ahead.
  __device__ __forceinline__ bool HasUpTo(uint32_t bit) const {
    return bit / 32 + 5 <= first + count;
  }
};

// Copies up to `kCount` words, from the piece that begins at `begin` on, to shared memory.
// __syncthreads() must come before their use.
template <int kThreads, int kCount>
__device__ __forceinline__ StagedWords Stage(const JpegFileOnDevice& file, uint32_t begin,
                                             uint4 (&memory)[kCount / 4]) {
  StagedWords words;
  words.all = reinterpret_cast<const uint32_t*>(file.upload) + file.words_offset;
  words.staged = reinterpret_cast<const uint32_t*>(memory);
  words.first = (begin & ~kJpegFirstPiece) / sizeof(uint4) * 4;
  words.count = min(kCount, file.word_count - words.first) & ~3u;
  const auto* const from = reinterpret_cast<const uint4*>(words.all + words.first);
#pragma unroll
  for (uint32_t i = 0; i < (kCount / 4 + kThreads - 1) / kThreads; ++i) {
    const uint32_t group = i * kThreads + threadIdx.x;
    if (group < words.count / 4) memory[group] = from[group];
  }
  return words;
}

// Words as WalkJpeg() and WritePiece() ask for them.
struct WordsInShared {
  const uint32_t* staged;
  uint32_t first;
  __device__ __forceinline__ uint32_t operator()(uint32_t word) const {
    return staged[word - first];
  }
};
struct WordsInGlobal {
  const uint32_t* all;
  __device__ __forceinline__ uint32_t operator()(uint32_t word) const { return all[word]; }
};

// Copies the first `kBytes` of the tables to shared memory. __syncthreads() must come before their
// use.
template <int kThreads, size_t kBytes>
__device__ __forceinline__ void LoadTables(const JpegUpload& file, void* tables) {
  static_assert(kBytes % sizeof(uint4) == 0);
  const auto* const from = reinterpret_cast<const uint4*>(&file.tables);
  auto* const to = reinterpret_cast<uint4*>(tables);
  constexpr int kWords = kBytes / sizeof(uint4);
  constexpr int kRounds = (kWords + kThreads - 1) / kThreads;
#pragma unroll
  for (int i = 0; i < kRounds; ++i) {
    const int word = i * kThreads + static_cast<int>(threadIdx.x);
    if (word < kWords) to[word] = from[word];
  }
}

// WalkJpeg() over data that may reach beyond those in shared memory.
__device__ __forceinline__ int Walk(const StagedWords& words, const JpegCodeTables& tables,
                                    const JpegMcu& mcu, uint32_t end_bit, JpegPlace* place) {
  if (words.HasUpTo(end_bit)) {
    return WalkJpeg(WordsInShared{words.staged, words.first}, tables, mcu, end_bit, place);
  }
  return WalkJpeg(WordsInGlobal{words.all}, tables, mcu, end_bit, place);
}

// Shared memory of the kernels that walk.
struct WalkMemory {
  JpegCodeTables tables;
  uint4 staged[kWalkWords / 4];
};

// The walk of one thread.
struct ThreadWalk {
  int starts;              // walks that begin in each piece
  int piece;               // the one in which this walk begins
  int number;              // of the walk in its piece; `starts` or more beyond the last piece
  const uint32_t* begins;  // of all pieces
  uint32_t begin;          // of `piece`
  uint32_t end;
  StagedWords words;
};

// Assigns a walk to each thread, and copies tables and data of the block's walks to shared memory.
// __syncthreads() must come before their use. False if the file has no walk for this block.
__device__ __forceinline__ bool LoadWalks(const JpegBatch& batch, const JpegFileOnDevice& file,
                                          WalkMemory* memory, ThreadWalk* walk) {
  walk->starts = min(batch.starts, static_cast<int>(file.mcu.blocks));
  const int first_index = static_cast<int>(blockIdx.x) * kWalkThreads;
  if (first_index >= file.pieces * walk->starts) return false;
  const int index = first_index + static_cast<int>(threadIdx.x);
  walk->piece = min(index / walk->starts, file.pieces - 1);
  walk->number = index - walk->piece * walk->starts;
  walk->begins = file.upload->piece_begins();
  walk->begin = walk->begins[walk->piece];
  walk->end = walk->begins[walk->piece + 1];
  LoadTables<kWalkThreads, sizeof(JpegCodeTables)>(*file.upload, &memory->tables);
  walk->words = Stage<kWalkThreads, kWalkWords>(file, walk->begins[first_index / walk->starts],
                                                memory->staged);
  return true;
}

__global__ __launch_bounds__(kWalkThreads) void FirstWalksKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ WalkMemory memory;
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  ThreadWalk walk;
  if (!LoadWalks(batch, file, &memory, &walk)) return;
  __syncthreads();  // for tables and words
  if (walk.number >= walk.starts) return;

  const JpegWork work(file.work, file.pieces);
  const int64_t row = static_cast<int64_t>(walk.piece) * kJpegWalks;
  if (walk.number == 0) {
    // Every walk before the first piece of an interval ends; its own first one is the true one.
    const uint32_t links = IsFirst(walk.begin) ? 0u : 0xFFFFFFFFu;
    auto* const to = reinterpret_cast<uint4*>(work.links + row);
    to[0] = to[1] = make_uint4(links, links, links, links);
    work.walks[walk.piece] = walk.starts;
  }
  // How an interval ends is seen when it is written.
  if (IsFirst(walk.end) || (IsFirst(walk.begin) && walk.number != 0)) {
    work.ends[row + walk.number] = kJpegNoPlace;
    return;
  }
  const JpegMcu mcu = file.mcu;
  const auto first_block = static_cast<uint32_t>(walk.number * mcu.blocks / walk.starts);
  JpegPlace place = {BitOf(walk.begin), first_block, 0};
  const int ended = Walk(walk.words, memory.tables, mcu, BitOf(walk.end), &place);
  work.ends[row + walk.number] = place.Key();
  if (IsFirst(walk.begin)) work.sums[row] = ended;
}

__global__ __launch_bounds__(kWalkThreads) void NextWalksKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ WalkMemory memory;
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  ThreadWalk walk;
  if (!LoadWalks(batch, file, &memory, &walk)) return;
  AwaitKernelBefore();
  __syncthreads();  // for tables and words
  if (walk.number >= walk.starts) return;

  const JpegWork work(file.work, file.pieces);
  const JpegMcu mcu = file.mcu;
  const int64_t first_row = static_cast<int64_t>(walk.piece) * kJpegWalks;
  uint64_t end = work.ends[first_row + walk.number];
  if (end == kJpegNoPlace) return;
  // Links lead to the first of equal walks.
  for (int i = 0; i < walk.number; ++i) {
    if (work.ends[first_row + i] == end) return;
  }
  const int starts = walk.starts;
  int number = walk.number;  // in the present piece
  JpegPlace place = JpegPlace::FromKey(end);
  // The last piece of an interval needs no walk.
  const int last_piece = min(walk.piece + kMaxNextPieces, file.pieces - 2);
  for (int piece = walk.piece + 1; piece <= last_piece; ++piece) {
    const uint32_t begin_of_next = walk.begins[piece + 1];
    if (IsFirst(begin_of_next)) return;
    const int64_t row = static_cast<int64_t>(piece) * kJpegWalks;
    // Loaded before they are needed.
    uint64_t ends[kMostStarts];
#pragma unroll
    for (int i = 0; i < kMostStarts; ++i) ends[i] = i < starts ? work.ends[row + i] : kJpegNoPlace;
    work.sums[row + number] = Walk(walk.words, memory.tables, mcu, BitOf(begin_of_next), &place);
    end = place.Key();
    int met = starts;
#pragma unroll
    for (int i = kMostStarts - 1; i >= 0; --i) met = ends[i] == end ? i : met;
    if (met < starts) {
      work.links[row + number] = static_cast<uint8_t>(met);
      return;
    }
    const int own = atomicAdd(&work.walks[piece], 1);
    if (own >= kJpegNoWalk) return;
    work.links[row + number] = static_cast<uint8_t>(own);
    work.ends[row + own] = end;
    number = own;
  }
}

// A sum that begins anew at some of its values.
struct Sum {
  int value;   // since the last such value
  int begins;  // number of such values so far
};
__device__ __forceinline__ Sum Joined(const Sum& before, const Sum& own) {
  return {own.value + (own.begins > 0 ? 0 : before.value), own.begins + before.begins};
}
__device__ __forceinline__ Sum SumUpToLane(Sum own, int lane) {
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const Sum before = {__shfl_up_sync(kFullWarp, own.value, distance),
                        __shfl_up_sync(kFullWarp, own.begins, distance)};
    if (lane >= distance) own = Joined(before, own);
  }
  return own;
}

// Running sums over many values, of which each of the 1,024 threads of a block has one at a time.
class BlockSums {
 public:
  // In shared memory.
  struct Memory {
    Sum of_warp[kWarpLanes];
  };

  // The sum of all values before that of this thread. All threads call it. __syncthreads() must
  // come between two calls with the same memory.
  __device__ __forceinline__ Sum Before(const Sum& own, Memory* memory) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const Sum up_to = SumUpToLane(own, lane);
    if (lane == kWarpLanes - 1) memory->of_warp[warp] = up_to;
    __syncthreads();  // for the sums of all warps
    // Each warp adds up all of them, so that they need not meet again.
    const Sum warps = SumUpToLane(memory->of_warp[lane], lane);
    const Sum before_warp = {__shfl_sync(kFullWarp, warps.value, max(warp - 1, 0)),
                             __shfl_sync(kFullWarp, warps.begins, max(warp - 1, 0))};
    const Sum all = {__shfl_sync(kFullWarp, warps.value, kWarpLanes - 1),
                     __shfl_sync(kFullWarp, warps.begins, kWarpLanes - 1)};
    Sum before = {__shfl_up_sync(kFullWarp, up_to.value, 1),
                  __shfl_up_sync(kFullWarp, up_to.begins, 1)};
    if (lane == 0) before = {0, 0};
    if (warp > 0) before = Joined(before_warp, before);
    before = Joined(carried_, before);
    carried_ = Joined(carried_, all);
    return before;
  }

 private:
  Sum carried_ = {0, 0};  // of all calls so far; the same in all threads
};

// The part of a piece that ResolveKernel can read before it knows the true walks.
struct PieceLinks {
  uint4 links[2];
  uint32_t begin;
  uint32_t begin_of_next;
};
__device__ __forceinline__ PieceLinks LoadLinks(const JpegFileOnDevice& file, const JpegWork& work,
                                                int piece) {
  PieceLinks loaded = {};
  if (piece >= file.pieces) return loaded;
  const auto* const from =
      reinterpret_cast<const uint4*>(work.links + static_cast<int64_t>(piece) * kJpegWalks);
  loaded.links[0] = from[0];
  loaded.links[1] = from[1];
  loaded.begin = file.upload->piece_begins()[piece];
  loaded.begin_of_next = file.upload->piece_begins()[piece + 1];
  return loaded;
}

__global__ __launch_bounds__(kResolveThreads) void ResolveKernel(
    const __grid_constant__ JpegBatch batch) {
  // A run is the 32 pieces of a warp. At first [piece][walk of the piece before]: the walk of this
  // piece that it becomes. Then [piece][walk that enters the run]: the walk that enters the piece.
  alignas(16) __shared__ uint8_t links[kResolveThreads][kJpegWalks];
  // [run][walk that enters it]: the walk that leaves it. Then [run][walk that enters the first
  // run]: the walk that leaves this one.
  __shared__ uint8_t exits[kResolveWarps][kJpegWalks];
  __shared__ BlockSums::Memory sums_memory;
  const JpegFileOnDevice& file = batch.files[blockIdx.x];
  const JpegWork work(file.work, file.pieces);
  const int interval_blocks = file.upload->interval_blocks;
  const int all_blocks = file.upload->blocks;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  const int warp = thread / kWarpLanes;
  int carried_walk = 0;
  BlockSums block_sums;
  BeginNextKernel();
  AwaitKernelBefore();
  PieceLinks next = LoadLinks(file, work, thread);
  for (int first = 0; first < file.pieces; first += kResolveThreads) {
    const int count = min(kResolveThreads, file.pieces - first);
    const int runs = DivUp(count, kWarpLanes);
    const int piece = first + thread;
    const uint32_t begin = next.begin;
    const uint32_t begin_of_next = next.begin_of_next;
    auto* const to = reinterpret_cast<uint4*>(links[thread]);
    to[0] = next.links[0];
    to[1] = next.links[1];
    next = LoadLinks(file, work, piece + kResolveThreads);
    __syncwarp();  // for the links of the run, which are this warp's
    const int run_end = min((warp + 1) * kWarpLanes, count);
    int walk = lane;
    for (int i = warp * kWarpLanes; i < run_end; ++i) {
      const int behind = links[i][walk] & kJpegNoWalk;
      __syncwarp();  // until all lanes have read what is overwritten
      links[i][lane] = static_cast<uint8_t>(walk);
      walk = behind;
    }
    exits[warp][lane] = static_cast<uint8_t>(walk);
    for (int distance = 1; distance < kResolveWarps; distance *= 2) {
      __syncthreads();  // for the exits
      if (warp >= distance) walk = exits[warp][exits[warp - distance][lane]];
      __syncthreads();  // until all have read them
      exits[warp][lane] = static_cast<uint8_t>(walk);
    }
    __syncthreads();  // for the joined exits
    const int entered = warp == 0 ? carried_walk : exits[warp - 1][carried_walk];
    carried_walk = exits[runs - 1][carried_walk];

    const int64_t row = static_cast<int64_t>(piece) * kJpegWalks;
    Sum own = {0, 0};
    uint64_t place = kJpegNoPlace;
    if (thread < count) {
      walk = IsFirst(begin) ? 0 : links[thread][entered];
      own.begins = IsFirst(begin) ? 1 : 0;
      if (IsFirst(begin)) {
        place = JpegPlace{BitOf(begin), 0, 0}.Key();
      } else if (walk != kJpegNoWalk) {
        place = work.ends[row - kJpegWalks + walk];
      }
      if (walk != kJpegNoWalk && !IsFirst(begin_of_next)) own.value = work.sums[row + walk];
    }
    const Sum sum = block_sums.Before(own, &sums_memory);
    if (thread < count) {
      const int interval = sum.begins - (IsFirst(begin) ? 0 : 1);
      JpegEntry entry;
      entry.place = place;
      entry.block = interval * interval_blocks + (IsFirst(begin) ? 0 : sum.value);
      entry.end_block = min((interval + 1) * interval_blocks, all_blocks);
      work.entries[piece] = entry;
      if (place == kJpegNoPlace) *file.upload->undecided_there = 1;
    }
    __syncthreads();  // until all have read what the next pieces overwrite
  }
}

__constant__ constexpr JpegZigzag kZigzag = kJpegZigzag;

// The tables that strict decoding needs: all but the runs, which skip values.
struct StrictTables {
  uint16_t short_codes[kJpegTables][kJpegShortCodes];
  JpegLongCodes long_codes[kJpegTables];
};
static_assert(offsetof(JpegCodeTables, runs) == sizeof(StrictTables));

// Decodes a piece and writes its coefficients. False if the data are damaged. Only long codes take
// a branch.
template <typename Words>
__device__ bool WritePiece(const JpegFileOnDevice& file, const Words& words,
                           const StrictTables& tables, const uint8_t* zigzag,
                           const JpegEntry& entry, uint32_t begin_of_next) {
  constexpr uint32_t kFull = kJpegBlockCoefficients;
  constexpr JpegCode kNoSymbol = 1 | kFull << 9;
  const uint32_t block_count = file.mcu.blocks;
  const uint32_t luma_in_mcu = file.mcu.luma_blocks;
  const uint32_t pairs = file.mcu.pairs;
  const uint32_t end_bit = BitOf(begin_of_next);
  const JpegPlace place = JpegPlace::FromKey(entry.place);
  uint32_t bit = place.bit;
  uint32_t block = place.block;
  uint32_t coefficient = place.coefficient;
  uint32_t number = 2 * (pairs >> block & 1) + (coefficient != 0 ? 1 : 0);
  int blocks_left = entry.end_block - entry.block;
  // The number of the MCU's first block of luma.
  uint32_t luma = static_cast<uint32_t>(entry.block) / block_count * luma_in_mcu;
  int16_t* const dcs = JpegWork(file.work, file.pieces).dcs;
  bool bad = false;
  JpegBits<Words> bits(words, bit);
  while (bit < end_bit && blocks_left > 0) {
    const uint32_t window = bits.Window();
    JpegCode code = tables.short_codes[number][window >> (32 - kJpegShortCodeBits)];
    if (code == 0) {
      code = tables.long_codes[number].At(window);
      bad = bad || code == 0;
      code = code == 0 ? kNoSymbol : code;
    }
    const uint32_t length = JpegCodeLength(code);
    const uint32_t size = JpegCodeSize(code);
    const uint32_t advance = JpegCodeAdvance(code);
    const auto value = static_cast<int16_t>(JpegShortValue(window << (length - size), size));
    bits.Skip(length);
    bit += length;
    const bool is_luma = block < luma_in_mcu;
    const bool is_dc = coefficient == 0;
    coefficient += advance;
    const uint32_t in_block = zigzag[(coefficient - 1) & (kFull - 1)];
    if (is_luma && is_dc) dcs[luma + block] = value;
    if (is_luma && !is_dc && size != 0)
      file.coefficients[(luma + block) * kFull + in_block] = value;
    const bool ended = coefficient >= kFull;
    // A block ends where it is full, or where its end is read.
    bad = bad || (coefficient > kFull && advance != kFull);
    blocks_left -= ended ? 1 : 0;
    coefficient = ended ? 0 : coefficient;
    const bool mcu_ended = ended && block + 1 == block_count;
    block = mcu_ended ? 0 : block + (ended ? 1 : 0);
    luma += mcu_ended ? luma_in_mcu : 0;
    number = 2 * (pairs >> block & 1) + (ended ? 0 : 1);
  }
  if (bad) return false;
  // An interval ends in its last piece, with less than a byte left.
  if (blocks_left > 0) return !IsFirst(begin_of_next);
  return IsFirst(begin_of_next) && bit <= end_bit && end_bit - bit < 8;
}

__global__ __launch_bounds__(kWriteThreads) void WriteKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ StrictTables tables;
  __shared__ uint4 staged[kWriteWords / 4];
  __shared__ uint8_t zigzag[kJpegBlockCoefficients];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const int first_piece = static_cast<int>(blockIdx.x) * kWriteThreads;
  if (first_piece >= file.pieces) return;
  const int piece = min(first_piece + static_cast<int>(threadIdx.x), file.pieces - 1);
  const uint32_t* const begins = file.upload->piece_begins();
  const uint32_t begin_of_next = begins[piece + 1];
  static_assert(kWriteThreads == kJpegBlockCoefficients);
  zigzag[threadIdx.x] = kZigzag.place[threadIdx.x];
  LoadTables<kWriteThreads, sizeof(StrictTables)>(*file.upload, &tables);
  const StagedWords words = Stage<kWriteThreads, kWriteWords>(file, begins[first_piece], staged);
  AwaitKernelBefore();
  __syncthreads();  // for zigzag, tables and words
  const JpegEntry entry = JpegWork(file.work, file.pieces).entries[piece];
  if (first_piece + static_cast<int>(threadIdx.x) >= file.pieces) return;
  // Behind the last block of the interval. The piece in which that ended has seen that more data
  // follow.
  if (entry.place == kJpegNoPlace || entry.block >= entry.end_block) return;
  const bool good =
      words.HasUpTo(BitOf(begin_of_next))
          ? WritePiece(file, WordsInShared{words.staged, words.first}, tables, zigzag, entry,
                       begin_of_next)
          : WritePiece(file, WordsInGlobal{words.all}, tables, zigzag, entry, begin_of_next);
  if (!good) *file.upload->undecided_there = 1;
}

__global__ __launch_bounds__(kDcThreads) void DcKernel(const __grid_constant__ JpegBatch batch) {
  __shared__ BlockSums::Memory sums_memory[2];  // in turns
  const JpegFileOnDevice& file = batch.files[blockIdx.x];
  const int luma_blocks = file.upload->luma_blocks;
  const int interval = file.upload->interval_blocks / file.mcu.blocks * file.mcu.luma_blocks;
  const JpegWork work(file.work, file.pieces);
  BeginNextKernel();
  AwaitKernelBefore();
  BlockSums block_sums;
  int turn = 0;
  for (int begin = 0; begin < luma_blocks; begin += kDcThreads * kDcsPerThread) {
    const int first = begin + static_cast<int>(threadIdx.x) * kDcsPerThread;
    int16_t values[kDcsPerThread] = {};
    const int count = min(luma_blocks - first, kDcsPerThread);  // may be negative
    int until_new = interval;  // blocks before the next interval, from `first` on
    if (count > 0) {
      *reinterpret_cast<uint4*>(values) = *reinterpret_cast<const uint4*>(work.dcs + first);
      until_new = (interval - first % interval) % interval;
    }
    Sum own = {0, 0};
    int next = until_new;
#pragma unroll
    for (int i = 0; i < kDcsPerThread; ++i) {
      if (i == next) {
        own = {0, own.begins + 1};
        next += interval;
      }
      if (i < count) own.value += values[i];
    }
    int value = block_sums.Before(own, &sums_memory[turn]).value;
    turn = 1 - turn;
    bool fits = true;
    next = until_new;
#pragma unroll
    for (int i = 0; i < kDcsPerThread; ++i) {
      if (i == next) {
        value = 0;
        next += interval;
      }
      if (i < count) value += values[i];
      values[i] = static_cast<int16_t>(value);
      fits = fits && values[i] == value;
    }
    if (count <= 0) continue;
    *reinterpret_cast<uint4*>(work.dcs + first) = *reinterpret_cast<const uint4*>(values);
    if (!fits) *file.upload->undecided_there = 1;
  }
}

// Eight numbers of 16 bits, in one load or store.
union Eight {
  uint4 all;
  int16_t number[8];
  uint16_t unsigned_number[8];
};

__global__ __launch_bounds__(kIdctThreads) void IdctKernel(
    const __grid_constant__ JpegBatch batch) {
  // Coefficients, then numbers between the passes. Rows of 9 numbers spread columns over banks.
  __shared__ int16_t numbers_of[kIdctBlocks][8][9];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const JpegUpload& upload = *file.upload;
  const int block_here = static_cast<int>(threadIdx.x) / 8;
  const int line = static_cast<int>(threadIdx.x) % 8;  // a row, a column, and a row again
  const int block = static_cast<int>(blockIdx.x) * kIdctBlocks + block_here;
  const bool exists = block < upload.luma_blocks;
  const int mcus_across = upload.mcus_across;
  const int luma_across = upload.luma_across;
  const int luma_down = upload.luma_down;
  const int width_px = upload.width_px;
  const int height_px = upload.height_px;
  uint8_t* const image = upload.image;
  const int64_t pitch_bytes = upload.pitch_bytes;
  int16_t(&here)[8][9] = numbers_of[block_here];
  AwaitKernelBefore();
  bool decided = true;
  if (exists) {
    Eight* const from = reinterpret_cast<Eight*>(file.coefficients + static_cast<int64_t>(block) *
                                                                         kJpegBlockCoefficients);
    Eight coefficients;
    coefficients.all = from[line].all;
    Eight quantisers;
    quantisers.all = reinterpret_cast<const uint4*>(upload.quantisers)[line];
    if (line == 0) coefficients.number[0] = JpegWork(file.work, file.pieces).dcs[block];
    from[line].all = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int x = 0; x < 8; ++x) {
      const int32_t number = int32_t{coefficients.number[x]} * quantisers.unsigned_number[x];
      decided = decided && number <= kIdctMaxInput && number >= -kIdctMaxInput;
      here[line][x] = static_cast<int16_t>(number);
    }
  }
  __syncwarp();  // for the rows of the block, which are this warp's
  int32_t numbers[8];
  if (exists) {
#pragma unroll
    for (int y = 0; y < 8; ++y) numbers[y] = here[y][line];
    IdctPass(numbers, 1, kIdctColumnShift);
#pragma unroll
    for (int y = 0; y < 8; ++y) {
      decided = decided && numbers[y] <= kIdctMaxInput && numbers[y] >= -kIdctMaxInput;
      here[y][line] = static_cast<int16_t>(numbers[y]);
    }
    if (!decided) *upload.undecided_there = 1;
  }
  __syncwarp();  // for the columns of the block
  const int luma_in_mcu = luma_across * luma_down;
  const int mcu = block / luma_in_mcu;
  const int in_mcu = block - mcu * luma_in_mcu;
  const int mcu_y = mcu / mcus_across;
  const int mcu_x = mcu - mcu_y * mcus_across;
  const int x = 8 * (mcu_x * luma_across + in_mcu % luma_across);
  const int y = 8 * (mcu_y * luma_down + in_mcu / luma_across) + line;
  if (!exists || x >= width_px || y >= height_px) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) numbers[i] = here[line][i];
  IdctPass(numbers, 1, kIdctRowShift);
  uint32_t packed[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    packed[i / 4] |= static_cast<uint32_t>(Clamp(numbers[i] + 128, 0, 255)) << (8 * (i % 4));
  }
  *reinterpret_cast<uint2*>(image + y * pitch_bytes + x) = make_uint2(packed[0], packed[1]);
}

}  // namespace

int JpegStartsFor(const JpegBatch& batch) {
  constexpr int64_t kBusyWalks = 65'536;  // of an H100
  return static_cast<int>(
      Clamp<int64_t>(kBusyWalks / std::max<int64_t>(batch.all_pieces, 1), 2, kMostStarts));
}

namespace {

// Launches a kernel behind the one before it.
absl::Status LaunchNext(void (*kernel)(JpegBatch), const char* name, dim3 grid, int threads,
                        const JpegBatch& batch, cudaStream_t stream) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = batch.overlaps ? 1 : 0;
  return StatusFromCuda(cudaLaunchKernelEx(&config, kernel, batch), name);
}

}  // namespace

absl::Status LaunchJpegDecoding(const JpegBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return absl::OkStatus();
  const auto grid = [&](int work, int in_block) {
    return dim3(DivUp(work, in_block), batch.count);
  };
  const int walks = batch.pieces * batch.starts;
  FirstWalksKernel<<<grid(walks, kWalkThreads), kWalkThreads, 0, stream>>>(batch);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("FirstWalksKernel"));
  ORBSERVE_RETURN_IF_ERROR(LaunchNext(NextWalksKernel, "NextWalksKernel", grid(walks, kWalkThreads),
                                      kWalkThreads, batch, stream));
  ORBSERVE_RETURN_IF_ERROR(LaunchNext(ResolveKernel, "ResolveKernel", dim3(batch.count),
                                      kResolveThreads, batch, stream));
  ORBSERVE_RETURN_IF_ERROR(LaunchNext(WriteKernel, "WriteKernel", grid(batch.pieces, kWriteThreads),
                                      kWriteThreads, batch, stream));
  ORBSERVE_RETURN_IF_ERROR(
      LaunchNext(DcKernel, "DcKernel", dim3(batch.count), kDcThreads, batch, stream));
  return LaunchNext(IdctKernel, "IdctKernel", grid(batch.luma_blocks, kIdctBlocks), kIdctThreads,
                    batch, stream);
}

}  // namespace orbserve::gpu
