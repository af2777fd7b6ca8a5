// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_JPEG_JPEG_KERNELS_H_
#define ORBSERVE_GPU_JPEG_JPEG_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "features/host_device.h"
#include "gpu/graph_kind.h"
#include "gpu/jpeg/jpeg_upload.h"

namespace orbserve::gpu {

// Pieces of a run, whose walks one warp follows, and runs of a chunk, which one thread block does.
inline constexpr int kJpegRunPieces = 32;
inline constexpr int kJpegChunkRuns = 8;
inline constexpr int kJpegChunkPieces = kJpegRunPieces * kJpegChunkRuns;

// Blocks of luma in the order of the file whose DC differences have one sum.
inline constexpr int kJpegDcGroup = 32;

// Tells for each walk that enters a run or chunk where it leaves it.
struct alignas(16) JpegRunWalks {
  uint8_t behind[kJpegWalks];  // the walk that leaves
  int32_t blocks[kJpegWalks];  // that begin here, or in the last restart interval that begins here
  int32_t intervals;           // restart intervals that begin here
};
// Working memory of one file, which the kernels hand to each other.
struct JpegWork {
  JpegExit* exits;  // [piece][walk]
  uint16_t* sums;   // [piece][walk of the piece before]: blocks that begin in the piece
  // [piece][walk of the piece before]: the walk that it becomes. ResolveKernel leaves [piece][walk
  // that enters the run]: the walk that enters the piece.
  uint8_t* links;
  JpegRunWalks* runs;    // [run]
  JpegRunWalks* chunks;  // [chunk]
  int32_t* walks;        // [piece]: walks that began in it or have entered it
  int32_t* dc_sums;      // [group of luma blocks]: of their DC differences

  // `memory`: of Bytes(), aligned to 16 bytes.
  ORBSERVE_HOST_DEVICE JpegWork(uint8_t* memory, int pieces) {
    const auto count = static_cast<size_t>(pieces);
    const size_t run_count = DivUp<size_t>(count, kJpegRunPieces);
    const size_t chunk_count = DivUp<size_t>(count, kJpegChunkPieces);
    exits = reinterpret_cast<JpegExit*>(memory);
    sums = exits + count * kJpegWalks;
    links = reinterpret_cast<uint8_t*>(sums + count * kJpegWalks);
    runs = reinterpret_cast<JpegRunWalks*>(links + count * kJpegWalks);
    chunks = runs + run_count;
    walks = reinterpret_cast<int32_t*>(chunks + chunk_count);
    dc_sums = walks + count;
  }
  static size_t Bytes(int pieces, int luma_blocks) {
    const JpegWork from_zero(nullptr, pieces);
    return reinterpret_cast<size_t>(from_zero.dc_sums + DivUp(luma_blocks, kJpegDcGroup));
  }
};

struct JpegFileOnDevice {
  const JpegUpload* upload;
  uint8_t* work;          // of a JpegWork
  int16_t* coefficients;  // [block of luma][64], in columns; DC: the difference
  int32_t pieces;
  JpegMcu mcu;
  int32_t begins_offset;  // of the pieces, from `upload` on, in words of 32 bits
  int32_t words_offset;
  uint32_t word_count;
};

// Files that are decoded by one launch of each kernel.
struct JpegBatch {
  JpegFileOnDevice files[FramesOfClass(kBatchClasses - 1)];
  int count = 0;
  int starts = 0;       // first walks of a piece, at most
  int next_pieces = 0;  // pieces whose walks one warp goes on with
  int piece_bytes = 0;
  bool writes_single = false;  // WriteFewKernel
  // Each kernel loads what it can while the one before it ends; needs code for compute capability
  // 9.0.
  bool overlaps = false;
  // The largest of the files.
  int pieces = 0;
  int luma_blocks = 0;
  int64_t all_pieces = 0;  // of all files
};
static_assert(sizeof(JpegBatch) <= 4096);  // of arguments of a kernel

// The number of first walks that each piece should have. One for each block of the MCU makes the
// chain of walks short, which is best for few files. Two are less work, which is best for many
// files that keep the device busy.
int JpegStartsFor(const JpegBatch& batch);
// Many pieces for a warp leave fewer of its lanes idle, and fewer warps for the device.
int JpegNextPiecesFor(const JpegBatch& batch);

// Decodes all files to their images. A file that it cannot decode, or that is damaged, sets its
// `undecided`; its image is unspecified then. kJpegKernels launches; with fewer `kernels`, only the
// first of them, for benchmarks.
inline constexpr int kJpegKernels = 5;
absl::Status LaunchJpegDecoding(const JpegBatch& batch, cudaStream_t stream,
                                int kernels = kJpegKernels);

// These launches, in this order.
absl::Status LaunchJpegFirstWalks(const JpegBatch& batch, cudaStream_t stream);
absl::Status LaunchJpegNextWalks(const JpegBatch& batch, cudaStream_t stream);
absl::Status LaunchJpegResolving(const JpegBatch& batch, cudaStream_t stream);
absl::Status LaunchJpegWriting(const JpegBatch& batch, cudaStream_t stream);
absl::Status LaunchJpegIdct(const JpegBatch& batch, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_JPEG_JPEG_KERNELS_H_
