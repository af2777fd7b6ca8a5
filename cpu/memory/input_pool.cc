// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/memory/input_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "features/input_limits.h"

namespace orbserve::cpu {
namespace {

// An idle slot this many times larger than needed is taken still.
constexpr size_t kLargestWaste = 2;

size_t InputPitch(int width_px) {
  return RoundUp(static_cast<size_t>(width_px), static_cast<size_t>(kRowAlignmentBytes));
}

// One row more than the image has: resampling reads below its last.
size_t ImageBytes(int width_px, int height_px) {
  return 2 * kImagePaddingBytes + InputPitch(width_px) * (static_cast<size_t>(height_px) + 1);
}

MutableImageView ViewAt(uint8_t* memory, int width_px, int height_px) {
  return {memory + kImagePaddingBytes, width_px, height_px,
          static_cast<ptrdiff_t>(InputPitch(width_px))};
}

}  // namespace

absl::StatusOr<std::shared_ptr<InputSlot>> InputPool::Lease(int width_px, int height_px,
                                                            bool with_mask) {
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(width_px, height_px));
  const size_t image_bytes = ImageBytes(width_px, height_px);
  const size_t bytes = with_mask ? 2 * image_bytes : image_bytes;
  ORBSERVE_RETURN_IF_ERROR(CheckInputBytes(width_px, height_px, with_mask, bytes, budget_bytes_));

  Slots taken;
  Slots released;  // freed outside the lock
  {
    absl::MutexLock lock(&mutex_);
    for (auto slot = idle_.rbegin(); slot != idle_.rend(); ++slot) {
      const size_t size = (*slot)->memory.size();
      if (size < bytes || size / kLargestWaste > bytes) continue;
      taken.splice(taken.begin(), idle_, std::prev(slot.base()));
      break;
    }
    if (taken.empty()) {
      held_bytes_ += static_cast<int64_t>(bytes);
      while (held_bytes_ > budget_bytes_ && !idle_.empty()) {
        held_bytes_ -= static_cast<int64_t>(idle_.front()->memory.size());
        released.splice(released.end(), idle_, idle_.begin());
      }
      if (held_bytes_ > budget_bytes_) {
        held_bytes_ -= static_cast<int64_t>(bytes);
        return MakeError(ErrorReason::kOutOfMemory,
                         absl::StrCat("input slots in use hold ", held_bytes_, " bytes; ", bytes,
                                      " more would pass the limit of ", budget_bytes_));
      }
    }
  }
  if (taken.empty()) {
    auto slot = std::make_unique<Slot>();
    if (!slot->memory.Allocate(bytes)) {
      absl::MutexLock lock(&mutex_);
      held_bytes_ -= static_cast<int64_t>(bytes);
      return MakeError(ErrorReason::kOutOfMemory,
                       absl::StrCat("no memory for an input of ", bytes, " bytes"));
    }
    taken.push_back(std::move(slot));
  }

  Slot* const slot = taken.front().release();
  slot->image = ViewAt(slot->memory.data(), width_px, height_px);
  slot->mask = with_mask ? ViewAt(slot->memory.data() + image_bytes, width_px, height_px)
                         : MutableImageView{};
  {
    absl::MutexLock lock(&mutex_);
    nodes_.splice(nodes_.end(), taken);
  }
  return std::shared_ptr<InputSlot>(
      slot, [pool = shared_from_this()](InputSlot* s) { pool->GiveBack(static_cast<Slot*>(s)); },
      BlockAllocator<Slot>(blocks_));
}

void InputPool::FreeIdle() {
  Slots freed;  // outside the lock
  absl::MutexLock lock(&mutex_);
  while (!idle_.empty() && idle_.front()->period < period_) {
    held_bytes_ -= static_cast<int64_t>(idle_.front()->memory.size());
    freed.splice(freed.end(), idle_, idle_.begin());
  }
  ++period_;
}

void InputPool::GiveBack(Slot* slot) {
  absl::MutexLock lock(&mutex_);
  slot->period = period_;
  nodes_.front().reset(slot);
  idle_.splice(idle_.end(), nodes_, nodes_.begin());
}

}  // namespace orbserve::cpu
