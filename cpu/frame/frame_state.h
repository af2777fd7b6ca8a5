// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_FRAME_FRAME_STATE_H_
#define ORBSERVE_CPU_FRAME_FRAME_STATE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "cpu/memory/memory_count.h"
#include "cpu/tracking/frame_pyramid.h"
#include "features/backend.h"
#include "features/types.h"

namespace orbserve::cpu {

// On the CPU a state is the features themselves. It refers to them in one of two ways: it shares
// them (imported, or kept with a pyramid), or it lies beside them in the object that owns both
// (FrameResult), whose shared pointer it then knows weakly. A state with a pyramid lies beside the
// pyramid (KeptPyramid), so that features never keep a pyramid.
class CpuFrameState final : public FrameState {
 public:
  CpuFrameState() = default;
  explicit CpuFrameState(std::shared_ptr<const Features> features)
      : shared_(std::move(features)), features_(shared_.get()) {}

  size_t feature_count() const override { return features_->count(); }
  int descriptor_bytes() const override { return features_->descriptor_bytes; }
  Descriptor descriptor_kind() const override { return features_->descriptor_kind(); }
  size_t size_bytes() const override {
    constexpr size_t kRowBytes = 5 * sizeof(float) + sizeof(int32_t);
    return features_->count() * (kRowBytes + static_cast<size_t>(features_->descriptor_bytes)) +
           features_->source_index.size() * sizeof(uint32_t) +
           (pyramid_ != nullptr ? pyramid_->HeldBytes() : 0);
  }
  std::shared_ptr<InputSlot> input() const override {
    return pyramid_ != nullptr ? pyramid_->input() : nullptr;
  }
  int pyramid_levels() const override { return pyramid_ != nullptr ? pyramid_->levels() : 0; }

  const Features& features() const { return *features_; }
  const FramePyramid* pyramid() const { return pyramid_; }
  std::shared_ptr<const Features> Export() const {
    if (shared_ != nullptr) return shared_;
    return std::shared_ptr<const Features>(owner_.lock(), features_);
  }

  void Refer(const Features* features, std::weak_ptr<const void> owner) {
    features_ = features;
    owner_ = std::move(owner);
  }
  // `pyramid` must outlive the state.
  void Share(std::shared_ptr<const Features> features, const FramePyramid* pyramid) {
    shared_ = std::move(features);
    features_ = shared_.get();
    pyramid_ = pyramid;
  }
  // Drops the features, and the reference to the owner, whose control block would keep the pool
  // alive in which this state then lies.
  void Forget() {
    owner_.reset();
    shared_.reset();
  }

 private:
  std::shared_ptr<const Features> shared_;
  const Features* features_ = nullptr;
  const FramePyramid* pyramid_ = nullptr;
  std::weak_ptr<const void> owner_;
};

// The object that owns a frame's answer, used again for a later frame.
struct FrameResult {
  explicit FrameResult(std::shared_ptr<MemoryCount> count) : counted(std::move(count)) {}

  Features features;
  CpuFrameState state;
  CountedBytes counted;

  // Brings the count of memory up to date, after `features` have grown.
  void CountBytes() { counted.Set(HeldBytes()); }
  void OnGiveBack() { state.Forget(); }
  size_t HeldBytes() const { return features.HeldBytes(); }
};

// The object that owns the pyramid of a frame and the state that holds it. It is used again for a
// later frame of the same plan.
struct KeptPyramid {
  explicit KeptPyramid(std::shared_ptr<MemoryCount> count) : counted(std::move(count)) {}

  FramePyramid pyramid;
  CpuFrameState state;
  CountedBytes counted;

  void CountBytes() { counted.Set(HeldBytes()); }
  void OnGiveBack() {
    state.Forget();
    pyramid.set_input(nullptr);
  }
  size_t HeldBytes() const { return pyramid.HeldBytes(); }
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_FRAME_STATE_H_
