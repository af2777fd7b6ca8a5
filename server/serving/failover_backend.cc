// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/failover_backend.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// Answers before stalls are judged: the first ones are slow, as code is loaded when it is first
// used.
constexpr int kFirstAnswers = 16;
// How many times the usual is a stall, and how much of what was usual remains usual at each answer:
// it is about the slowest of the latest hundred.
constexpr int kStallFactor = 4;
constexpr double kUsualDecay = 0.99;

bool IsLoss(const absl::Status& status) {
  return !status.ok() && ReasonOf(status) == ErrorReason::kDeviceLost;
}

absl::Status TooLate() {
  return MakeError(ErrorReason::kDeviceLost,
                   "a device of this server was lost and there was no time left to compute this on "
                   "the processor; the server starts anew");
}

// Holds `object` for the rest of the process' life, where checkers of leaks see that it is held.
void KeepForEver(std::shared_ptr<const void> object) {
  static absl::Mutex* const mutex = new absl::Mutex;
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  absl::MutexLock lock(mutex);
  kept->push_back(std::move(object));
}

// A plan of the primary and, from the first rescue on, of the fallback; made after the loss, of the
// fallback alone.
class FailoverPlan final : public FeaturePlan {
 public:
  FailoverPlan(std::shared_ptr<FeaturePlan> primary, std::shared_ptr<FeaturePlan> fallback,
               std::shared_ptr<const std::atomic<bool>> lost)
      : spec_(primary != nullptr ? primary->spec() : fallback->spec()),
        lost_(std::move(lost)),
        primary_(std::move(primary)),
        fallback_(std::move(fallback)) {}

  ~FailoverPlan() override {
    // Freeing it would wait for the device.
    if (primary_ != nullptr && lost_->load(std::memory_order_acquire)) {
      KeepForEver(std::move(primary_));
    }
  }

  const PlanSpec& spec() const override { return spec_; }
  int max_batch_frames() const override { return AnyPlan()->max_batch_frames(); }
  size_t size_bytes() const override { return AnyPlan()->size_bytes(); }

  const std::shared_ptr<FeaturePlan>& primary() const { return primary_; }

  // Made at the first call.
  absl::StatusOr<std::shared_ptr<FeaturePlan>> Fallback(FeatureBackend& backend)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (fallback_ == nullptr) {
      ORBSERVE_ASSIGN_OR_RETURN(fallback_, backend.MakePlan(spec_));
    }
    return fallback_;
  }

 private:
  std::shared_ptr<FeaturePlan> AnyPlan() const ABSL_LOCKS_EXCLUDED(mutex_) {
    if (primary_ != nullptr) return primary_;
    absl::MutexLock lock(&mutex_);
    return fallback_;
  }

  const PlanSpec spec_;
  const std::shared_ptr<const std::atomic<bool>> lost_;
  std::shared_ptr<FeaturePlan> primary_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<FeaturePlan> fallback_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

// Held by every callback, so that those of a primary that was leaked find it, and nothing to do in
// it, whenever they come.
//
// A batch is open from its submission to its answer and has one of two owners: the primary, or,
// after the loss, the rescue. Whoever takes it out of its table answers it.
class FailoverBackend::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::unique_ptr<FeatureBackend> primary, std::unique_ptr<FeatureBackend> fallback,
       Clock* clock, std::unique_ptr<Executor> executor, FailoverOptions options)
      : options_(std::move(options)),
        clock_(clock),
        primary_(primary.release()),
        fallback_(std::move(fallback)),
        executor_(std::move(executor)),
        alarm_(clock->MakeAlarm([this] { OnAlarm(); })) {
    const std::vector<DeviceDescription> devices = primary_->devices();
    if (devices.size() == 1) only_device_ = devices.front().device;
  }

  // Waits for what is open.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (lost()) {
      KeepForEver(std::shared_ptr<FeatureBackend>(primary_));
    } else {
      delete primary_;
    }
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Core::IsIdle));
      closed_ = true;
    }
    alarm_.reset();
    executor_.reset();
    fallback_.reset();
  }

  bool lost() const { return lost_->load(std::memory_order_acquire); }
  const FeatureBackend& primary() const { return *primary_; }

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!lost()) {
      {
        absl::MutexLock lock(&mutex_);
        WorkBegins();
        ++plans_in_making_;
      }
      auto plan = primary_->MakePlan(spec);
      {
        absl::MutexLock lock(&mutex_);
        WorkEnds();
        --plans_in_making_;
      }
      if (plan.ok()) return std::make_shared<FailoverPlan>(*std::move(plan), nullptr, lost_);
      if (!IsLoss(plan.status())) return plan.status();
      NoteLoss("", plan.status());
    }
    ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<FeaturePlan> plan, fallback_->MakePlan(spec));
    return std::make_shared<FailoverPlan>(nullptr, std::move(plan), lost_);
  }

  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) {
    if (!lost()) {
      auto slot = primary_->LeaseInput(width_px, height_px, with_mask);
      if (slot.ok() || !IsLoss(slot.status())) return slot;
      NoteLoss("", slot.status());
    }
    return fallback_->LeaseInput(width_px, height_px, with_mask);
  }

  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs, FrameBatchDone done)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto own = std::dynamic_pointer_cast<FailoverPlan>(std::move(plan));
    std::shared_ptr<FeaturePlan> primary_plan = own == nullptr ? nullptr : own->primary();
    auto batch = std::make_unique<FrameBatch>();
    batch->plan = own;
    batch->jobs = jobs;
    batch->done = std::move(done);
    // A plan of the fallback alone exists only after the loss.
    const auto [id, rescue] = Open(std::move(batch), &frames_);
    if (rescue) {
      Post([id = id](Core& core) { core.RescueFrames(id); });
      return;
    }
    primary_->Submit(std::move(primary_plan), std::move(jobs),
                     [self = shared_from_this(), id = id](FrameBatchAnswer answer) {
                       self->OnFrames(id, std::move(answer));
                     });
  }

  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) ABSL_LOCKS_EXCLUDED(mutex_) {
    auto batch = std::make_unique<MatchBatch>();
    batch->jobs = jobs;
    batch->done = std::move(done);
    const auto [id, rescue] = Open(std::move(batch), &matches_);
    if (rescue) {
      Post([id = id](Core& core) { core.RescueMatches(id); });
      return;
    }
    primary_->SubmitMatches(std::move(jobs),
                            [self = shared_from_this(), id = id](MatchBatchAnswer answer) {
                              self->OnMatches(id, std::move(answer));
                            });
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) {
    return (lost() ? *fallback_ : *primary_).ImportState(std::move(features));
  }

  // After a loss states of both backends are about.
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) {
    auto features = primary_->ExportState(state);
    return features.ok() || !lost() ? features : fallback_->ExportState(state);
  }

 private:
  struct FrameBatch {
    std::shared_ptr<FailoverPlan> plan;  // null: not one of this backend
    std::vector<FrameJob> jobs;
    FrameBatchDone done;
    FrameBatchAnswer answer;    // as far as it is known: empty, the primary's, the rescued one
    bool rescued = false;       // with the fallback
    bool rescue_begun = false;  // the fallback has answered a frame
    size_t missing = 0;         // frames that it has not answered yet
  };
  struct MatchBatch {
    std::vector<MatchJob> jobs;
    MatchBatchDone done;
    MatchBatchAnswer answer;
    bool rescued = false;
  };
  template <typename Batch>
  using Table = absl::flat_hash_map<uint64_t, std::unique_ptr<Batch>>;

  struct Opened {
    uint64_t id;
    bool rescue;  // the device is lost already
  };
  template <typename Batch>
  Opened Open(std::unique_ptr<Batch> batch, Table<Batch>* table) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const uint64_t id = ++last_id_;
    table->emplace(id, std::move(batch));
    if (lost()) return {id, true};
    WorkBegins();
    return {id, false};
  }
  template <typename Batch>
  static std::unique_ptr<Batch> Take(uint64_t id, Table<Batch>* table) {
    const auto entry = table->find(id);
    if (entry == table->end()) return nullptr;
    std::unique_ptr<Batch> batch = std::move(entry->second);
    table->erase(entry);
    return batch;
  }
  template <typename Batch>
  static void Answer(std::unique_ptr<Batch> batch) {
    auto done = std::move(batch->done);
    auto answer = std::move(batch->answer);
    batch.reset();  // the slots go back before the next frames ask for some
    std::move(done)(std::move(answer));
  }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return frames_.empty() && matches_.empty();
  }
  void Post(absl::AnyInvocable<void(Core&) &&> task) {
    executor_->Run("", [self = shared_from_this(), task = std::move(task)]() mutable {
      std::move(task)(*self);
    });
  }

  // The watch for silence, over everything that is with the primary.
  void WorkBegins() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (working_++ == 0) heard_at_ = clock_->Now();
    // Set once in a while and not once per batch: OnAlarm() looks how old the last answer is.
    if (!armed_ && !lost()) Arm(NextLook(heard_at_));
  }
  void WorkEnds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    --working_;
    if (closed_) return;
    const SteadyTime now = clock_->Now();
    // Plans are slow, and so is what waits for them; that is not usual.
    const bool is_batch = plans_in_making_ == 0;
    if (is_batch && answers_ < kFirstAnswers) {
      ++answers_;
    } else if (is_batch && !stalled_) {
      usual_ = std::max(now - heard_at_,
                        std::chrono::duration_cast<SteadyTime::duration>(usual_ * kUsualDecay));
    }
    heard_at_ = now;
    if (stalled_ && !lost()) Stall(false);
  }
  SteadyTime::duration StallLimit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::max<SteadyTime::duration>(options_.stall, kStallFactor * usual_);
  }
  // When to look again, with the last answer at `heard`.
  SteadyTime NextLook(SteadyTime heard) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stalled_) return heard + options_.silence;
    return heard + std::min<SteadyTime::duration>(StallLimit(), options_.silence);
  }
  void Stall(bool stalled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    stalled_ = stalled;
    Post([stalled](Core& core) {
      if (core.options_.on_stall && !core.lost()) core.options_.on_stall(stalled);
    });
  }
  void Arm(SteadyTime when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    armed_ = true;
    alarm_->Set(when);
  }

  void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      armed_ = false;
      const SteadyTime now = clock_->Now();
      if (lost()) {
        if (now >= give_up_at_) {
          Post([](Core& core) { core.GiveUp(); });
        } else {
          Arm(give_up_at_);
        }
        return;
      }
      if (working_ == 0) return;
      if (now < heard_at_ + options_.silence) {
        const bool may_judge = plans_in_making_ == 0 && answers_ == kFirstAnswers;
        if (!stalled_ && may_judge && now >= heard_at_ + StallLimit()) Stall(true);
        const SteadyTime next = NextLook(heard_at_);
        Arm(next > now ? next : std::min(now + StallLimit(), heard_at_ + options_.silence));
        return;
      }
    }
    NoteLoss("", MakeError(ErrorReason::kDeviceLost,
                           absl::StrCat("the device holds work and has answered nothing for ",
                                        options_.silence.count(), " ms")));
  }

  void NoteLoss(absl::string_view device, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (lost()) return;
      lost_->store(true, std::memory_order_release);
      give_up_at_ = clock_->Now() + options_.rescue_time;
      Arm(give_up_at_);
    }
    DeviceLoss loss{std::string(device.data(), device.size()), status};
    if (loss.device.empty()) loss.device = only_device_;
    Post([loss = std::move(loss)](Core& core) {
      if (core.options_.on_lost) core.options_.on_lost(loss);
      core.RescueAll();
    });
  }

  // Why the items of an answer say that the device is lost; OK when they do not.
  template <typename Items>
  static absl::Status LossIn(const Items& items) {
    for (const auto& item : items) {
      if (IsLoss(item.status)) return item.status;
    }
    return absl::OkStatus();
  }

  void OnFrames(uint64_t id, FrameBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Status loss = LossIn(answer.frames);
    const absl::string_view device = answer.cost.device;
    std::unique_ptr<FrameBatch> complete;
    {
      absl::MutexLock lock(&mutex_);
      WorkEnds();
      const auto entry = frames_.find(id);
      if (entry == frames_.end() || entry->second->rescued) return;
      entry->second->answer = std::move(answer);
      if (loss.ok()) complete = Take(id, &frames_);
    }
    if (complete != nullptr) {
      Answer(std::move(complete));
      return;
    }
    NoteLoss(device, loss);
    Post([id](Core& core) { core.RescueFrames(id); });
  }

  void OnMatches(uint64_t id, MatchBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Status loss = LossIn(answer.pairs);
    const absl::string_view device = answer.cost.device;
    std::unique_ptr<MatchBatch> complete;
    {
      absl::MutexLock lock(&mutex_);
      WorkEnds();
      const auto entry = matches_.find(id);
      if (entry == matches_.end() || entry->second->rescued) return;
      entry->second->answer = std::move(answer);
      if (loss.ok()) complete = Take(id, &matches_);
    }
    if (complete != nullptr) {
      Answer(std::move(complete));
      return;
    }
    NoteLoss(device, loss);
    Post([id](Core& core) { core.RescueMatches(id); });
  }

  // From here on by the executor.

  void RescueAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<uint64_t> frames;
    std::vector<uint64_t> matches;
    {
      absl::MutexLock lock(&mutex_);
      for (const auto& [id, batch] : frames_) frames.push_back(id);
      for (const auto& [id, batch] : matches_) matches.push_back(id);
    }
    // As they were submitted.
    std::sort(frames.begin(), frames.end());
    std::sort(matches.begin(), matches.end());
    for (const uint64_t id : matches) RescueMatches(id);
    for (const uint64_t id : frames) RescueFrames(id);
  }

  // Marks what the primary has not computed, and returns where it is.
  template <typename Items>
  static std::vector<size_t> MarkMissing(size_t count, Items* items) {
    std::vector<size_t> missing;
    const size_t answered = items->size();
    items->resize(count);
    for (size_t i = 0; i < count; ++i) {
      if (i < answered && !IsLoss((*items)[i].status)) continue;
      (*items)[i].status = TooLate();
      missing.push_back(i);
    }
    return missing;
  }

  template <typename Batch>
  void AnswerOpen(uint64_t id, Table<Batch>* table) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::unique_ptr<Batch> batch;
    {
      absl::MutexLock lock(&mutex_);
      batch = Take(id, table);
    }
    if (batch != nullptr) Answer(std::move(batch));
  }

  void RescueFrames(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<FailoverPlan> plan;
    std::vector<FrameJob> jobs;
    std::vector<size_t> missing;
    {
      absl::MutexLock lock(&mutex_);
      const auto entry = frames_.find(id);
      if (entry == frames_.end() || entry->second->rescued) return;
      FrameBatch& batch = *entry->second;
      batch.rescued = true;
      missing = MarkMissing(batch.jobs.size(), &batch.answer.frames);
      batch.missing = missing.size();
      if (!gave_up_) plan = batch.plan;
      jobs = batch.jobs;
    }
    std::shared_ptr<FeaturePlan> fallback_plan;
    if (plan != nullptr) {
      if (auto made = plan->Fallback(*fallback_); made.ok()) fallback_plan = *std::move(made);
    }
    if (fallback_plan == nullptr) {
      AnswerOpen(id, &frames_);
      return;
    }
    // One by one: a plan of the fallback may allow smaller batches than the primary's.
    for (const size_t index : missing) {
      std::vector<FrameJob> one;
      one.push_back(std::move(jobs[index]));
      fallback_->Submit(fallback_plan, std::move(one),
                        [self = shared_from_this(), id, index](FrameBatchAnswer answer) {
                          self->OnRescuedFrame(id, index, std::move(answer));
                        });
    }
  }

  void OnRescuedFrame(uint64_t id, size_t index, FrameBatchAnswer answer)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::unique_ptr<FrameBatch> complete;
    {
      absl::MutexLock lock(&mutex_);
      const auto entry = frames_.find(id);
      if (entry == frames_.end()) return;  // given up
      FrameBatch& batch = *entry->second;
      if (!answer.frames.empty()) batch.answer.frames[index] = std::move(answer.frames.front());
      Extend(answer.cost, &batch);
      if (--batch.missing == 0) complete = Take(id, &frames_);
    }
    if (complete != nullptr) Answer(std::move(complete));
  }

  // The batch's cost becomes that of its rescue.
  static void Extend(const BatchCost& cost, FrameBatch* batch) {
    BatchCost& all = batch->answer.cost;
    if (batch->rescue_begun) {
      all.busy_begin = std::min(all.busy_begin, cost.busy_begin);
      all.busy_end = std::max(all.busy_end, cost.busy_end);
      all.timings.compute_ns = std::chrono::nanoseconds(all.busy_end - all.busy_begin).count();
    } else {
      all = cost;
      batch->rescue_begun = true;
    }
  }

  void RescueMatches(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<MatchJob> jobs;
    std::vector<size_t> missing;
    bool give_up = false;
    {
      absl::MutexLock lock(&mutex_);
      const auto entry = matches_.find(id);
      if (entry == matches_.end() || entry->second->rescued) return;
      MatchBatch& batch = *entry->second;
      batch.rescued = true;
      missing = MarkMissing(batch.jobs.size(), &batch.answer.pairs);
      give_up = gave_up_;
      jobs = batch.jobs;
    }
    std::vector<MatchJob> movable;
    std::vector<size_t> places;
    for (const size_t index : missing) {
      MatchJob& job = jobs[index];
      if (give_up || !MoveToFallback(&job.query) || !MoveToFallback(&job.train)) continue;
      movable.push_back(std::move(job));
      places.push_back(index);
    }
    if (movable.empty()) {
      AnswerOpen(id, &matches_);
      return;
    }
    fallback_->SubmitMatches(
        std::move(movable),
        [self = shared_from_this(), id, places = std::move(places)](MatchBatchAnswer answer) {
          self->OnRescuedMatches(id, places, std::move(answer));
        });
  }

  // Makes a state matchable by the fallback; false when the primary cannot give it out.
  bool MoveToFallback(std::shared_ptr<const FrameState>* state) {
    if (*state == nullptr) return false;
    auto features = primary_->ExportState(**state);
    if (!features.ok()) return fallback_->ExportState(**state).ok();  // there already
    auto moved = fallback_->ImportState(*std::move(features));
    if (moved.ok()) *state = *std::move(moved);
    return moved.ok();
  }

  void OnRescuedMatches(uint64_t id, const std::vector<size_t>& places, MatchBatchAnswer answer)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::unique_ptr<MatchBatch> batch;
    {
      absl::MutexLock lock(&mutex_);
      batch = Take(id, &matches_);
    }
    if (batch == nullptr) return;  // given up
    for (size_t i = 0; i < std::min(places.size(), answer.pairs.size()); ++i) {
      batch->answer.pairs[places[i]] = std::move(answer.pairs[i]);
    }
    batch->answer.cost = answer.cost;
    Answer(std::move(batch));
  }

  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_) {
    Table<FrameBatch> frames;
    Table<MatchBatch> matches;
    {
      absl::MutexLock lock(&mutex_);
      gave_up_ = true;
      frames.swap(frames_);
      matches.swap(matches_);
    }
    for (auto& [id, batch] : frames) {
      if (!batch->rescued) MarkMissing(batch->jobs.size(), &batch->answer.frames);
      Answer(std::move(batch));
    }
    for (auto& [id, batch] : matches) {
      if (!batch->rescued) MarkMissing(batch->jobs.size(), &batch->answer.pairs);
      Answer(std::move(batch));
    }
  }

  const FailoverOptions options_;
  Clock* const clock_;
  FeatureBackend* const primary_;  // owned
  std::unique_ptr<FeatureBackend> fallback_;
  std::unique_ptr<Executor> executor_;
  std::string only_device_;  // of the primary; empty when there are several
  // Changed under the mutex; shared with the plans, which may outlive the backend.
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);

  mutable absl::Mutex mutex_;
  Table<FrameBatch> frames_ ABSL_GUARDED_BY(mutex_);
  Table<MatchBatch> matches_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int working_ ABSL_GUARDED_BY(mutex_) = 0;      // batches and plans that are with the primary
  SteadyTime heard_at_ ABSL_GUARDED_BY(mutex_);  // when it last gave one back, or got the first
  SteadyTime::duration usual_ ABSL_GUARDED_BY(mutex_){};  // longest wait for an answer lately
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;               // up to kFirstAnswers
  int plans_in_making_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyTime give_up_at_ ABSL_GUARDED_BY(mutex_) = kNever;
  bool gave_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the clock may be gone
  std::unique_ptr<Alarm> alarm_;                 // last: its callback uses everything above
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

absl::StatusOr<std::shared_ptr<FeaturePlan>> FailoverBackend::MakePlan(const PlanSpec& spec) {
  return core_->MakePlan(spec);
}

absl::StatusOr<std::shared_ptr<InputSlot>> FailoverBackend::LeaseInput(int width_px, int height_px,
                                                                       bool with_mask) {
  return core_->LeaseInput(width_px, height_px, with_mask);
}

void FailoverBackend::Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
                             FrameBatchDone done) {
  core_->Submit(std::move(plan), std::move(jobs), std::move(done));
}

void FailoverBackend::SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) {
  core_->SubmitMatches(std::move(jobs), std::move(done));
}

absl::StatusOr<std::shared_ptr<const FrameState>> FailoverBackend::ImportState(
    std::shared_ptr<const Features> features) {
  return core_->ImportState(std::move(features));
}

absl::StatusOr<std::shared_ptr<const Features>> FailoverBackend::ExportState(
    const FrameState& state) {
  return core_->ExportState(state);
}

}  // namespace orbserve
