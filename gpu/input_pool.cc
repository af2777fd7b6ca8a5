// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/input_pool.h"

#include <algorithm>
#include <utility>

#include "features/errors.h"
#include "features/host_device.h"
#include "features/input_limits.h"
#include "gpu/runtime/device.h"

namespace orbserve::gpu {
namespace {

// Pinning memory costs about a millisecond per 4 MiB: slabs double from the first size on.
constexpr size_t kFirstSlabBytes = size_t{4} << 20;
constexpr size_t kLargestSlabBytes = size_t{64} << 20;

MutableImageView ViewAt(uint8_t* memory, int width_px, int height_px, int pitch_bytes) {
  return {memory + kImagePaddingBytes, width_px, height_px, pitch_bytes};
}

}  // namespace

SlotLayout SlotLayout::For(int width_px, int height_px) {
  const int pitch = RoundUp(width_px, kRowAlignmentBytes);
  return {pitch, 2 * static_cast<size_t>(kImagePaddingBytes) +
                     static_cast<size_t>(pitch) * static_cast<size_t>(height_px)};
}

absl::StatusOr<std::shared_ptr<InputSlot>> InputPool::Lease(int width_px, int height_px,
                                                            bool with_mask) {
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(width_px, height_px));
  const SlotLayout layout = SlotLayout::For(width_px, height_px);
  auto slot = std::make_unique<PinnedSlot>();
  slot->bytes = with_mask ? 2 * layout.image_bytes : layout.image_bytes;
  Slab* slab = nullptr;
  uint8_t* memory = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    absl::Status status;
    slab = FindOrAddSlab(slot->bytes, &status);
    if (slab == nullptr) return status;
    memory = slab->memory.data() + *slab->free.begin();
    slab->free.erase(slab->free.begin());
  }
  slot->memory = memory;
  slot->image = ViewAt(memory, width_px, height_px, layout.pitch_bytes);
  if (with_mask) {
    slot->mask = ViewAt(memory + layout.image_bytes, width_px, height_px, layout.pitch_bytes);
  }
  return std::shared_ptr<InputSlot>(slot.release(),
                                    [pool = shared_from_this(), slab](InputSlot* used) {
                                      pool->GiveBack(static_cast<PinnedSlot*>(used), slab);
                                    });
}

InputPool::Slab* InputPool::FindOrAddSlab(size_t slot_bytes, absl::Status* status) {
  Slabs& slabs = slabs_[slot_bytes];
  for (Slab& slab : slabs) {
    if (!slab.free.empty()) return &slab;
  }
  size_t wanted = kFirstSlabBytes;
  for (const Slab& slab : slabs) wanted = std::max(wanted, 2 * slab.memory.size_bytes());
  const size_t slots = std::max<size_t>(1, std::min(wanted, kLargestSlabBytes) / slot_bytes);
  // Slots are leased by threads that have had nothing to do with a device.
  *status = UseDevice(device_);
  if (!status->ok()) return nullptr;
  // First as wanted, then after idle slabs of other sizes went, then a single slot.
  auto memory = PinnedBuffer::Create(slots * slot_bytes, budget_);
  if (!memory.ok()) {
    FreeIdleSlabs();
    memory = PinnedBuffer::Create(slots * slot_bytes, budget_);
  }
  if (!memory.ok() && slots > 1) memory = PinnedBuffer::Create(slot_bytes, budget_);
  if (!memory.ok()) {
    *status = memory.status();
    return nullptr;
  }
  Slab slab;
  slab.slots = memory->size_bytes() / slot_bytes;
  slab.memory = *std::move(memory);
  for (size_t i = 0; i < slab.slots; ++i) slab.free.insert(slab.free.end(), i * slot_bytes);
  // FreeIdleSlabs() leaves the map's nodes alone, so `slabs` is still there.
  slabs.push_back(std::move(slab));
  return &slabs.back();
}

void InputPool::FreeIdleSlabs() {
  for (auto& [bytes, slabs] : slabs_) {
    slabs.remove_if([](const Slab& slab) { return slab.free.size() == slab.slots; });
  }
}

void InputPool::GiveBack(PinnedSlot* slot, Slab* slab) {
  {
    absl::MutexLock lock(&mutex_);
    slab->free.insert(static_cast<size_t>(slot->memory - slab->memory.data()));
  }
  delete slot;
}

}  // namespace orbserve::gpu
