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

// Parts of a state that a device can hold a copy of.
enum class StatePart {
  kDescriptors,  // rows of descriptor_bytes
  kPlaces,       // all x, then all y, float: level-0 pixels
};

// Features on the host, and the parts of them that each device has needed so far. Places are needed
// by matches in a window only.
class GpuFrameState final : public FrameState {
 public:
  GpuFrameState(std::shared_ptr<const Features> features, size_t devices)
      : features_(std::move(features)), on_device_(devices) {}

  size_t feature_count() const override { return features_->count(); }
  int descriptor_bytes() const override { return features_->descriptor_bytes; }
  Descriptor descriptor_kind() const override { return features_->descriptor_kind(); }
  size_t size_bytes() const override {
    constexpr size_t kRowBytes = 5 * sizeof(float) + sizeof(int32_t);
    constexpr size_t kPlaceBytes = 2 * sizeof(float);  // on the device
    return features_->count() *
           (kRowBytes + kPlaceBytes + 2 * static_cast<size_t>(features_->descriptor_bytes));
  }

  const std::shared_ptr<const Features>& features() const { return features_; }

  // The copy of a part on device number `index` of the backend, or null.
  std::shared_ptr<const DeviceBuffer> OnDevice(size_t index,
                                               StatePart part = StatePart::kDescriptors) const {
    absl::MutexLock lock(&mutex_);
    return on_device_[index].part(part);
  }
  // The copy must be complete.
  void SetOnDevice(size_t index, std::shared_ptr<const DeviceBuffer> copy,
                   StatePart part = StatePart::kDescriptors) const {
    absl::MutexLock lock(&mutex_);
    on_device_[index].part(part) = std::move(copy);
  }

 private:
  struct Copies {
    std::shared_ptr<const DeviceBuffer> descriptors;
    std::shared_ptr<const DeviceBuffer> places;

    std::shared_ptr<const DeviceBuffer>& part(StatePart part) {
      return part == StatePart::kPlaces ? places : descriptors;
    }
  };

  const std::shared_ptr<const Features> features_;
  mutable absl::Mutex mutex_;
  mutable std::vector<Copies> on_device_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_STATE_H_
