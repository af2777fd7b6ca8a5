// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// WriteKernel and WriteFewKernel (gpu/jpeg/jpeg_kernels.cc): the coefficients of blocks.

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
struct WalksBefore {
  JpegRunWalks runs[kRunsAtOnce];
  uint4 links[kJpegRunPieces][kJpegWalks / sizeof(uint4)];
};
union WarpRoom {
  uint4 slots[kWarpLanes][kSlotBytes / sizeof(uint4)];
  WalksBefore before;
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
                                            int first_piece, WalksBefore* before,
                                            PieceToWrite* to) {
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
  CopyRow<kJpegWalks>(work.links + row, before->links[lane]);
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
      reinterpret_cast<uint4*>(before->runs)[i] =
          reinterpret_cast<const uint4*>(from)[i % kRecordWords];
    }
    __syncwarp();  // for the records
    for (int i = 0; i < count; ++i) {
      const JpegRunWalks& passed = before->runs[i];
      sum = Joined(sum, {passed.blocks[walk], passed.intervals});
      walk = passed.behind[walk];
    }
    __syncwarp();  // until all have read them
  }
  const int entered = reinterpret_cast<const uint8_t*>(before->links[lane])[walk];
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

// A symbol says this of its block.
struct JpegSymbol {
  int16_t value;
  uint32_t place;  // of the value
  bool has_value;  // of luma
  bool is_luma;
  bool is_dc;
  bool ends;  // the block
};

// Decodes the blocks of a piece, strictly, symbol by symbol.
class BlockReader {
 public:
  __device__ __forceinline__ BlockReader(const JpegFileOnDevice& file, const PieceToWrite& piece)
      : end_bit_(piece.end_bit),
        whole_mcu_(InRegister(WholeMcu(file.mcu))),
        rest_of_mcu_(whole_mcu_ >> (2 * piece.place.block)),
        number_(2 * (rest_of_mcu_ & 1)),
        blocks_left_(piece.blocks_left),
        is_done_(piece.blocks_left <= 0 || piece.place.bit >= piece.end_bit),
        bits_(WordsInGlobal{InRegister(WordsOf(file))}, piece.place.bit) {}

  __device__ __forceinline__ bool is_done() const { return is_done_; }
  // Not when it is done.
  __device__ __forceinline__ JpegSymbol Next(const WriteTables& tables) {
    constexpr uint32_t kWhole = kJpegBlockCoefficients;
    const uint32_t window = bits_.Window();
    const JpegCode code = tables.strict.short_codes[number_][window >> (32 - kJpegShortCodeBits)];
    uint32_t length = JpegCodeLength(code);
    uint32_t size = JpegCodeSize(code);
    coefficient_ += JpegCodeAdvance(code);
    // A block that is full needs no other look.
    if ((coefficient_ & kJpegPathDoubt) != 0 && coefficient_ != kWhole) {
      const JpegCode found =
          coefficient_ >= kJpegPathUnknown ? tables.strict.long_codes[number_].At(window) : 0;
      coefficient_ += (found >> 8 & 255) - JpegCodeAdvance(code);
      length = found >> 16;
      size = JpegCodeSize(found);
      if (found == 0 || (coefficient_ > kWhole && coefficient_ < kJpegPathEnd)) {
        coefficient_ = kWhole;
        blocks_left_ = 0;
      }
    }
    // From here on without branches.
    JpegSymbol symbol;
    symbol.is_dc = (number_ & 1) == 0;
    symbol.is_luma = (rest_of_mcu_ & 2) != 0;
    symbol.has_value = symbol.is_luma && size != 0;
    symbol.value = static_cast<int16_t>(JpegShortValue(window << length, size));
    symbol.place = tables.zigzag[(coefficient_ - 1) % kWhole];
    symbol.ends = coefficient_ >= kWhole;
    bits_.Skip(length + size);
    const uint32_t next_in_mcu = rest_of_mcu_ >> 2;
    coefficient_ = symbol.ends ? 0 : coefficient_;
    blocks_left_ -= symbol.ends ? 1 : 0;
    rest_of_mcu_ = symbol.ends ? (next_in_mcu == 1 ? whole_mcu_ : next_in_mcu) : rest_of_mcu_;
    number_ = 2 * (rest_of_mcu_ & 1) + (symbol.ends ? 0 : 1);
    const bool is_last = blocks_left_ <= 0 || bits_.bit() >= end_bit_;
    is_done_ = symbol.ends && is_last;
    return symbol;
  }
  // False if the data of the piece, which has this number, are damaged. When it is done.
  __device__ __forceinline__ bool IsGood(const JpegFileOnDevice& file, int piece_number) const {
    if (blocks_left_ < 0) return false;
    // An interval ends in its last piece, with less than a byte left.
    const uint32_t* next = BeginsOf(file) + piece_number + 1;
    if (blocks_left_ > 0) return !IsFirst(*next);
    while (!IsFirst(*next) && BitOf(*next) < bits_.bit()) ++next;
    return IsFirst(*next) && bits_.bit() <= BitOf(*next) && BitOf(*next) - bits_.bit() < 8;
  }

 private:
  const uint32_t end_bit_;
  const uint32_t whole_mcu_;
  uint32_t rest_of_mcu_;
  uint32_t number_;  // of the table
  uint32_t coefficient_ = 0;
  int blocks_left_;  // negative behind damage
  bool is_done_;
  JpegBits<WordsInGlobal> bits_;
};

// The number of the block of luma with which a piece begins, or which comes next.
__device__ __forceinline__ int FirstTarget(const JpegMcu& mcu, const PieceToWrite& piece) {
  return piece.block / mcu.blocks * mcu.luma_blocks +
         min(piece.place.block, static_cast<uint32_t>(mcu.luma_blocks));
}

// Decodes the blocks of a run of pieces and writes their coefficients. False in the lane whose data
// are damaged. All lanes of the warp take part; those with no blocks left have nothing to write.
__device__ bool WritePieces(const JpegFileOnDevice& file, const WriteTables& tables,
                            const PieceToWrite& piece, int piece_number, WarpRoom* room,
                            int2 (&queue)[kWarpLanes]) {
  // A lane decodes, or its slot has the coefficients of block `target`, or it is done.
  constexpr uint32_t kDecodes = 0;
  constexpr uint32_t kIsFull = 1;
  constexpr uint32_t kIsDone = 2;
  int32_t* const dc_sums = InRegister(JpegWork(file.work, file.pieces).dc_sums);
  auto* const slot =
      reinterpret_cast<int16_t*>(room->slots[static_cast<int>(threadIdx.x) % kWarpLanes]);
  int target = FirstTarget(file.mcu, piece);
  BlockReader reader(file, piece);
  uint32_t state = reader.is_done() ? kIsDone : kDecodes;
  while (true) {
#pragma unroll
    for (int i = 0; i < kSymbolsPerVote; ++i) {
      if (state != kDecodes) break;
      const JpegSymbol symbol = reader.Next(tables);
      if (symbol.has_value) slot[symbol.place] = symbol.value;
      state = (symbol.ends && symbol.is_luma ? kIsFull : 0) | (reader.is_done() ? kIsDone : 0);
    }
    const uint32_t full = __ballot_sync(kFullWarp, (state & kIsFull) != 0);
    const bool all_wait = __ballot_sync(kFullWarp, state == kDecodes) == 0;
    if (all_wait && full == 0) break;
    if (!all_wait && __popc(full) < kFullSlots) continue;
    WriteSlots(full, target, room, queue, file.coefficients, dc_sums);
    target += (state & kIsFull) != 0 ? 1 : 0;
    state &= ~kIsFull;
  }
  return reader.IsGood(file, piece_number);
}

// Copies what strict decoding needs to shared memory. __syncthreads() must come before its use.
template <int kThreads>
__device__ __forceinline__ void LoadWriteTables(const JpegFileOnDevice& file, WriteTables* tables) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kJpegBlockCoefficients) {
    const int place = kZigzag.place[thread];
    tables->zigzag[thread] = static_cast<uint8_t>(place % 8 * 8 + place / 8);
  }
  LoadTables<kThreads, sizeof(StrictTables)>(*file.upload, &tables->strict);
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
  LoadWriteTables<kWriteThreads>(file, &tables);
  AwaitKernelBefore();
  __syncthreads();  // for the tables
  if (first_of_block + warp * kWarpLanes >= file.pieces) return;
  WarpRoom* const room = &rooms[warp];
  PieceToWrite to_write;
  const bool is_known = EnterPieces(file, JpegWork(file.work, file.pieces),
                                    first_of_block + warp * kWarpLanes, &room->before, &to_write);
  for (uint4& part : room->slots[thread % kWarpLanes]) part = make_uint4(0, 0, 0, 0);
  // No blocks are left beyond the last one: the piece in which that ended has seen that more data
  // follow.
  const bool exists = piece < file.pieces && is_known && to_write.blocks_left > 0;
  if (!exists) to_write.blocks_left = 0;
  const bool good =
      WritePieces(file, tables, to_write, min(piece, file.pieces - 1), room, queues[warp]);
  if (piece < file.pieces && (!is_known || (exists && !good))) *file.upload->undecided_there = 1;
}

// For few files. A warp has a quarter of the pieces of a run, so that fewer lanes go in step, and
// they wait for nothing: single coefficients go out among zeros, which FirstWalksKernel wrote.
constexpr int kFewThreads = 128;
constexpr int kFewPieces = kJpegRunPieces / (kFewThreads / kWarpLanes);

// Stores a value if there is one. The compiler would make a branch of it, at whose end all lanes
// wait.
__device__ __forceinline__ void StoreIf(bool condition, int16_t* to, int16_t value) {
  asm volatile(
      "{\n"
      "  .reg .pred condition;\n"
      "  setp.ne.u32 condition, %0, 0;\n"
      "  @condition st.global.b16 [%1], %2;\n"
      "}" ::"r"(uint32_t{condition}),
      "l"(__cvta_generic_to_global(to)), "h"(value)
      : "memory");
}

// Decodes the blocks of a piece and writes their coefficients. False if the data are damaged.
__device__ __forceinline__ bool WritePiece(const JpegFileOnDevice& file, const WriteTables& tables,
                                           const PieceToWrite& piece, int piece_number) {
  int32_t* const dc_sums = InRegister(JpegWork(file.work, file.pieces).dc_sums);
  int16_t* const coefficients = InRegister(file.coefficients);
  // This counts coefficients up to the block of luma that is this one or comes next; a file has no
  // more than 2^31.
  uint32_t block = static_cast<uint32_t>(FirstTarget(file.mcu, piece)) * kJpegBlockCoefficients;
  BlockReader reader(file, piece);
  while (!reader.is_done()) {
    const JpegSymbol symbol = reader.Next(tables);
    StoreIf(symbol.has_value, &coefficients[block + symbol.place], symbol.value);
    if (symbol.has_value && symbol.is_dc) {
      atomicAdd(&dc_sums[block / (kJpegDcGroup * kJpegBlockCoefficients)], int{symbol.value});
    }
    block += symbol.ends && symbol.is_luma ? kJpegBlockCoefficients : 0;
  }
  return reader.IsGood(file, piece_number);
}

__global__ __launch_bounds__(kFewThreads) void WriteFewKernel(
    const __grid_constant__ JpegBatch batch) {
  BeginNextKernel();
  __shared__ WriteTables tables;
  __shared__ WalksBefore before[kFewThreads / kWarpLanes];
  const JpegFileOnDevice& file = batch.files[blockIdx.y];
  const int first_piece = static_cast<int>(blockIdx.x) * kJpegRunPieces;
  if (first_piece >= file.pieces) return;
  LoadWriteTables<kFewThreads>(file, &tables);
  AwaitKernelBefore();
  __syncthreads();  // for the tables
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int piece = first_piece + lane;
  PieceToWrite to_write;
  const bool is_known =
      EnterPieces(file, JpegWork(file.work, file.pieces), first_piece, &before[warp], &to_write);
  if (piece >= file.pieces || lane / kFewPieces != warp) return;
  // No blocks are left beyond the last one, as in WriteKernel.
  const bool good =
      is_known && (to_write.blocks_left <= 0 || WritePiece(file, tables, to_write, piece));
  if (!good) *file.upload->undecided_there = 1;
}

}  // namespace

absl::Status LaunchJpegWriting(const JpegBatch& batch, cudaStream_t stream) {
  if (batch.writes_single) {
    return LaunchForFiles(WriteFewKernel, "WriteFewKernel", batch.pieces, kJpegRunPieces,
                          kFewThreads, /*follows=*/true, batch, stream);
  }
  return LaunchForFiles(WriteKernel, "WriteKernel", batch.pieces, kWriteThreads, kWriteThreads,
                        /*follows=*/true, batch, stream);
}

}  // namespace orbserve::gpu
