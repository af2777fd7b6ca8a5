// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A backend that passes every call on to another one: base of those that change some of them.

#ifndef ORBSERVE_TESTS_SUPPORT_FORWARDING_BACKEND_H_
#define ORBSERVE_TESTS_SUPPORT_FORWARDING_BACKEND_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"

namespace orbserve::testing {

class ForwardingBackend : public FeatureBackend {
 public:
  explicit ForwardingBackend(std::unique_ptr<FeatureBackend> inner) : inner_(std::move(inner)) {}

  absl::string_view name() const override { return inner_->name(); }
  std::vector<DeviceDescription> devices() const override { return inner_->devices(); }
  BackendState state() const override { return inner_->state(); }
  uint64_t progress() const override { return inner_->progress(); }
  std::vector<MemoryUse> memory() const override { return inner_->memory(); }
  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    return inner_->MakePlan(spec);
  }
  int64_t MaxFramePixels(int64_t most) const override { return inner_->MaxFramePixels(most); }
  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    return inner_->LeaseInput(width_px, height_px, with_mask);
  }
  void FreeIdle() override { inner_->FreeIdle(); }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    inner_->Submit(std::move(plan), std::move(jobs), std::move(done));
  }
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    inner_->SubmitMatches(std::move(jobs), std::move(done));
  }
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    inner_->SubmitTracks(std::move(jobs), std::move(done));
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    return inner_->RebuildPyramid(state);
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    return inner_->ImportState(std::move(features));
  }
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    return inner_->ExportState(state);
  }

 protected:
  FeatureBackend& inner() { return *inner_; }
  // Waits for the answers of the other backend and ends it. The destructor of a class whose answers
  // use its members calls it.
  void DestroyInner() { inner_.reset(); }

 private:
  std::unique_ptr<FeatureBackend> inner_;
};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_FORWARDING_BACKEND_H_
