// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/memory/input_pool.h"

#include <algorithm>
#include <iterator>
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
// Idle memory beyond this serves other sizes before more is pinned. A client whose frames have ever
// new sizes would otherwise pin a slab for each of them, up to the whole budget.
constexpr size_t kMaxIdleBytes = size_t{128} << 20;

// The thread of a lane decodes what the device does not decide: for 20 ms at most.
constexpr int64_t kMaxFilePixels = int64_t{1} << 21;

MutableImageView ViewAt(uint8_t* memory, int width_px, int height_px, int pitch_bytes) {
  return {memory + kImagePaddingBytes, width_px, height_px, pitch_bytes};
}

}  // namespace

SlotLayout SlotLayout::For(int width_px, int height_px) {
  const int pitch = RoundUp(width_px, kRowAlignmentBytes);
  return {pitch, 2 * static_cast<size_t>(kImagePaddingBytes) +
                     static_cast<size_t>(pitch) * static_cast<size_t>(height_px)};
}

bool PinnedSlot::TakeFile(absl::Span<const uint8_t> file,
                          const std::shared_ptr<const FileDecoder>& decoder) {
  if (!takes_files || int64_t{image.width_px} * image.height_px > kMaxFilePixels) return false;
  JpegUpload* const upload =
      MakeJpegUpload(file, image.width_px, image.height_px, absl::MakeSpan(memory, image_bytes));
  if (upload == nullptr) return false;
  absl::MutexLock lock(&mutex_);
  file_ = upload;
  decoder_ = decoder;
  return true;
}

absl::Status PinnedSlot::EnsurePixels() {
  absl::MutexLock lock(&mutex_);
  if (file_ == nullptr) return decoded_;
  const std::vector<uint8_t> file = RestoreJpeg(*file_);
  file_ = nullptr;
  decoded_ = (*decoder_)(file, image);
  decoder_.reset();
  return decoded_;
}

absl::StatusOr<std::shared_ptr<InputSlot>> InputPool::Lease(int width_px, int height_px,
                                                            bool with_mask) {
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(width_px, height_px));
  const SlotLayout layout = SlotLayout::For(width_px, height_px);
  auto slot = std::make_unique<PinnedSlot>();
  slot->image_bytes = layout.image_bytes;
  slot->takes_files = takes_files_;
  const size_t slot_bytes = with_mask ? 2 * layout.image_bytes : layout.image_bytes;
  ORBSERVE_RETURN_IF_ERROR(
      CheckInputBytes(width_px, height_px, with_mask, slot_bytes, budget_->limit_bytes()));
  Slab* slab = nullptr;
  uint8_t* memory = nullptr;
  const auto take = [&]() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    slab = FindFree(slot_bytes);
    if (slab == nullptr) return false;
    memory = slab->memory.data() + *slab->free.begin();
    slab->free.erase(slab->free.begin());
    slab->last_lease = ++leases_;
    return true;
  };
  if (!take()) {
    absl::MutexLock growing(&grow_mutex_);
    // Others take slots of the new slab too.
    while (!take()) ORBSERVE_RETURN_IF_ERROR(AddSlab(slot_bytes));
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

void InputPool::Slab::DivideInto(size_t slot_bytes) {
  slots = memory.size_bytes() / slot_bytes;
  free.clear();
  for (size_t i = 0; i < slots; ++i) free.insert(free.end(), i * slot_bytes);
}

InputPool::Slab* InputPool::FindFree(size_t slot_bytes) {
  const auto same = slabs_.find(slot_bytes);
  if (same == slabs_.end()) return nullptr;
  for (Slab& slab : same->second) {
    if (!slab.free.empty()) return &slab;
  }
  return nullptr;
}

absl::Status InputPool::AddSlab(size_t slot_bytes) {
  size_t wanted = kFirstSlabBytes;
  {
    absl::MutexLock lock(&mutex_);
    if (IdleBytes() > kMaxIdleBytes && ConvertIdleSlab(slot_bytes)) return absl::OkStatus();
    const auto same = slabs_.find(slot_bytes);
    if (same != slabs_.end()) {
      for (const Slab& slab : same->second) {
        wanted = std::max(wanted, 2 * slab.memory.size_bytes());
      }
    }
  }
  const size_t slots = std::max<size_t>(1, std::min(wanted, kLargestSlabBytes) / slot_bytes);
  // Slots are leased by threads that have had nothing to do with a device.
  ORBSERVE_RETURN_IF_ERROR(UseDevice(device_));
  auto memory = PinnedBuffer::Create(slots * slot_bytes, budget_);
  if (!memory.ok()) {
    Slabs idle;  // freed after the lock
    absl::MutexLock lock(&mutex_);
    if (ConvertIdleSlab(slot_bytes)) return absl::OkStatus();
    idle = TakeIdleSlabs(leases_);
  }
  if (!memory.ok()) memory = PinnedBuffer::Create(slots * slot_bytes, budget_);
  if (!memory.ok() && slots > 1) memory = PinnedBuffer::Create(slot_bytes, budget_);
  ORBSERVE_RETURN_IF_ERROR(memory.status());
  Slab slab;
  slab.memory = *std::move(memory);
  slab.DivideInto(slot_bytes);
  absl::MutexLock lock(&mutex_);
  slabs_[slot_bytes].push_back(std::move(slab));
  return absl::OkStatus();
}

bool InputPool::ConvertIdleSlab(size_t slot_bytes) {
  auto from = slabs_.end();
  Slabs::iterator oldest;
  for (auto same = slabs_.begin(); same != slabs_.end(); ++same) {
    for (auto slab = same->second.begin(); slab != same->second.end(); ++slab) {
      if (!slab->idle() || slab->memory.size_bytes() < slot_bytes) continue;
      if (from != slabs_.end() && slab->last_lease >= oldest->last_lease) continue;
      from = same;
      oldest = slab;
    }
  }
  if (from == slabs_.end()) return false;
  oldest->DivideInto(slot_bytes);
  Slabs& same = slabs_[slot_bytes];
  same.splice(same.end(), from->second, oldest);
  if (from->second.empty()) slabs_.erase(from);
  return true;
}

size_t InputPool::IdleBytes() const {
  size_t bytes = 0;
  for (const auto& [slot_bytes, slabs] : slabs_) {
    for (const Slab& slab : slabs) {
      if (slab.idle()) bytes += slab.memory.size_bytes();
    }
  }
  return bytes;
}

InputPool::Slabs InputPool::TakeIdleSlabs(uint64_t last_lease) {
  Slabs idle;
  for (auto same = slabs_.begin(); same != slabs_.end();) {
    for (auto next = same->second.begin(); next != same->second.end();) {
      const auto slab = next++;
      if (slab->idle() && slab->last_lease <= last_lease)
        idle.splice(idle.end(), same->second, slab);
    }
    same = same->second.empty() ? slabs_.erase(same) : std::next(same);
  }
  return idle;
}

void InputPool::FreeIdle() {
  absl::MutexLock growing(&grow_mutex_);
  Slabs idle;  // freed after the lock of the slots
  {
    absl::MutexLock lock(&mutex_);
    idle = TakeIdleSlabs(leases_before_);
    leases_before_ = leases_;
  }
  if (!idle.empty() && UseDevice(device_).ok()) idle.clear();
}

void InputPool::GiveBack(PinnedSlot* slot, Slab* slab) {
  {
    absl::MutexLock lock(&mutex_);
    slab->free.insert(static_cast<size_t>(slot->memory - slab->memory.data()));
  }
  delete slot;
}

}  // namespace orbserve::gpu
