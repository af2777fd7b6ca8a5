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
#include "gpu/memory/buffer_pool.h"
#include "gpu/runtime/memory.h"
#include "gpu/steps/track_pyramid.h"

namespace orbserve::gpu {

// Parts of a state that a device can hold a copy of.
enum class StatePart {
  kDescriptors,  // rows of descriptor_bytes
  kPlaces,       // all x, then all y, float: level-0 pixels
  kPyramid,      // a TrackPyramid of `pyramid_levels()`
};

// Features on the host, and the parts of the frame that each device has needed so far. Places are
// needed by matches in a window only. A state for tracks also holds the frame's input slot, from
// which any device can make the pyramid.
class GpuFrameState final : public FrameState {
 public:
  GpuFrameState(std::shared_ptr<const Features> features, size_t devices)
      : GpuFrameState(std::move(features), devices, nullptr, 0) {}
  // For tracks.
  GpuFrameState(std::shared_ptr<const Features> features, size_t devices,
                std::shared_ptr<InputSlot> input, int pyramid_levels)
      : features_(std::move(features)),
        input_(std::move(input)),
        pyramid_levels_(pyramid_levels),
        devices_(devices),
        on_device_(devices) {}

  size_t feature_count() const override { return features_->count(); }
  int descriptor_bytes() const override { return features_->descriptor_bytes; }
  Descriptor descriptor_kind() const override { return features_->descriptor_kind(); }
  size_t size_bytes() const override {
    constexpr size_t kRowBytes = 5 * sizeof(float) + sizeof(int32_t);
    constexpr size_t kPlaceBytes = 2 * sizeof(float);  // on the device
    const size_t feature_bytes =
        features_->count() *
        (kRowBytes + kPlaceBytes + 2 * static_cast<size_t>(features_->descriptor_bytes));
    return feature_bytes + (pyramid_levels_ > 0 ? pyramid().bytes() : 0);
  }
  // Descriptors and places on every device.
  size_t copy_bytes() const override {
    const size_t rows = features_->count();
    if (rows == 0) return 0;
    return devices_ *
           (DeviceBufferPool::ClassBytes(rows * static_cast<size_t>(descriptor_bytes())) +
            DeviceBufferPool::ClassBytes(rows * 2 * sizeof(float)));
  }
  std::shared_ptr<InputSlot> input() const override { return input_; }
  int pyramid_levels() const override { return pyramid_levels_; }
  // Layout of the pyramid, of a state that has one.
  TrackPyramid pyramid() const {
    return TrackPyramid::For(input_->image.width_px, input_->image.height_px, pyramid_levels_);
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
    std::shared_ptr<const DeviceBuffer> pyramid;

    std::shared_ptr<const DeviceBuffer>& part(StatePart part) {
      switch (part) {
        case StatePart::kPlaces:
          return places;
        case StatePart::kPyramid:
          return pyramid;
        case StatePart::kDescriptors:
          break;
      }
      return descriptors;
    }
  };

  const std::shared_ptr<const Features> features_;
  const std::shared_ptr<InputSlot> input_;
  const int pyramid_levels_;
  const size_t devices_;
  mutable absl::Mutex mutex_;
  mutable std::vector<Copies> on_device_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_STATE_H_
