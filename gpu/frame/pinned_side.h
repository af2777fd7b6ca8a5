// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_FRAME_PINNED_SIDE_H_
#define ORBSERVE_GPU_FRAME_PINNED_SIDE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "gpu/frame/frame_params.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// Pinned memory of one batch: parameters that go up, reports, records and descriptors that come
// down. A lane has two, for the batch on the device and for the one that is answered meanwhile. Not
// thread-safe.
class PinnedSide {
 public:
  // Room for `frames` frames that together have `row_bytes` of rows.
  absl::Status Create(int frames, size_t row_bytes, std::shared_ptr<MemoryBudget> budget);

  FrameParams* params() const { return params_; }
  FrameReport* reports() const { return reports_; }

  // Bytes of rows that a frame takes.
  static size_t RowBytes(int rows, size_t record_bytes, int descriptor_bytes, bool given);
  // Starts a batch whose frames have `bytes` of rows together. Grows to the next power of two and
  // never shrinks; RESOURCE_EXHAUSTED (OUT_OF_MEMORY) when it cannot. The last batch of this side
  // must be answered.
  absl::Status BeginBatch(size_t bytes);
  // Fills in where the rows of the next frame of the batch lie: records, descriptors, report and,
  // with `given`, the list of given keypoints, which is returned.
  GivenEntry* PlaceRows(int place, int rows, size_t record_bytes, int descriptor_bytes, bool given);

 private:
  std::shared_ptr<MemoryBudget> budget_;
  PinnedBuffer frames_;
  PinnedBuffer rows_;
  FrameParams* params_ = nullptr;
  FrameReport* reports_ = nullptr;
  size_t used_ = 0;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_PINNED_SIDE_H_
