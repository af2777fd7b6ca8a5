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

// Working memory of one file, which the kernels hand to each other.
struct JpegWork {
  uint64_t* ends;      // [piece][walk]: JpegPlace::Key() at the end of the piece
  int32_t* sums;       // [piece][walk of the piece before]: blocks that end in the piece
  JpegEntry* entries;  // [piece]
  uint8_t* links;      // [piece][walk of the piece before]: the walk that it becomes
  int32_t* walks;      // [piece]: walks so far
  int16_t* dcs;        // [block of luma]: DC difference, then value

  // `memory`: of Bytes(), aligned to 16 bytes.
  ORBSERVE_HOST_DEVICE JpegWork(uint8_t* memory, int pieces) {
    const auto count = static_cast<size_t>(pieces);
    ends = reinterpret_cast<uint64_t*>(memory);
    sums = reinterpret_cast<int32_t*>(ends + count * kJpegWalks);
    entries = reinterpret_cast<JpegEntry*>(sums + count * kJpegWalks);
    links = reinterpret_cast<uint8_t*>(entries + count);
    walks = reinterpret_cast<int32_t*>(links + count * kJpegWalks);
    dcs = reinterpret_cast<int16_t*>(walks + RoundUp<size_t>(count, 4));
  }
  // With some more than all arrays have, as eight DC values are read at a time.
  static size_t Bytes(int pieces, int luma_blocks) {
    const JpegWork from_zero(nullptr, pieces);
    return reinterpret_cast<size_t>(from_zero.dcs + RoundUp(luma_blocks, 8));
  }
};

struct JpegFileOnDevice {
  const JpegUpload* upload;
  uint8_t* work;          // of a JpegWork
  int16_t* coefficients;  // [block of luma][64], zero before and after; DC values are elsewhere
  int32_t pieces;
  JpegMcu mcu;
  int32_t words_offset;
  uint32_t word_count;
};

// Files that are decoded by one launch of each kernel.
struct JpegBatch {
  JpegFileOnDevice files[FramesOfClass(kBatchClasses - 1)];
  int count = 0;
  int starts = 0;  // walks that begin in a piece, at most
  // Each kernel loads what it can while the one before it ends; needs code for compute capability
  // 9.0.
  bool overlaps = false;
  // The largest of the files.
  int pieces = 0;
  int luma_blocks = 0;
  int64_t all_pieces = 0;  // of all files
};
static_assert(sizeof(JpegBatch) <= 4096);  // of arguments of a kernel

// The number of walks that should begin in each piece. One for each block of the MCU makes the
// chain of walks short, which is best for few files. Two are less work, which is best for many
// files that keep the device busy.
int JpegStartsFor(const JpegBatch& batch);

// Decodes all files to their images. A file that it cannot decode, or that is damaged, sets its
// `undecided`; its image is unspecified then. Six launches.
absl::Status LaunchJpegDecoding(const JpegBatch& batch, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_JPEG_JPEG_KERNELS_H_
