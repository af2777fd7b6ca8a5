// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/memory/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace orbserve::gpu {
namespace {

constexpr size_t kSmallestBytes = 4096;
constexpr int64_t kIdleShare = 40;
constexpr int64_t kLeastIdleBytes = int64_t{16} << 20;

}  // namespace

DeviceBufferPool::DeviceBufferPool(int device, std::shared_ptr<MemoryBudget> budget)
    : device_(device),
      budget_(std::move(budget)),
      max_idle_bytes_(
          static_cast<size_t>(std::max(budget_->limit_bytes() / kIdleShare, kLeastIdleBytes))) {}

size_t DeviceBufferPool::ClassBytes(size_t bytes) {
  return std::bit_ceil(std::max(bytes, kSmallestBytes));
}

std::shared_ptr<DeviceBuffer> DeviceBufferPool::Lease(size_t bytes) {
  const size_t class_bytes = ClassBytes(bytes);
  const auto index = static_cast<size_t>(std::countr_zero(class_bytes));
  auto buffer = std::make_unique<DeviceBuffer>();
  {
    absl::MutexLock lock(&mutex_);
    Class& same = classes_[index];
    if (!same.idle.empty()) {
      *buffer = std::move(same.idle.back());
      same.idle.pop_back();
      idle_bytes_ -= class_bytes;
    } else {
      ++same.made;
      same.idle.reserve(same.made);  // so that giving back never allocates
    }
  }
  if (buffer->data() == nullptr) {
    auto made = DeviceBuffer::Create(device_, class_bytes, budget_);
    if (!made.ok()) {
      // The lock waits until a thread that frees buffers is done.
      absl::MutexLock lock(&reclaim_mutex_);
      FreeIdleAlone();
      made = DeviceBuffer::Create(device_, class_bytes, budget_);
    }
    if (!made.ok()) {
      absl::MutexLock lock(&mutex_);
      --classes_[index].made;
      return nullptr;
    }
    *buffer = *std::move(made);
  }
  return {buffer.release(),
          [pool = shared_from_this(), index](DeviceBuffer* used) { pool->GiveBack(index, used); }};
}

void DeviceBufferPool::GiveBack(size_t index, DeviceBuffer* used) noexcept {
  const std::unique_ptr<DeviceBuffer> owned(used);  // freed after the lock
  absl::MutexLock lock(&mutex_);
  if (used->size_bytes() > max_idle_bytes_ - idle_bytes_) {
    --classes_[index].made;
    return;
  }
  idle_bytes_ += used->size_bytes();
  classes_[index].idle.push_back(std::move(*used));
}

void DeviceBufferPool::FreeIdle() {
  absl::MutexLock lock(&reclaim_mutex_);
  FreeIdleAlone();
}

void DeviceBufferPool::FreeIdleAlone() {
  std::vector<DeviceBuffer> freed;  // after the lock
  absl::MutexLock lock(&mutex_);
  for (Class& same : classes_) {
    same.made -= same.idle.size();
    for (DeviceBuffer& buffer : same.idle) {
      idle_bytes_ -= buffer.size_bytes();
      freed.push_back(std::move(buffer));
    }
    same.idle.clear();
  }
}

}  // namespace orbserve::gpu
