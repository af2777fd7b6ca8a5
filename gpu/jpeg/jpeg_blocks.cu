// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// WriteKernel (gpu/jpeg/jpeg_kernels.cc): the coefficients of blocks.

#include <cstddef>
#include <cstdint>

#include "features/algo/jpeg_zigzag.h"
#include "features/host_device.h"
#include "gpu/jpeg/jpeg_device.cuh"
#include "gpu/jpeg/jpeg_kernels.h"

namespace orbserve::gpu {
namespace {

// Small blocks: a VGA frame has some 1,000 pieces, which all processors share.
constexpr int kWriteThreads = 64;
// Symbols that a lane decodes before its warp looks which lanes have a whole block. A block is
// written by eight lanes, 16 bytes each, as soon as there are enough of them for a warp.
constexpr int kSymbolsPerVote = 2;
constexpr int kLanesOfSlot = 8;
constexpr int kFullSlots = kWarpLanes / kLanesOfSlot;

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

}  // namespace

absl::Status LaunchJpegWriting(const JpegBatch& batch, cudaStream_t stream) {
  return LaunchForFiles(WriteKernel, "WriteKernel", batch.pieces, kWriteThreads, kWriteThreads,
                        /*follows=*/true, batch, stream);
}

}  // namespace orbserve::gpu
