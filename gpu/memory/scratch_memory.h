// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_MEMORY_SCRATCH_MEMORY_H_
#define ORBSERVE_GPU_MEMORY_SCRATCH_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// Device memory of the slow path: blocks for one frame, given back together. The blocks of a frame
// become one buffer for the next frame, so that a run of such frames soon allocates nothing. Not
// thread-safe.
class ScratchMemory {
 public:
  // `make_room` is called when memory ran out, before the second try. Lives as long as this.
  ScratchMemory(int device, std::shared_ptr<MemoryBudget> budget,
                absl::AnyInvocable<void()> make_room)
      : device_(device), budget_(std::move(budget)), make_room_(std::move(make_room)) {}

  // A block that lasts until Recycle(). RESOURCE_EXHAUSTED (OUT_OF_MEMORY).
  absl::StatusOr<uint8_t*> Take(size_t bytes);
  // The device must be done with all blocks. Keeps memory for a frame like the last one, up to a
  // limit.
  void Recycle();

 private:
  absl::StatusOr<DeviceBuffer> Allocate(size_t bytes);

  const int device_;
  const std::shared_ptr<MemoryBudget> budget_;
  absl::AnyInvocable<void()> make_room_;
  std::vector<DeviceBuffer> buffers_;  // the last one has room from `used_` on
  size_t used_ = 0;                    // bytes of the last buffer
  size_t wanted_ = 0;                  // bytes that the last frame took
  size_t taken_ = 0;                   // bytes that this frame has taken
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MEMORY_SCRATCH_MEMORY_H_
