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

// Features on the host, and their descriptors on each device that has needed them so far.
class GpuFrameState final : public FrameState {
 public:
  GpuFrameState(std::shared_ptr<const Features> features, size_t devices)
      : features_(std::move(features)), on_device_(devices) {}

  size_t feature_count() const override { return features_->count(); }
  int descriptor_bytes() const override { return features_->descriptor_bytes; }
  Descriptor descriptor_kind() const override { return features_->descriptor_kind(); }
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
