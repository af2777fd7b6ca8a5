// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_FRAME_STATE_H_
#define ORBSERVE_CPU_FRAME_STATE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "cpu/memory/memory_count.h"
#include "features/backend.h"
#include "features/types.h"

namespace orbserve::cpu {

// On the CPU a state is the features themselves. It refers to them in one of two ways: it shares
// them (imported), or it lies beside them in the object that owns both (FrameResult), whose shared
// pointer it then knows weakly.
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
           features_->source_index.size() * sizeof(uint32_t);
  }

  const Features& features() const { return *features_; }
  std::shared_ptr<const Features> Export() const {
    if (shared_ != nullptr) return shared_;
    return std::shared_ptr<const Features>(owner_.lock(), features_);
  }

  void Refer(const Features* features, std::weak_ptr<const void> owner) {
    features_ = features;
    owner_ = std::move(owner);
  }
  // Drops the reference to the owner, whose control block would keep the pool alive in which this
  // state then lies.
  void Forget() { owner_.reset(); }

 private:
  std::shared_ptr<const Features> shared_;
  const Features* features_ = nullptr;
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

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_STATE_H_
