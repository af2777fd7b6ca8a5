// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: uploads of JPEG files (gpu/jpeg/jpeg_upload.h). Out: luma, 8 bits, rows of a given pitch.
//
// Each symbol of entropy-coded data tells where the next one begins. To decode many places at once,
// the data are cut into pieces of 256 or 512 bits. The block of the MCU and the coefficient with
// which a piece begins are not known at first:
//
// 1. FirstWalksKernel: several walks of 512 bits end with each piece, behind the last block that
//    begins in it. Each begins in another block of the MCU. Most walks find the true symbols soon,
//    and one of them mostly has the true block, too. A single walk needs thousands of bits of 4:2:0
//    to find the true block.
// 2. NextWalksKernel: each walk goes on over the next pieces. Where it ends a piece at the same
//    place as one of that piece's own walks, both are the same walk from there on: a link.
// 3. ResolveKernel follows these links over runs of pieces and over chunks of runs, for all walks
//    at once. It also adds up blocks.
// 4. WriteKernel follows the true walk over the chunks and runs before its pieces, decodes the
//    blocks that begin in each piece, strictly, and writes whole blocks of coefficients. Writes of
//    single coefficients would take twice as long.
// 5. IdctKernel adds up DC differences and turns coefficients into pixels.
//
// Method: Weissenberger & Schmidt, "Accelerating JPEG decompression on GPUs", HiPC 2021. Links
// replace its rounds of synchronisation: no block waits for another one.
//
// Kernels 1, 2 and 4 have a thread for each walk or piece. The number of instructions bounds them
// in large batches, and the chain of one walk in small ones. Tables (19 KB) lie in shared memory.
// So do the data of kernel 1, whose walks go in step through neighbouring pieces.

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
constexpr int kMostNextPieces = 64;  // whose walks one warp goes on with
// Symbols that a lane decodes before its warp looks which lanes have a whole block. A block is
// written by eight lanes, 16 bytes each, as soon as there are enough of them for a warp.
constexpr int kSymbolsPerVote = 2;
constexpr int kLanesOfSlot = 8;
constexpr int kFullSlots = kWarpLanes / kLanesOfSlot;
constexpr int kIdctThreads = 256;  // 8 for each block of 8 x 8
static_assert(kIdctThreads / 8 == kJpegDcGroup);
constexpr int kResolveThreads = kJpegChunkPieces;
// A walk gives up after so many bytes in which it has met no other walk. At quality 90 some need
// 1,500 if one walk begins in 64 bytes, and 300 if six do.
constexpr int kMaxNextBytes = 4096;
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

// Keeps a value in registers that the compiler would load from the arguments again and again.
// Pointers lead to global memory.
__device__ __forceinline__ uint32_t InRegister(uint32_t value) {
  asm("" : "+r"(value));
  return value;
}
template <typename T>
__device__ __forceinline__ T* InRegister(T* value) {
  asm("" : "+l"(value));
  __builtin_assume(__isGlobal(value));
  return value;
}
__device__ __forceinline__ JpegMcu InRegister(const JpegMcu& mcu) {
  const uint32_t blocks = InRegister(uint32_t{mcu.blocks});
  const uint32_t pairs = InRegister(uint32_t{mcu.pairs});
  return {static_cast<uint8_t>(blocks), mcu.luma_blocks, static_cast<uint16_t>(pairs)};
}

__device__ __forceinline__ const uint32_t* BeginsOf(const JpegFileOnDevice& file) {
  return reinterpret_cast<const uint32_t*>(file.upload) + file.begins_offset;
}
__device__ __forceinline__ const uint32_t* WordsOf(const JpegFileOnDevice& file) {
  return reinterpret_cast<const uint32_t*>(file.upload) + file.words_offset;
}

// First walks of each piece of a file.
__device__ __forceinline__ int StartsIn(const JpegBatch& batch, const JpegMcu& mcu) {
  return min(batch.starts, static_cast<int>(mcu.blocks));
}

// The place of a staged word. A word is left out behind each piece, so that walks that go in step
// through neighbouring pieces read from different banks.
__device__ __forceinline__ uint32_t StagedPlace(uint32_t word) { return word + word / 16; }

// The data of a file, and the part of them that lies in shared memory.
struct StagedWords {
  const uint32_t* staged;
  uint32_t first;
  uint32_t count;
  const uint32_t* all;
  // True if all blocks that begin before a bit are there, with what is read ahead.
  __device__ __forceinline__ bool HasBlocksBefore(uint32_t bit) const {
    return (bit + kJpegMaxBlockBits) / 32 + 3 <= first + count;
  }
};

// Copies up to `kCount` words, from the piece that begins at `begin` on, to shared memory.
// __syncthreads() must come before their use.
template <int kThreads, int kCount>
__device__ __forceinline__ StagedWords Stage(const JpegFileOnDevice& file, uint32_t begin,
                                             uint32_t (&memory)[kCount + kCount / 16]) {
  StagedWords words;
  words.all = WordsOf(file);
  words.staged = memory;
  words.first = (begin & ~kJpegFirstPiece) / sizeof(uint4) * 4;
  words.count = min(kCount, file.word_count - words.first) & ~3u;
  const auto* const from = reinterpret_cast<const uint4*>(words.all + words.first);
#pragma unroll
  for (uint32_t i = 0; i < (kCount / 4 + kThreads - 1) / kThreads; ++i) {
    const uint32_t group = i * kThreads + threadIdx.x;
    if (group >= words.count / 4) continue;
    const uint4 four = from[group];
    uint32_t* const to = memory + StagedPlace(4 * group);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }
  return words;
}

// Words as WalkJpeg() and WritePieces() ask for them.
struct WordsInShared {
  const uint32_t* staged;
  uint32_t first;
  __device__ __forceinline__ uint32_t operator()(uint32_t word) const {
    return staged[StagedPlace(word - first)];
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

__device__ __forceinline__ JpegExit ExitOf(const JpegPlace& place, uint32_t end_bit) {
  return static_cast<JpegExit>((place.bit - end_bit) << 4 | place.block);
}
__device__ __forceinline__ JpegPlace PlaceOf(JpegExit exit, uint32_t end_bit) {
  return {end_bit + (exit >> 4), exit & 15u};
}

// The exits of the first walks of a piece.
struct FirstExits {
  uint4 eights[2];

  __device__ __forceinline__ FirstExits(const JpegExit* row, int starts) {
    static_assert(kMostStarts <= 16);
    const auto* const from = reinterpret_cast<const uint4*>(row);
    eights[0] = from[0];
    eights[1] = starts > 8 ? from[1] : make_uint4(~0u, ~0u, ~0u, ~0u);
  }
  // The first of `count` walks with this exit, or `count`.
  __device__ __forceinline__ int Find(JpegExit exit, int count) const {
    const uint32_t words[8] = {eights[0].x, eights[0].y, eights[0].z, eights[0].w,
                               eights[1].x, eights[1].y, eights[1].z, eights[1].w};
    int found = count;
#pragma unroll
    for (int i = kMostStarts - 1; i >= 0; --i) {
      found = i < count && (words[i / 2] >> (16 * (i % 2)) & 0xFFFF) == exit ? i : found;
    }
    return found;
  }
};

// WalkJpeg() over data that may reach beyond those in shared memory.
__device__ __forceinline__ int Walk(const StagedWords& words, const JpegCodeTables& tables,
                                    const JpegMcu& mcu, uint32_t end_bit, JpegPlace* place) {
  if (words.HasBlocksBefore(end_bit)) {
    return WalkJpeg(WordsInShared{words.staged, words.first}, tables, mcu, end_bit, place);
  }
  return WalkJpeg(WordsInGlobal{words.all}, tables, mcu, end_bit, place);
}

__global__ __launch_bounds__(kWalkThreads) void FirstWalksKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ JpegCodeTables tables;
  __shared__ uint32_t staged[kWalkWords + kWalkWords / 16];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const JpegMcu mcu = InRegister(file.mcu);
  const int starts = StartsIn(batch, mcu);
  const int first_index = static_cast<int>(blockIdx.x) * kWalkThreads;
  if (first_index >= file.pieces * starts) return;
  const int index = first_index + static_cast<int>(threadIdx.x);
  const int piece = min(index / starts, file.pieces - 1);
  const int walk = index - piece * starts;
  const uint32_t* const begins = BeginsOf(file);
  const uint32_t begin = begins[piece];
  const uint32_t end = begins[piece + 1];
  // Walks over a single short piece often do not find the true symbols.
  const int lead = batch.piece_bytes < kJpegPieceBytes ? 1 : 0;
  const uint32_t begin_of_walk = IsFirst(begin) ? begin : begins[piece - lead];
  LoadTables<kWalkThreads, sizeof(JpegCodeTables)>(*file.upload, &tables);
  const StagedWords words =
      Stage<kWalkThreads, kWalkWords>(file, begins[max(first_index / starts - lead, 0)], staged);
  __syncthreads();             // for tables and words
  if (walk >= starts) return;  // beyond the last piece

  const JpegWork work(file.work, file.pieces);
  const int64_t row = static_cast<int64_t>(piece) * kJpegWalks;
  const int groups = DivUp(file.upload->luma_blocks, kJpegDcGroup);
  for (int i = index; i < groups; i += file.pieces * starts) work.dc_sums[i] = 0;
  if (walk == 0) {
    // Every walk before the first piece of an interval ends; its own first one is the true one.
    const uint32_t links = IsFirst(begin) ? 0u : 0xFFFFFFFFu;
    auto* const to = reinterpret_cast<uint4*>(work.links + row);
    to[0] = to[1] = make_uint4(links, links, links, links);
    work.walks[piece] = starts;
  }
  // How an interval ends is seen when it is written.
  if (IsFirst(end) || (IsFirst(begin) && walk != 0)) {
    work.exits[row + walk] = kJpegNoExit;
    return;
  }
  JpegPlace place = {BitOf(begin_of_walk), static_cast<uint32_t>(walk * mcu.blocks / starts)};
  const int blocks = Walk(words, tables, mcu, BitOf(end), &place);
  work.exits[row + walk] = ExitOf(place, BitOf(end));
  if (IsFirst(begin)) work.sums[row] = static_cast<uint16_t>(blocks);
}

// A walk that has met no other so far.
struct OpenWalk {
  JpegPlace place;
  int32_t piece;   // which it has come to
  int16_t walk;    // of the piece before
  int16_t pieces;  // that it has gone on over
};

// Goes on with a walk over one piece. False if it is not open any more.
__device__ __forceinline__ bool GoOn(const JpegFileOnDevice& file, const JpegWork& work,
                                     const JpegCodeTables& tables, int starts, int most_pieces,
                                     OpenWalk* open) {
  const uint32_t* const begins = BeginsOf(file);
  // The last piece of an interval needs no walk.
  if (open->piece >= file.pieces - 1) return false;
  const uint32_t begin_of_next = begins[open->piece + 1];
  if (IsFirst(begin_of_next)) return false;
  const int64_t row = static_cast<int64_t>(open->piece) * kJpegWalks;
  const FirstExits exits(work.exits + row, starts);  // loaded before they are needed
  // The number of the walk unless it meets another one. It arrives during the walk.
  const int own = atomicAdd(&work.walks[open->piece], 1);
  work.sums[row + open->walk] =
      static_cast<uint16_t>(WalkJpeg(WordsInGlobal{InRegister(WordsOf(file))}, tables,
                                     InRegister(file.mcu), BitOf(begin_of_next), &open->place));
  const JpegExit exit = ExitOf(open->place, BitOf(begin_of_next));
  const int met = exits.Find(exit, starts);
  if (met < starts) {
    work.links[row + open->walk] = static_cast<uint8_t>(met);
    return false;
  }
  if (own >= kJpegNoWalk) return false;
  work.links[row + open->walk] = static_cast<uint8_t>(own);
  work.exits[row + own] = exit;
  open->walk = static_cast<int16_t>(own);
  ++open->piece;
  return ++open->pieces < most_pieces;
}

__global__ __launch_bounds__(kWalkThreads) void NextWalksKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ JpegCodeTables tables;
  // Most walks meet another one soon. Those that are open are on a stack, from which the lanes of a
  // warp take, so that few have nothing to do.
  __shared__ OpenWalk stacks[kWalkThreads / kWarpLanes][2 * kWarpLanes];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const int starts = StartsIn(batch, file.mcu);
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  constexpr int kWarps = kWalkThreads / kWarpLanes;
  if (static_cast<int>(blockIdx.x) * kWarps * batch.next_pieces >= file.pieces) return;
  LoadTables<kWalkThreads, sizeof(JpegCodeTables)>(*file.upload, &tables);
  AwaitKernelBefore();
  __syncthreads();  // for tables

  const JpegWork work(file.work, file.pieces);
  const int first_piece = (static_cast<int>(blockIdx.x) * kWarps + warp) * batch.next_pieces;
  const int begun_walks = min(batch.next_pieces, file.pieces - first_piece) * starts;
  const int most_pieces = kMaxNextBytes / batch.piece_bytes;
  // Walks of a warp that takes each one once go on by themselves.
  const int most_at_once = batch.next_pieces * starts <= kWarpLanes ? most_pieces : 1;
  OpenWalk* const stack = stacks[warp];
  int next_begun = 0;
  int count = 0;
  OpenWalk open = {};
  bool is_open = false;
  const auto push = [&] {
    const uint32_t opens = __ballot_sync(kFullWarp, is_open);
    if (is_open) stack[count + __popc(opens & ((1u << lane) - 1))] = open;
    count += __popc(opens);
  };
  while (true) {
    push();
    while (count <= kWarpLanes && next_begun < begun_walks) {
      const int index = next_begun + lane;
      next_begun += kWarpLanes;
      is_open = false;
      if (index < begun_walks) {
        const int piece = first_piece + index / starts;
        const int walk = index % starts;
        const JpegExit* const row = work.exits + static_cast<int64_t>(piece) * kJpegWalks;
        const JpegExit exit = row[walk];
        open = {PlaceOf(exit, BitOf(BeginsOf(file)[piece + 1])), piece + 1,
                static_cast<int16_t>(walk), 0};
        // Links lead to the first of equal walks.
        is_open = exit != kJpegNoExit && FirstExits(row, starts).Find(exit, walk) == walk;
      }
      push();
    }
    if (count <= 0) return;
    __syncwarp();  // for the stack
    is_open = lane < count;
    if (is_open) open = stack[count - 1 - lane];
    count = max(count - kWarpLanes, 0);
    __syncwarp();  // until all have taken theirs
    for (int i = 0; i < most_at_once && is_open; ++i) {
      is_open = GoOn(file, work, tables, starts, most_pieces, &open);
    }
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

__device__ __forceinline__ Sum SumBeforeLane(const Sum& up_to, int lane) {
  const Sum before = {__shfl_up_sync(kFullWarp, up_to.value, 1),
                      __shfl_up_sync(kFullWarp, up_to.begins, 1)};
  return lane == 0 ? Sum{0, 0} : before;
}

// Copies a row of `kBytes` between global and shared memory.
template <int kBytes>
__device__ __forceinline__ void CopyRow(const void* from, void* to) {
#pragma unroll
  for (int i = 0; i < kBytes / static_cast<int>(sizeof(uint4)); ++i) {
    static_cast<uint4*>(to)[i] = static_cast<const uint4*>(from)[i];
  }
}

__global__ __launch_bounds__(kResolveThreads) void ResolveKernel(
    const __grid_constant__ JpegBatch batch) {
  // At first [piece][walk of the piece before]: the walk of this piece that it becomes. Then
  // [piece][walk that enters the run]: the walk that enters the piece.
  alignas(16) __shared__ uint8_t links[kResolveThreads][kJpegWalks];
  alignas(16) __shared__ uint16_t sums[kResolveThreads][kJpegWalks];
  __shared__ JpegRunWalks runs[kJpegChunkRuns];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const JpegWork work(file.work, file.pieces);
  const int chunk = static_cast<int>(blockIdx.x);
  if (chunk * kJpegChunkPieces >= file.pieces) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  const int warp = thread / kWarpLanes;
  const int piece = chunk * kJpegChunkPieces + thread;
  const bool exists = piece < file.pieces;
  const uint32_t begin = exists ? BeginsOf(file)[piece] : 0;
  const uint32_t begin_of_next = exists ? BeginsOf(file)[piece + 1] : 0;
  BeginNextKernel();
  AwaitKernelBefore();
  if (exists) {
    const int64_t row = static_cast<int64_t>(piece) * kJpegWalks;
    CopyRow<kJpegWalks>(work.links + row, links[thread]);
    CopyRow<kJpegWalks * sizeof(uint16_t)>(work.sums + row, sums[thread]);
  }
  const uint32_t firsts = __ballot_sync(kFullWarp, IsFirst(begin));
  const uint32_t lasts = __ballot_sync(kFullWarp, IsFirst(begin_of_next));
  const int run_pieces = __popc(__ballot_sync(kFullWarp, exists));
  __syncwarp();  // for the rows of the run, which are this warp's
  int walk = lane;
  int blocks = 0;
  for (int i = 0; i < run_pieces; ++i) {
    const int row = warp * kJpegRunPieces + i;
    if ((firsts >> i & 1) != 0) walk = blocks = 0;
    if (walk != kJpegNoWalk && (lasts >> i & 1) == 0) blocks += sums[row][walk];
    const int behind = links[row][walk] & kJpegNoWalk;
    __syncwarp();  // until all have read the row
    links[row][lane] = static_cast<uint8_t>(walk);
    walk = behind;
  }
  JpegRunWalks* const run = &runs[warp];
  run->behind[lane] = static_cast<uint8_t>(walk);
  run->blocks[lane] = blocks;
  if (lane == 0) run->intervals = __popc(firsts);
  __syncwarp();  // for the run and its rows
  if (exists) {
    CopyRow<kJpegWalks>(links[thread], work.links + static_cast<int64_t>(piece) * kJpegWalks);
  }
  constexpr int kRecordWords = sizeof(JpegRunWalks) / sizeof(uint4);
  if (run_pieces > 0 && lane < kRecordWords) {
    reinterpret_cast<uint4*>(&work.runs[chunk * kJpegChunkRuns + warp])[lane] =
        reinterpret_cast<const uint4*>(run)[lane];
  }
  __syncthreads();  // for the runs
  if (warp == 0) {
    const int run_count =
        DivUp(min(file.pieces - chunk * kJpegChunkPieces, kJpegChunkPieces), kJpegRunPieces);
    JpegRunWalks* const whole = &work.chunks[chunk];
    Sum sum = {0, 0};
    walk = lane;
    for (int i = 0; i < run_count; ++i) {
      sum = Joined(sum, {runs[i].blocks[walk], runs[i].intervals});
      walk = runs[i].behind[walk];
    }
    whole->behind[lane] = static_cast<uint8_t>(walk);
    whole->blocks[lane] = sum.value;
    if (lane == 0) whole->intervals = sum.begins;
  }
}

__constant__ constexpr JpegZigzag kZigzag = kJpegZigzag;

// The tables that strict decoding needs: all but the runs, which skip values.
struct StrictTables {
  uint16_t short_codes[kJpegTables][kJpegShortCodes];
  JpegLongCodes long_codes[kJpegTables];
};
static_assert(offsetof(JpegCodeTables, runs) == sizeof(StrictTables));
struct WriteTables {
  StrictTables strict;
  uint8_t zigzag[kJpegBlockCoefficients];  // in columns of 8
};

// The coefficients of the blocks that the lanes of a warp are in, and what the warp needs before.
constexpr int kSlotBytes = 144;  // 128 and some more, so that slots begin in different banks
constexpr int kRunsAtOnce = 16;  // whose records a warp reads at a time
union WarpRoom {
  uint4 slots[kWarpLanes][kSlotBytes / sizeof(uint4)];
  struct {
    JpegRunWalks runs[kRunsAtOnce];
    uint4 links[kJpegRunPieces][kJpegWalks / sizeof(uint4)];
  } before;
};

// A lane writes the blocks that begin in its piece.
struct PieceToWrite {
  JpegPlace place;
  int block;        // number of the first one in the file
  int blocks_left;  // of the restart interval
  uint32_t end_bit;
};

// Finds where the true walk enters each piece of a run, a lane for each. False for a piece whose
// place is not known.
__device__ __forceinline__ bool EnterPieces(const JpegFileOnDevice& file, const JpegWork& work,
                                            int first_piece, WarpRoom* room, PieceToWrite* to) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int run = first_piece / kJpegRunPieces;
  const int chunk = run / kJpegChunkRuns;
  const int first_run = chunk * kJpegChunkRuns;
  const int piece = min(first_piece + lane, file.pieces - 1);
  const uint32_t* const begins = BeginsOf(file);
  const uint32_t begin = begins[piece];
  const uint32_t begin_of_next = begins[piece + 1];
  const bool is_first = IsFirst(begin);
  const int64_t row = static_cast<int64_t>(piece) * kJpegWalks;
  CopyRow<kJpegWalks>(work.links + row, room->before.links[lane]);
  // The true walk leads through all chunks before this one, then through the runs before this one.
  constexpr int kRecordWords = sizeof(JpegRunWalks) / sizeof(uint4);
  Sum sum = {0, 0};
  int walk = 0;
  const int records = chunk + run - first_run;
  for (int begun = 0; begun < records; begun += kRunsAtOnce) {
    const int count = min(kRunsAtOnce, records - begun);
    for (int i = lane; i < count * kRecordWords; i += kWarpLanes) {
      const int record = begun + i / kRecordWords;
      const JpegRunWalks* const from =
          record < chunk ? work.chunks + record : work.runs + first_run + record - chunk;
      reinterpret_cast<uint4*>(room->before.runs)[i] =
          reinterpret_cast<const uint4*>(from)[i % kRecordWords];
    }
    __syncwarp();  // for the records
    for (int i = 0; i < count; ++i) {
      const JpegRunWalks& passed = room->before.runs[i];
      sum = Joined(sum, {passed.blocks[walk], passed.intervals});
      walk = passed.behind[walk];
    }
    __syncwarp();  // until all have read them
  }
  const int entered = reinterpret_cast<const uint8_t*>(room->before.links[lane])[walk];
  const bool is_known = entered != kJpegNoWalk;
  Sum own = {0, is_first ? 1 : 0};
  if (is_known && !IsFirst(begin_of_next)) own.value = work.sums[row + entered];
  sum = Joined(sum, SumBeforeLane(SumUpToLane(own, lane), lane));
  to->place = {BitOf(begin), 0};
  if (!is_first && is_known) {
    to->place = PlaceOf(work.exits[row - kJpegWalks + entered], BitOf(begin));
  }
  const int interval_blocks = file.upload->interval_blocks;
  const int interval = sum.begins - (is_first ? 0 : 1);
  to->block = interval * interval_blocks + (is_first ? 0 : sum.value);
  to->blocks_left = min((interval + 1) * interval_blocks, file.upload->blocks) - to->block;
  to->end_bit = BitOf(begin_of_next);
  __syncwarp();  // until all have read what slots overwrite
  return is_known;
}

// Writes the coefficients of the lanes that have a whole block, to block `target` each, and clears
// their slots.
__device__ __forceinline__ void WriteSlots(uint32_t writers, int target, WarpRoom* room,
                                           int2 (&queue)[kWarpLanes], int16_t* coefficients,
                                           int32_t* dc_sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  if ((writers >> lane & 1) != 0) {
    queue[__popc(writers & ((1u << lane) - 1))] = {lane, target};
    const int dc_difference = *reinterpret_cast<const int16_t*>(room->slots[lane]);
    atomicAdd(&dc_sums[target / kJpegDcGroup], dc_difference);
  }
  __syncwarp();  // for the queue and the slots
  const int count = __popc(writers);
#pragma unroll 1
  for (int i = lane / kLanesOfSlot; i < count; i += kFullSlots) {
    const int2 writer = queue[i];
    const int part = lane % kLanesOfSlot;
    uint4* const slot = &room->slots[writer.x][part];
    reinterpret_cast<uint4*>(coefficients)[static_cast<int64_t>(writer.y) * kLanesOfSlot + part] =
        *slot;
    *slot = make_uint4(0, 0, 0, 0);
  }
  __syncwarp();  // for the cleared slots, and until all have read the queue
}

// The blocks of an MCU from one on, two bits each from the lowest on, below a bit that is set: its
// pair of tables, and whether it is luma.
__device__ __forceinline__ uint32_t WholeMcu(const JpegMcu& mcu) {
  uint32_t whole = 1u << (2 * mcu.blocks);
  for (uint32_t i = 0; i < mcu.blocks; ++i) {
    whole |= ((mcu.pairs >> i & 1u) | (i < mcu.luma_blocks ? 2u : 0u)) << (2 * i);
  }
  return whole;
}

// Decodes the blocks of a run of pieces and writes their coefficients. False in the lane whose data
// are damaged. All lanes of the warp take part; those with no blocks left have nothing to write.
__device__ bool WritePieces(const JpegFileOnDevice& file, const WriteTables& tables,
                            const PieceToWrite& piece, int piece_number, WarpRoom* room,
                            int2 (&queue)[kWarpLanes]) {
  constexpr uint32_t kWhole = kJpegBlockCoefficients;
  // A lane decodes, or its slot has the coefficients of block `target`, or it is done.
  constexpr uint32_t kDecodes = 0;
  constexpr uint32_t kIsFull = 1;
  constexpr uint32_t kIsDone = 2;
  const uint32_t whole_mcu = InRegister(WholeMcu(file.mcu));
  int32_t* const dc_sums = InRegister(JpegWork(file.work, file.pieces).dc_sums);
  auto* const slot =
      reinterpret_cast<int16_t*>(room->slots[static_cast<int>(threadIdx.x) % kWarpLanes]);
  const uint32_t end_bit = piece.end_bit;
  int blocks_left = piece.blocks_left;
  uint32_t rest_of_mcu = whole_mcu >> (2 * piece.place.block);
  // The number of the block of luma that is this one or comes next.
  int target = piece.block / file.mcu.blocks * file.mcu.luma_blocks +
               min(piece.place.block, static_cast<uint32_t>(file.mcu.luma_blocks));
  uint32_t coefficient = 0;
  uint32_t number = 2 * (rest_of_mcu & 1);
  bool bad = false;
  uint32_t state = blocks_left > 0 && piece.place.bit < end_bit ? kDecodes : kIsDone;
  JpegBits<WordsInGlobal> bits(WordsInGlobal{InRegister(WordsOf(file))}, piece.place.bit);
  while (true) {
#pragma unroll
    for (int i = 0; i < kSymbolsPerVote; ++i) {
      if (state != kDecodes) break;
      const uint32_t window = bits.Window();
      const JpegCode code = tables.strict.short_codes[number][window >> (32 - kJpegShortCodeBits)];
      uint32_t length = JpegCodeLength(code);
      uint32_t size = JpegCodeSize(code);
      coefficient += JpegCodeAdvance(code);
      // A block that is full needs no other look.
      if ((coefficient & kJpegPathDoubt) != 0 && coefficient != kWhole) {
        const JpegCode found =
            coefficient >= kJpegPathUnknown ? tables.strict.long_codes[number].At(window) : 0;
        coefficient += (found >> 8 & 255) - JpegCodeAdvance(code);
        bad = found == 0 || (coefficient > kWhole && coefficient < kJpegPathEnd);
        length = found >> 16;
        size = bad ? 0 : JpegCodeSize(found);
      }
      // From here on without branches.
      const bool is_luma = (rest_of_mcu & 2) != 0;
      const auto value = static_cast<int16_t>(JpegShortValue(window << length, size));
      const uint32_t place = tables.zigzag[(coefficient - 1) % kWhole];
      if (is_luma && size != 0) slot[place] = value;
      bits.Skip(length + size);
      const bool ended = coefficient >= kWhole;
      const uint32_t next_in_mcu = rest_of_mcu >> 2;
      coefficient = ended ? 0 : coefficient;
      blocks_left -= ended ? 1 : 0;
      rest_of_mcu = ended ? (next_in_mcu == 1 ? whole_mcu : next_in_mcu) : rest_of_mcu;
      number = 2 * (rest_of_mcu & 1) + (ended ? 0 : 1);
      const bool last = blocks_left == 0 || bits.bit() >= end_bit;
      state = (ended && is_luma ? kIsFull : 0) | (bad || (ended && last) ? kIsDone : 0);
    }
    const uint32_t full = __ballot_sync(kFullWarp, (state & kIsFull) != 0);
    const bool all_wait = __ballot_sync(kFullWarp, state == kDecodes) == 0;
    if (all_wait && full == 0) break;
    if (!all_wait && __popc(full) < kFullSlots) continue;
    WriteSlots(full, target, room, queue, file.coefficients, dc_sums);
    target += (state & kIsFull) != 0 ? 1 : 0;
    state &= ~kIsFull;
  }
  if (bad) return false;
  // An interval ends in its last piece, with less than a byte left.
  const uint32_t* next = BeginsOf(file) + piece_number + 1;
  if (blocks_left > 0) return !IsFirst(*next);
  while (!IsFirst(*next) && BitOf(*next) < bits.bit()) ++next;
  return IsFirst(*next) && bits.bit() <= BitOf(*next) && BitOf(*next) - bits.bit() < 8;
}

__global__ __launch_bounds__(kWriteThreads) void WriteKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ WriteTables tables;
  __shared__ WarpRoom rooms[kWriteThreads / kWarpLanes];
  __shared__ int2 queues[kWriteThreads / kWarpLanes][kWarpLanes];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const int first_of_block = static_cast<int>(blockIdx.x) * kWriteThreads;
  if (first_of_block >= file.pieces) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int piece = first_of_block + thread;
  if (thread < kJpegBlockCoefficients) {
    const int place = kZigzag.place[thread];
    tables.zigzag[thread] = static_cast<uint8_t>(place % 8 * 8 + place / 8);
  }
  LoadTables<kWriteThreads, sizeof(StrictTables)>(*file.upload, &tables.strict);
  AwaitKernelBefore();
  __syncthreads();  // for the tables
  if (first_of_block + warp * kWarpLanes >= file.pieces) return;
  WarpRoom* const room = &rooms[warp];
  PieceToWrite to_write;
  const bool is_known = EnterPieces(file, JpegWork(file.work, file.pieces),
                                    first_of_block + warp * kWarpLanes, room, &to_write);
  for (uint4& part : room->slots[thread % kWarpLanes]) part = make_uint4(0, 0, 0, 0);
  // No blocks are left beyond the last one: the piece in which that ended has seen that more data
  // follow.
  const bool exists = piece < file.pieces && is_known && to_write.blocks_left > 0;
  if (!exists) to_write.blocks_left = 0;
  const bool good =
      WritePieces(file, tables, to_write, min(piece, file.pieces - 1), room, queues[warp]);
  if (piece < file.pieces && (!is_known || (exists && !good))) *file.upload->undecided_there = 1;
}

// Eight numbers of 16 bits, in one load or store.
union Eight {
  uint4 all;
  int16_t number[8];
  uint16_t unsigned_number[8];
};

// This thread's share of the DC differences before block `first`, which begins a group, since the
// restart interval began.
__device__ __forceinline__ int DcShareBefore(const JpegFileOnDevice& file, int first,
                                             int interval) {
  const int begin = first - first % interval;
  const int first_group = DivUp(begin, kJpegDcGroup);
  const int thread = static_cast<int>(threadIdx.x);
  const int32_t* const dc_sums = JpegWork(file.work, file.pieces).dc_sums;
  int share = 0;
  for (int i = first_group + thread; i < first / kJpegDcGroup; i += kIdctThreads) {
    share += dc_sums[i];
  }
  // The interval may begin within a group.
  const int block = begin + thread;
  if (block < min(first_group * kJpegDcGroup, first)) {
    share += file.coefficients[static_cast<int64_t>(block) * kJpegBlockCoefficients];
  }
  return share;
}

__global__ __launch_bounds__(kIdctThreads) void IdctKernel(
    const __grid_constant__ JpegBatch batch) {
  // Numbers between the passes. A column more than there is, so that all lanes of a warp use
  // different banks.
  __shared__ int32_t numbers_of[kJpegDcGroup][8][9];
  __shared__ int32_t dcs[kJpegDcGroup];                         // differences, then values
  __shared__ int32_t shares_before[kIdctThreads / kWarpLanes];  // [warp]
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const JpegUpload& upload = *file.upload;
  const int block_here = static_cast<int>(threadIdx.x) / 8;
  const int line = static_cast<int>(threadIdx.x) % 8;  // a column, then a row
  const int first = static_cast<int>(blockIdx.x) * kJpegDcGroup;
  if (first >= upload.luma_blocks) return;
  const int block = first + block_here;
  const bool exists = block < upload.luma_blocks;
  const int interval = upload.interval_blocks / file.mcu.blocks * file.mcu.luma_blocks;
  const int mcus_across = upload.mcus_across;
  const int luma_across = upload.luma_across;
  const int luma_down = upload.luma_down;
  const int width_px = upload.width_px;
  const int height_px = upload.height_px;
  uint8_t* const image = upload.image;
  const int64_t pitch_bytes = upload.pitch_bytes;
  Eight quantisers;
  quantisers.all = reinterpret_cast<const uint4*>(upload.quantisers)[line];
  int32_t(&here)[8][9] = numbers_of[block_here];
  int32_t numbers[8];
  Eight coefficients = {};
  AwaitKernelBefore();
  if (exists) {
    coefficients.all = reinterpret_cast<const uint4*>(
        file.coefficients)[static_cast<int64_t>(block) * (kJpegBlockCoefficients / 8) + line];
  }
  if (line == 0) dcs[block_here] = coefficients.number[0];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int share = WarpSum(DcShareBefore(file, first, interval));
  if (lane == 0) shares_before[warp] = share;
  __syncthreads();  // for differences and shares
  if (warp == 0) {
    const int before = WarpSum(lane < kIdctThreads / kWarpLanes ? shares_before[lane] : 0);
    const Sum own = {dcs[lane], (first + lane) % interval == 0 ? 1 : 0};
    dcs[lane] = Joined({before, 0}, SumUpToLane(own, lane)).value;
  }
  __syncthreads();  // for the values
  if (exists) {
    bool decided = true;
    if (line == 0) {
      coefficients.number[0] = static_cast<int16_t>(dcs[block_here]);
      decided = coefficients.number[0] == dcs[block_here];
    }
#pragma unroll
    for (int y = 0; y < 8; ++y) {
      numbers[y] = int32_t{coefficients.number[y]} * quantisers.unsigned_number[y];
      decided = decided && numbers[y] <= kIdctMaxInput && numbers[y] >= -kIdctMaxInput;
    }
    IdctPass(numbers, 1, kIdctColumnShift);
#pragma unroll
    for (int y = 0; y < 8; ++y) {
      decided = decided && numbers[y] <= kIdctMaxInput && numbers[y] >= -kIdctMaxInput;
      here[y][line] = numbers[y];
    }
    if (!decided) *upload.undecided_there = 1;
  }
  __syncwarp();  // for the columns of the block, which are this warp's
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

int JpegNextPiecesFor(const JpegBatch& batch) {
  constexpr int64_t kBusyWarps = 2112;  // of an H100: 16 for each multiprocessor
  return static_cast<int>(
      Clamp<int64_t>(batch.all_pieces / kBusyWarps, kWarpLanes / batch.starts, kMostNextPieces));
}

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
  ORBSERVE_RETURN_IF_ERROR(
      LaunchNext(NextWalksKernel, "NextWalksKernel",
                 grid(batch.pieces, batch.next_pieces * kWalkThreads / kWarpLanes), kWalkThreads,
                 batch, stream));
  ORBSERVE_RETURN_IF_ERROR(LaunchNext(ResolveKernel, "ResolveKernel",
                                      grid(batch.pieces, kJpegChunkPieces), kResolveThreads, batch,
                                      stream));
  ORBSERVE_RETURN_IF_ERROR(LaunchNext(WriteKernel, "WriteKernel", grid(batch.pieces, kWriteThreads),
                                      kWriteThreads, batch, stream));
  return LaunchNext(IdctKernel, "IdctKernel", grid(batch.luma_blocks, kJpegDcGroup), kIdctThreads,
                    batch, stream);
}

}  // namespace orbserve::gpu
