// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_FRAME_STATE_H_
#define ORBSERVE_GPU_FRAME_STATE_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "features/types.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// Device buffers of one size on one device that are used again. Thread-safe.
class DeviceBufferPool : public std::enable_shared_from_this<DeviceBufferPool> {
 public:
  DeviceBufferPool(int device, std::shared_ptr<MemoryBudget> budget)
      : device_(device), budget_(std::move(budget)) {}

  // Null when memory ran out.
  std::shared_ptr<DeviceBuffer> Lease(size_t bytes) {
    DeviceBuffer buffer;
    {
      absl::MutexLock lock(&mutex_);
      if (!idle_.empty() && idle_.back().size_bytes() == bytes) {
        buffer = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (buffer.data() == nullptr) {
      auto made = DeviceBuffer::Create(device_, bytes, budget_);
      if (!made.ok()) return nullptr;
      buffer = *std::move(made);
    }
    return std::shared_ptr<DeviceBuffer>(new DeviceBuffer(std::move(buffer)),
                                         [pool = shared_from_this()](DeviceBuffer* used) {
                                           absl::MutexLock lock(&pool->mutex_);
                                           pool->idle_.push_back(std::move(*used));
                                           delete used;
                                         });
  }

 private:
  const int device_;
  const std::shared_ptr<MemoryBudget> budget_;
  absl::Mutex mutex_;
  std::vector<DeviceBuffer> idle_ ABSL_GUARDED_BY(mutex_);
};

// Features on the host, and their descriptors on each device that has needed them so far.
class GpuFrameState final : public FrameState {
 public:
  GpuFrameState(std::shared_ptr<const Features> features, size_t devices)
      : features_(std::move(features)), on_device_(devices) {}

  size_t feature_count() const override { return features_->count(); }
  int descriptor_bytes() const override { return features_->descriptor_bytes; }
  size_t size_bytes() const override {
    constexpr size_t kRowBytes = 5 * sizeof(float) + sizeof(int32_t);
    return features_->count() * (kRowBytes + 2 * static_cast<size_t>(features_->descriptor_bytes));
  }

  const std::shared_ptr<const Features>& features() const { return features_; }

  // The descriptors' copy on device number `index` of the backend, or null.
  std::shared_ptr<const DeviceBuffer> OnDevice(size_t index) const {
    absl::MutexLock lock(&mutex_);
    return on_device_[index];
  }
  // The copy must be complete.
  void SetOnDevice(size_t index, std::shared_ptr<const DeviceBuffer> descriptors) const {
    absl::MutexLock lock(&mutex_);
    on_device_[index] = std::move(descriptors);
  }

 private:
  const std::shared_ptr<const Features> features_;
  mutable absl::Mutex mutex_;
  mutable std::vector<std::shared_ptr<const DeviceBuffer>> on_device_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_STATE_H_
