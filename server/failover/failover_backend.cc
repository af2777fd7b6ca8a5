// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/failover_backend.h"

#include <atomic>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "features/errors.h"
#include "server/failover/device_watch.h"
#include "server/failover/rescue.h"

namespace orbserve {

// The state behind a FailoverBackend. Every callback of the primary holds it: a leaked primary may
// call back after the backend is destroyed, and then finds nothing left to do.
class FailoverBackend::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::unique_ptr<FeatureBackend> primary, std::unique_ptr<FeatureBackend> fallback,
       Clock* clock, std::unique_ptr<Executor> executor, FailoverOptions options)
      : options_(std::move(options)),
        clock_(clock),
        primary_(primary.release()),
        fallback_(std::move(fallback)),
        executor_(std::move(executor)),
        rescue_(primary_, fallback_.get()),
        watch_(clock, {.stall = options_.stall,
                       .silence = options_.silence,
                       .on_stall = [this](bool stalled) { OnStall(stalled); },
                       .on_silence = [this] { OnSilence(); },
                       .progress = [this] { return primary_->progress(); }}),
        end_of_rescue_(
            clock->MakeAlarm([this] { Post([](Core& core) { core.rescue_.GiveUp(); }); })) {
    const std::vector<DeviceDescription> devices = primary_->devices();
    if (devices.size() == 1) only_device_ = devices.front().device;
    primary_memory_ = primary_->memory();
  }

  // Waits for the open batches.
  void Close() {
    rescue_.WaitUntilEmpty();
    watch_.Close();  // first, because it asks the primary for its progress
    if (lost()) {
      KeepUntilExit(std::shared_ptr<FeatureBackend>(primary_));
    } else {
      delete primary_;
    }
    end_of_rescue_.reset();
    std::unique_ptr<Executor>
        executor;  // its destructor runs the tasks that are left, after the lock
    {
      absl::MutexLock lock(&executor_mutex_);
      executor = std::move(executor_);
    }
    executor.reset();
    fallback_.reset();
  }

  bool lost() const { return lost_->load(std::memory_order_acquire); }
  const FeatureBackend& primary() const { return *primary_; }

  std::vector<MemoryUse> Memory() ABSL_LOCKS_EXCLUDED(memory_mutex_) {
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

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) {
    if (!lost()) {
      watch_.PlanBegins();
      auto plan = primary_->MakePlan(spec);
      watch_.PlanEnds();
      if (plan.ok()) return std::make_shared<RescuablePlan>(*std::move(plan), nullptr, lost_);
      if (!IsDeviceLoss(plan.status())) return plan.status();
      NoteLoss("", plan.status());
    }
    ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<FeaturePlan> plan, fallback_->MakePlan(spec));
    return std::make_shared<RescuablePlan>(nullptr, std::move(plan), lost_);
  }

  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) {
    if (!lost()) {
      auto slot = primary_->LeaseInput(width_px, height_px, with_mask);
      if (slot.ok() || !IsDeviceLoss(slot.status())) return slot;
      NoteLoss("", slot.status());
    }
    return fallback_->LeaseInput(width_px, height_px, with_mask);
  }

  void FreeIdle() {
    if (!lost()) primary_->FreeIdle();
    fallback_->FreeIdle();
  }

  // `Kind`: FrameRescue and so on.
  template <typename Kind>
  void Submit(typename Kind::Common common, std::vector<typename Kind::Job> jobs,
              typename Kind::Done done) {
    const uint64_t id = rescue_.Add<Kind>(common, jobs, std::move(done));
    try {
      Hand<Kind>(id, common, std::move(jobs));
    } catch (const std::bad_alloc&) {
      // A loss may have found the batch in the meantime; then the rescue answers it.
      if (rescue_.Withdraw<Kind>(id)) throw;
    }
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) {
    return (lost() ? *fallback_ : *primary_).ImportState(std::move(features));
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(const FrameState& state) {
    return (lost() ? *fallback_ : *primary_).RebuildPyramid(state);
  }

  // After a loss there are states of both backends.
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) {
    auto features = primary_->ExportState(state);
    return features.ok() || !lost() ? features : fallback_->ExportState(state);
  }

 private:
  // Gives an open batch to the primary, or to the rescue.
  template <typename Kind>
  void Hand(uint64_t id, const typename Kind::Common& common,
            std::vector<typename Kind::Job> jobs) {
    // Read when the batch is open: a loss from now on finds the batch.
    if (lost()) {
      Post([id](Core& core) { core.rescue_.RescueBatch<Kind>(id); });
      return;
    }
    watch_.BatchBegins();
    try {
      Kind::SubmitToPrimary(*primary_, common, std::move(jobs),
                            [self = shared_from_this(), id](typename Kind::Answer answer) {
                              self->OnAnswer<Kind>(id, std::move(answer));
                            });
    } catch (const std::bad_alloc&) {
      watch_.BatchRefused();
      throw;
    }
  }

  // Runs `task` on the executor. Does nothing after Close(): a leaked primary may still report a
  // loss then.
  void Post(absl::AnyInvocable<void(Core&) &&> task) ABSL_LOCKS_EXCLUDED(executor_mutex_) {
    absl::MutexLock lock(&executor_mutex_);
    if (executor_ == nullptr) return;
    executor_->Run(ClientId{}, {}, [self = shared_from_this(), task = std::move(task)]() mutable {
      std::move(task)(*self);
    });
  }

  void OnStall(bool stalled) {
    Post([stalled](Core& core) {
      if (core.options_.on_stall && !core.lost()) core.options_.on_stall(stalled);
    });
  }

  void OnSilence() {
    NoteLoss("", MakeError(ErrorReason::kDeviceLost,
                           absl::StrCat("the device holds work and has answered nothing for ",
                                        options_.silence.count(), " ms")));
  }

  template <typename Kind>
  void OnAnswer(uint64_t id, typename Kind::Answer answer) {
    watch_.BatchEnds();
    const absl::string_view device = answer.cost.device;
    const absl::Status loss = rescue_.Done<Kind>(id, std::move(answer));
    if (loss.ok()) return;
    NoteLoss(device, loss);
    Post([id](Core& core) { core.rescue_.RescueBatch<Kind>(id); });
  }

  void NoteLoss(absl::string_view device, const absl::Status& status) {
    if (lost_->exchange(true, std::memory_order_acq_rel)) return;
    watch_.Stop();
    end_of_rescue_->Set(clock_->Now() + options_.rescue_time);
    DeviceLoss loss{std::string(device.data(), device.size()), status};
    if (loss.device.empty()) loss.device = only_device_;
    Post([loss = std::move(loss)](Core& core) {
      if (core.options_.on_lost) core.options_.on_lost(loss);
      core.rescue_.RescueAll();
    });
  }

  const FailoverOptions options_;
  Clock* const clock_;
  FeatureBackend* const primary_;  // owned
  std::unique_ptr<FeatureBackend> fallback_;
  absl::Mutex executor_mutex_;
  std::unique_ptr<Executor> executor_ ABSL_GUARDED_BY(executor_mutex_);
  std::string only_device_;  // of the primary; empty when there are several
  absl::Mutex memory_mutex_;
  std::vector<MemoryUse> primary_memory_ ABSL_GUARDED_BY(memory_mutex_);  // as last read
  // Shared with the plans, which may outlive the backend.
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
  Rescue rescue_;
  DeviceWatch watch_;
  std::unique_ptr<Alarm> end_of_rescue_;
};

FailoverBackend::FailoverBackend(std::unique_ptr<FeatureBackend> primary,
                                 std::unique_ptr<FeatureBackend> fallback, Clock* clock,
                                 std::unique_ptr<Executor> executor, FailoverOptions options)
    : core_(std::make_shared<Core>(std::move(primary), std::move(fallback), clock,
                                   std::move(executor), std::move(options))) {}

FailoverBackend::~FailoverBackend() { core_->Close(); }

absl::string_view FailoverBackend::name() const { return core_->primary().name(); }

std::vector<DeviceDescription> FailoverBackend::devices() const {
  return core_->primary().devices();
}

BackendState FailoverBackend::state() const {
  return core_->lost() ? BackendState::kLost : core_->primary().state();
}

std::vector<MemoryUse> FailoverBackend::memory() const { return core_->Memory(); }

absl::StatusOr<std::shared_ptr<FeaturePlan>> FailoverBackend::MakePlan(const PlanSpec& spec) {
  return core_->MakePlan(spec);
}

absl::StatusOr<std::shared_ptr<InputSlot>> FailoverBackend::LeaseInput(int width_px, int height_px,
                                                                       bool with_mask) {
  return core_->LeaseInput(width_px, height_px, with_mask);
}

void FailoverBackend::Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
                             FrameBatchDone done) {
  core_->Submit<FrameRescue>(std::dynamic_pointer_cast<RescuablePlan>(std::move(plan)),
                             std::move(jobs), std::move(done));
}

void FailoverBackend::SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) {
  core_->Submit<MatchRescue>({}, std::move(jobs), std::move(done));
}

void FailoverBackend::SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) {
  core_->Submit<TrackRescue>({}, std::move(jobs), std::move(done));
}

absl::StatusOr<std::shared_ptr<const FrameState>> FailoverBackend::RebuildPyramid(
    const FrameState& state) {
  return core_->RebuildPyramid(state);
}

void FailoverBackend::FreeIdle() { core_->FreeIdle(); }

absl::StatusOr<std::shared_ptr<const FrameState>> FailoverBackend::ImportState(
    std::shared_ptr<const Features> features) {
  return core_->ImportState(std::move(features));
}

absl::StatusOr<std::shared_ptr<const Features>> FailoverBackend::ExportState(
    const FrameState& state) {
  return core_->ExportState(state);
}

}  // namespace orbserve
