// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_JPEG_JPEG_ROOM_H_
#define ORBSERVE_GPU_JPEG_JPEG_ROOM_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu/jpeg/jpeg_kernels.h"
#include "gpu/jpeg/jpeg_upload.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// One file and its image.
struct JpegDecoding {
  JpegUpload* upload = nullptr;  // pinned memory, by MakeJpegUpload()
  uint8_t* image = nullptr;      // device memory: the first pixel, at a multiple of 8
  int64_t pitch_bytes = 0;       // a multiple of 8, at least the width rounded up to one
};

// Memory of one device in which the files of one batch at a time are decoded. Not thread-safe.
class JpegRoom {
 public:
  // `may_overlap`: the kernels are compiled for compute capability 9.0 or later.
  JpegRoom(int device, std::shared_ptr<MemoryBudget> budget, bool may_overlap)
      : device_(device), may_overlap_(may_overlap), budget_(std::move(budget)) {}

  // Makes sure that there is room for these files. Nothing of the last batch may be on the device.
  // RESOURCE_EXHAUSTED (OUT_OF_MEMORY).
  absl::Status Prepare(absl::Span<const JpegDecoding> files, cudaStream_t stream);
  // Puts the copies of the files of Prepare(), at most kMaxFramesInBatch of them, on the stream.
  absl::Status Upload(absl::Span<const JpegDecoding> files, cudaStream_t stream);
  // Puts their launches on the stream. When they are done, `undecided` of each upload tells whether
  // its image is good. `kernels`: as for LaunchJpegDecoding().
  absl::Status Launch(cudaStream_t stream, int kernels = kJpegKernels) const {
    return LaunchJpegDecoding(batch_, stream, kernels);
  }

  // Walks that begin in a piece, for benchmarks and tests; 0 = JpegStartsFor().
  void SetStarts(int starts) { starts_ = starts; }

 private:
  // Makes a buffer as large as that, and zero, if it is smaller.
  absl::Status Ensure(DeviceBuffer* buffer, size_t bytes, cudaStream_t stream);

  const int device_;
  const bool may_overlap_;
  const std::shared_ptr<MemoryBudget> budget_;
  int starts_ = 0;
  JpegBatch batch_;
  DeviceBuffer work_;
  DeviceBuffer coefficients_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_JPEG_JPEG_ROOM_H_
