// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FirstWalksKernel and NextWalksKernel (gpu/jpeg/jpeg_kernels.cc): the walks of each piece, and the
// links between them.

#include <algorithm>
#include <cstdint>

#include "features/host_device.h"
#include "gpu/jpeg/jpeg_device.cuh"
#include "gpu/jpeg/jpeg_kernels.h"

namespace orbserve::gpu {
namespace {

// Small blocks: a VGA frame has some 6,000 walks, which all processors share.
constexpr int kWalkThreads = 128;
// Words of data in shared memory: one piece for each thread, and some pieces behind them.
constexpr int kWalkWords = (kWalkThreads + 24) * kJpegPieceBytes / 4;
constexpr int kMostNextPieces = 64;  // whose walks one warp goes on with
// A walk gives up after so many bytes in which it has met no other walk. At quality 90 some need
// 1,500 if one walk begins in 64 bytes, and 300 if six do.
constexpr int kMaxNextBytes = 4096;
constexpr int kMostStarts = 10;  // blocks of an MCU

static_assert(kJpegWalks == kWarpLanes);  // a warp follows all walks of some pieces

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

// Words in shared memory as WalkJpeg() asks for them.
struct WordsInShared {
  const uint32_t* staged;
  uint32_t first;
  __device__ __forceinline__ uint32_t operator()(uint32_t word) const {
    return staged[StagedPlace(word - first)];
  }
};

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
  if (batch.writes_single) {
    // WriteFewKernel leaves zeros out.
    constexpr int kBlockParts = kJpegBlockCoefficients * sizeof(int16_t) / sizeof(uint4);
    auto* const to = reinterpret_cast<uint4*>(file.coefficients);
    const int parts = file.upload->luma_blocks * kBlockParts;
    const int all_threads = DivUp(file.pieces * starts, kWalkThreads) * kWalkThreads;
    for (int i = index; i < parts; i += all_threads) to[i] = make_uint4(0, 0, 0, 0);
  }
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

absl::Status LaunchJpegFirstWalks(const JpegBatch& batch, cudaStream_t stream) {
  return LaunchForFiles(FirstWalksKernel, "FirstWalksKernel", batch.pieces * batch.starts,
                        kWalkThreads, kWalkThreads, /*follows=*/false, batch, stream);
}
absl::Status LaunchJpegNextWalks(const JpegBatch& batch, cudaStream_t stream) {
  return LaunchForFiles(NextWalksKernel, "NextWalksKernel", batch.pieces,
                        batch.next_pieces * kWalkThreads / kWarpLanes, kWalkThreads,
                        /*follows=*/true, batch, stream);
}

}  // namespace orbserve::gpu
