// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/memory/scratch_memory.h"

#include <algorithm>

#include "features/errors.h"
#include "features/host_device.h"
#include "gpu/memory/arena_layout.h"

namespace orbserve::gpu {
namespace {

// A lane keeps this much for its next frame on the slow path.
constexpr size_t kMaxKeptBytes = size_t{32} << 20;

}  // namespace

absl::StatusOr<DeviceBuffer> ScratchMemory::Allocate(size_t bytes) {
  auto buffer = DeviceBuffer::Create(device_, bytes, budget_);
  if (buffer.ok() || ReasonOf(buffer.status()) != ErrorReason::kOutOfMemory) return buffer;
  make_room_();
  return DeviceBuffer::Create(device_, bytes, budget_);
}

absl::StatusOr<uint8_t*> ScratchMemory::Take(size_t bytes) {
  bytes = RoundUp(std::max<size_t>(bytes, 1), kBufferAlignment);
  if (buffers_.empty() || buffers_.back().size_bytes() - used_ < bytes) {
    auto buffer = Allocate(std::max(bytes, buffers_.empty() ? wanted_ : size_t{0}));
    if (!buffer.ok() && bytes < wanted_) buffer = Allocate(bytes);
    ORBSERVE_RETURN_IF_ERROR(buffer.status());
    buffers_.push_back(*std::move(buffer));
    used_ = 0;
  }
  uint8_t* const block = buffers_.back().data() + used_;
  used_ += bytes;
  taken_ += bytes;
  return block;
}

void ScratchMemory::Recycle() {
  if (taken_ == 0) return;
  wanted_ = taken_ > kMaxKeptBytes ? 0 : taken_;
  if (buffers_.size() > 1 || wanted_ == 0) buffers_.clear();
  used_ = 0;
  taken_ = 0;
}

}  // namespace orbserve::gpu
