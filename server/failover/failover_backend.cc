// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/failover_backend.h"

#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/errors.h"
#include "server/failover/device_watch.h"
#include "server/failover/rescue.h"

namespace orbserve {
namespace {

// Every callback of the primary holds the object: a leaked primary may call back after Close(), and
// then finds nothing left to do.
class FailoverBackend final : public FeatureBackend,
                              public std::enable_shared_from_this<FailoverBackend> {
 public:
  FailoverBackend(std::unique_ptr<FeatureBackend> primary, std::unique_ptr<FeatureBackend> fallback,
                  Clock* clock, std::unique_ptr<Executor> executor, FailoverOptions options)
      : options_(std::move(options)),
        clock_(clock),
        primary_(std::move(primary)),
        fallback_(std::move(fallback)),
        executor_(std::move(executor)),
        primary_memory_(primary_->memory()),
        rescue_(primary_.get(), fallback_.get()),
        watch_(clock, {.stall = options_.stall,
                       .silence = options_.silence,
                       .on_stall = [this](bool stalled) { OnStall(stalled); },
                       .on_silence = [this] { OnSilence(); },
                       .progress = [this] { return primary_->progress(); }}),
        end_of_rescue_(clock->MakeAlarm(
            [this] { Post([](FailoverBackend& self) { self.rescue_.GiveUp(); }); })) {}

  // Waits for the open batches.
  void Close() {
    rescue_.WaitUntilEmpty();
    watch_.Close();  // first, because it asks the primary for its progress
    if (lost()) {
      KeepUntilExit(std::move(primary_));
    } else {
      primary_.reset();
    }
    end_of_rescue_.reset();
    {
      std::unique_ptr<Executor> executor;  // its destructor runs the tasks that are left
      absl::MutexLock lock(&executor_mutex_);
      executor = std::move(executor_);
    }
    fallback_.reset();
  }

  absl::string_view name() const override { return primary_->name(); }
  std::vector<DeviceDescription> devices() const override { return primary_->devices(); }
  BackendState state() const override { return lost() ? BackendState::kLost : primary_->state(); }

  std::vector<MemoryUse> memory() const override ABSL_LOCKS_EXCLUDED(memory_mutex_) {
    std::vector<MemoryUse> memory;
    if (!lost()) memory = primary_->memory();
    {
      absl::MutexLock lock(&memory_mutex_);
      if (memory.empty()) {
        memory = primary_memory_;
      } else {
        primary_memory_ = memory;
      }
    }
    const std::vector<MemoryUse> fallback = fallback_->memory();
    memory.insert(memory.end(), fallback.begin(), fallback.end());
    return memory;
  }

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    if (!lost()) {
      watch_.Begin(DeviceWork::kPlan);
      auto plan = primary_->MakePlan(spec);
      watch_.End(DeviceWork::kPlan);
      if (plan.ok()) return std::make_shared<RescuablePlan>(*std::move(plan), nullptr, lost_);
      if (!IsDeviceLoss(plan.status())) return plan.status();
      NoteLoss("", plan.status());
    }
    ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<FeaturePlan> plan, fallback_->MakePlan(spec));
    return std::make_shared<RescuablePlan>(nullptr, std::move(plan), lost_);
  }

  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    if (!lost()) {
      auto slot = primary_->LeaseInput(width_px, height_px, with_mask);
      if (slot.ok() || !IsDeviceLoss(slot.status())) return slot;
      NoteLoss("", slot.status());
    }
    return fallback_->LeaseInput(width_px, height_px, with_mask);
  }

  void FreeIdle() override {
    if (!lost()) primary_->FreeIdle();
    fallback_->FreeIdle();
  }

  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    SubmitBatch<FrameRescue>(std::dynamic_pointer_cast<RescuablePlan>(std::move(plan)),
                             std::move(jobs), std::move(done));
  }
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    SubmitBatch<MatchRescue>({}, std::move(jobs), std::move(done));
  }
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    SubmitBatch<TrackRescue>({}, std::move(jobs), std::move(done));
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    return (lost() ? *fallback_ : *primary_).ImportState(std::move(features));
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    return (lost() ? *fallback_ : *primary_).RebuildPyramid(state);
  }
  // After a loss there are states of both backends.
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    auto features = primary_->ExportState(state);
    return features.ok() || !lost() ? features : fallback_->ExportState(state);
  }

 private:
  bool lost() const { return lost_->load(std::memory_order_acquire); }

  // `Kind`: FrameRescue and so on.
  template <typename Kind>
  void SubmitBatch(typename Kind::Common common, std::vector<typename Kind::Job> jobs,
                   typename Kind::Done done) {
    const Rescue::BatchPtr<Kind> batch = rescue_.Add<Kind>(common, jobs, std::move(done));
    bool has_begun = false;
    try {
      // Read when the batch is open: a loss from now on finds the batch.
      if (lost()) return PostRescue<Kind>(batch);
      watch_.Begin(DeviceWork::kBatch);
      has_begun = true;
      Kind::SubmitTo(*primary_, false, common, std::move(jobs),
                     [self = shared_from_this(), batch](typename Kind::Answer answer) {
                       self->OnAnswer<Kind>(batch, std::move(answer));
                     });
    } catch (const std::bad_alloc&) {
      if (has_begun) watch_.BatchRefused();
      // A loss may have found the batch in the meantime; then the rescue answers it.
      if (rescue_.Withdraw(*batch)) throw;
    }
  }

  template <typename Kind>
  void OnAnswer(const Rescue::BatchPtr<Kind>& batch, typename Kind::Answer answer) {
    watch_.End(DeviceWork::kBatch);
    const absl::string_view device = answer.cost.device;
    const absl::Status loss = rescue_.Done<Kind>(batch, std::move(answer));
    if (loss.ok()) return;
    NoteLoss(device, loss);
    PostRescue<Kind>(batch);
  }

  template <typename Kind>
  void PostRescue(const Rescue::BatchPtr<Kind>& batch) {
    Post([batch](FailoverBackend& self) { self.rescue_.RescueBatch<Kind>(batch); });
  }

  // Runs `task` on the executor. Does nothing after Close(): a leaked primary may still report a
  // loss then.
  void Post(absl::AnyInvocable<void(FailoverBackend&) &&> task)
      ABSL_LOCKS_EXCLUDED(executor_mutex_) {
    absl::MutexLock lock(&executor_mutex_);
    if (executor_ == nullptr) return;
    executor_->Run(ClientId{}, {}, [self = shared_from_this(), task = std::move(task)]() mutable {
      std::move(task)(*self);
    });
  }

  void OnStall(bool stalled) {
    Post([stalled](FailoverBackend& self) {
      if (self.options_.on_stall && !self.lost()) self.options_.on_stall(stalled);
    });
  }

  void OnSilence() {
    NoteLoss("", MakeError(ErrorReason::kDeviceLost,
                           absl::StrCat("the device holds work and has answered nothing for ",
                                        options_.silence.count(), " ms")));
  }

  void NoteLoss(absl::string_view device, const absl::Status& status) {
    if (lost_->exchange(true, std::memory_order_acq_rel)) return;
    watch_.Stop();
    end_of_rescue_->Set(clock_->Now() + options_.rescue_time);
    DeviceLoss loss{std::string(device), status};
    if (const auto devices = primary_->devices(); loss.device.empty() && devices.size() == 1) {
      loss.device = devices.front().device;
    }
    Post([loss = std::move(loss)](FailoverBackend& self) {
      if (self.options_.on_lost) self.options_.on_lost(loss);
      self.rescue_.RescueAll();
    });
  }

  const FailoverOptions options_;
  Clock* const clock_;
  std::unique_ptr<FeatureBackend> primary_;
  std::unique_ptr<FeatureBackend> fallback_;
  absl::Mutex executor_mutex_;
  std::unique_ptr<Executor> executor_ ABSL_GUARDED_BY(executor_mutex_);
  mutable absl::Mutex memory_mutex_;
  mutable std::vector<MemoryUse> primary_memory_ ABSL_GUARDED_BY(memory_mutex_);  // as last read
  // Shared with the plans, which may outlive the backend.
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
  Rescue rescue_;
  DeviceWatch watch_;
  std::unique_ptr<Alarm> end_of_rescue_;
};

}  // namespace

std::shared_ptr<FeatureBackend> MakeFailoverBackend(std::unique_ptr<FeatureBackend> primary,
                                                    std::unique_ptr<FeatureBackend> fallback,
                                                    Clock* clock,
                                                    std::unique_ptr<Executor> executor,
                                                    FailoverOptions options) {
  auto backend = std::make_shared<FailoverBackend>(std::move(primary), std::move(fallback), clock,
                                                   std::move(executor), std::move(options));
  FeatureBackend* const address = backend.get();
  return {address, [backend = std::move(backend)](FeatureBackend*) { backend->Close(); }};
}

}  // namespace orbserve
