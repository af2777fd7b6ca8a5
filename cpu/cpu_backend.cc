// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "cpu/frame/frame_state.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/matching/large_matches.h"
#include "cpu/matching/match_descriptors.h"
#include "cpu/memory/input_pool.h"
#include "cpu/memory/memory_count.h"
#include "cpu/plan.h"
#include "cpu/run/frame_run.h"
#include "cpu/run/large_frames.h"
#include "cpu/run/worker_limit.h"
#include "cpu/run/workspace_queue.h"
#include "cpu/tracking/follow_points.h"
#include "cpu/tracking/frame_pyramid.h"
#include "features/errors.h"
#include "features/input_limits.h"
#include "features/match_sides.h"
#include "features/pipeline/detection.h"
#include "features/recycling_pool.h"
#include "features/track_job.h"
#include "oneapi/tbb/info.h"
#include "oneapi/tbb/task_arena.h"

namespace orbserve::cpu {
namespace {

constexpr absl::string_view kDevice = "cpu";
constexpr int kMaxThreads = 1024;
// Matches with more distances than 2048 x 2048, some 3 ms of one thread, let other work go first.
constexpr uint64_t kLargeMatchPairs = uint64_t{1} << 22;

// The functions that a backend computes with.
struct Implementation {
  KernelTarget target;
  const MatchKernels* match;
  FollowKernel follow;
};

Implementation ImplementationOf(const KernelTarget& target, const MatchKernels* match) {
  return {target, match, FollowKernelFor(target)};
}

absl::StatusOr<Implementation> ChooseImplementation(const CpuBackendOptions& options) {
  if (options.reference) return ImplementationOf(ReferenceTarget(), &ReferenceMatchKernels());
  if (options.simd_target.empty()) return ImplementationOf(FastestTarget(), &SimdMatchKernels());
  const std::vector<KernelTarget> targets = SimdTargets();
  const std::vector<const MatchKernels*> matches = AllSimdMatchKernels();
  const auto named = [&options](const auto& one) { return one.name == options.simd_target; };
  const auto target = std::find_if(targets.begin(), targets.end(), named);
  const auto match = std::find_if(matches.begin(), matches.end(),
                                  [&named](const MatchKernels* one) { return named(*one); });
  if (target != targets.end() && match != matches.end()) return ImplementationOf(*target, *match);
  const std::string known = absl::StrJoin(
      targets, ", ",
      [](std::string* out, const KernelTarget& one) { absl::StrAppend(out, one.name); });
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("simd_target must be one that this processor has (", known,
                                "); got \"", options.simd_target, "\""));
}

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "processor of unknown name";
}

SteadyTime Now() { return std::chrono::steady_clock::now(); }

int64_t NanosecondsBetween(SteadyTime begin, SteadyTime end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

// Progress of a batch, shared by its items. The first to start says when the device began; the last
// to end gives the answer.
struct BatchProgress {
  explicit BatchProgress(size_t items) : remaining(items) {}

  std::atomic<bool> started = false;
  SteadyTime begin;
  std::atomic<size_t> remaining;
  std::atomic<int64_t> thread_ns = 0;  // time that threads spent on the items, if it is known

  void Start() {
    if (!started.exchange(true, std::memory_order_relaxed)) begin = Now();
  }
  // True for the last. Everything that the others wrote is visible then.
  bool End() { return remaining.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  BatchCost Cost(int threads) const {
    BatchCost cost;
    cost.device = kDevice;
    cost.busy_begin = begin;
    cost.busy_end = Now();
    cost.timings.compute_ns = NanosecondsBetween(cost.busy_begin, cost.busy_end);
    cost.work_ns = thread_ns.load(std::memory_order_relaxed) / threads;
    return cost;
  }
};

// A batch has its memory before it takes anything: where there is none, std::bad_alloc leaves the
// caller with what it had.
struct FrameBatch {
  explicit FrameBatch(size_t items) : workspaces(items), progress(items) {
    answer.frames.resize(items);
  }
  std::shared_ptr<FeaturePlan> plan;
  std::vector<FrameJob> jobs;
  std::vector<std::shared_ptr<Workspace>> workspaces;  // of frames that have waited for theirs
  FrameBatchDone done;
  FrameBatchAnswer answer;
  BatchProgress progress;
};

struct MatchBatch {
  explicit MatchBatch(size_t items) : progress(items) { answer.pairs.resize(items); }
  std::vector<MatchJob> jobs;
  MatchBatchDone done;
  MatchBatchAnswer answer;
  BatchProgress progress;
};

struct TrackBatch {
  explicit TrackBatch(size_t items) : progress(items) { answer.jobs.resize(items); }
  std::vector<TrackJob> jobs;
  TrackBatchDone done;
  TrackBatchAnswer answer;
  BatchProgress progress;
};

absl::Status NoMemoryForFrame() {
  return MakeError(ErrorReason::kOutOfMemory, "no memory left for this frame");
}

// Calls `work`, which returns a status, and turns what it throws into one: nothing leaves a task.
template <typename Work>
absl::Status Guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return NoMemoryForFrame();
  } catch (const std::exception& e) {
    return MakeError(ErrorReason::kInternal, absl::StrCat("CPU backend: ", e.what()));
  }
}

class CpuBackend final : public FeatureBackend {
 public:
  CpuBackend(const Implementation& implementation, bool reference, int threads,
             int64_t input_budget_bytes, int64_t workspace_budget_bytes)
      : implementation_(implementation),
        reference_(reference),
        threads_(threads),
        worker_limit_(threads),
        arena_(threads, /*reserved_for_masters=*/0),
        large_matches_(&arena_, threads),
        large_frames_(threads),
        inputs_(std::make_shared<InputPool>(input_budget_bytes)),
        results_(std::make_shared<RecyclingPool<FrameResult>>(kMaxIdleResultBytes)),
        plan_memory_(std::make_shared<MemoryCount>()),
        workspace_memory_(std::make_shared<MemoryCount>(plan_memory_, workspace_budget_bytes)),
        // The rest is for small frames beside the largest one.
        max_frame_bytes_(workspace_budget_bytes - workspace_budget_bytes / 16),
        state_memory_(std::make_shared<MemoryCount>()) {}

  ~CpuBackend() override {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int64_t* batches) { return *batches == 0; }, &batches_in_flight_));
  }

  absl::string_view name() const override { return reference_ ? "cpu-reference" : "cpu"; }

  std::vector<DeviceDescription> devices() const override {
    return {{std::string(kDevice), ProcessorName(),
             absl::StrCat(implementation_.target.name, ", ", threads_,
                          threads_ == 1 ? " thread" : " threads"),
             /*pci_bus_id=*/"", "no CUDA device computes"}};
  }

  BackendState state() const override { return BackendState::kOk; }

  std::vector<MemoryUse> memory() const override {
    const std::string device(kDevice);
    return {{"plans", device, plan_memory_->bytes()},
            {"states", device, state_memory_->bytes()},
            {"inputs", device, inputs_->held_bytes()}};
  }

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    try {
      const auto make = [&] {
        return CpuPlan::Create(spec, implementation_.target, threads_,
                               {plan_memory_, workspace_memory_, state_memory_, max_frame_bytes_});
      };
      absl::StatusOr<std::shared_ptr<CpuPlan>> made = make();
      if (!made.ok() && ReasonOf(made.status()) == ErrorReason::kOutOfMemory) {
        workspaces_.FreeSpare();
        made = make();
      }
      ORBSERVE_RETURN_IF_ERROR(made.status());
      std::shared_ptr<CpuPlan> plan = *std::move(made);
      workspaces_.Add(plan);
      return std::shared_ptr<FeaturePlan>(std::move(plan));
    } catch (const std::bad_alloc&) {
      return MakeError(ErrorReason::kOutOfMemory, "no memory for the tables of the plan");
    }
  }

  int64_t MaxFramePixels(int64_t most) const override {
    return MostFramePixels(most, max_frame_bytes_, [this](const PlanSpec& spec) {
      return CpuPlan::FrameBytesOf(spec, implementation_.target, threads_);
    });
  }

  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    try {
      return inputs_->Lease(width_px, height_px, with_mask);
    } catch (const std::bad_alloc&) {
      return MakeError(ErrorReason::kOutOfMemory, "no memory for an input slot");
    }
  }

  void FreeIdle() override {
    inputs_->FreeIdle();
    results_->FreeIdle();
    workspaces_.FreeIdle();
  }

  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    const size_t count = jobs.size();
    auto* const batch = new FrameBatch(count);
    // The batch may end, and its plan with it, before the last frame is submitted.
    const bool is_large = plan != nullptr && plan->is_large();
    batch->plan = std::move(plan);
    Begin(batch, std::move(jobs), std::move(done));
    for (size_t i = 0; i < count; ++i) {
      Start(batch, batch->answer.frames[i], [&] { EnqueueFrame(batch, i, is_large); });
    }
  }

  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    const size_t count = jobs.size();
    // Known before the first of them can end, and with it the batch.
    std::vector<bool> large(count);
    for (size_t i = 0; i < count; ++i) large[i] = IsLarge(jobs[i]);
    auto* const batch = new MatchBatch(count);
    Begin(batch, std::move(jobs), std::move(done));
    for (size_t i = 0; i < count; ++i) {
      Start(batch, batch->answer.pairs[i], [&] {
        if (large[i]) {
          large_matches_.Submit(
              [this, batch, i](MatchSlices& slices) { RunMatch(batch, i, slices); });
        } else {
          EnqueueUrgent([this, batch, i] {
            ArenaSlices slices;
            RunMatch(batch, i, slices);
          });
        }
      });
    }
  }

  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    const size_t count = jobs.size();
    auto* const batch = new TrackBatch(count);
    Begin(batch, std::move(jobs), std::move(done));
    for (size_t i = 0; i < count; ++i) {
      Start(batch, batch->answer.jobs[i],
            [&] { EnqueueUrgent([this, batch, i] { RunTrack(batch, i); }); });
    }
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    if (state.pyramid_levels() == 0 || state.input() == nullptr) {
      return MakeError(ErrorReason::kInternal, "RebuildPyramid was given a state without pyramid");
    }
    try {
      return RebuiltState(state);
    } catch (const std::bad_alloc&) {
      return MakeError(ErrorReason::kOutOfMemory, "no memory for the pyramid of a state");
    }
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    if (features == nullptr) {
      return MakeError(ErrorReason::kInternal, "ImportState was given no features");
    }
    return std::make_shared<const CpuFrameState>(std::move(features));
  }

  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    const auto* const own = dynamic_cast<const CpuFrameState*>(&state);
    if (own == nullptr) {
      return MakeError(ErrorReason::kInternal, "ExportState was given another backend's state");
    }
    return own->Export();
  }

 private:
  static bool IsLarge(const MatchJob& job) {
    return job.query != nullptr && job.train != nullptr && job.pair_count() > kLargeMatchPairs;
  }

  template <typename Batch, typename Job, typename Done>
  void Begin(Batch* batch, std::vector<Job> jobs, Done done) {
    batch->jobs = std::move(jobs);
    batch->done = std::move(done);
    BatchBegins();
    if (batch->jobs.empty()) arena_.enqueue([this, batch] { Finish(batch); });
  }

  // Calls `submit` for an item of the batch, which ends with OUT_OF_MEMORY if that throws. The last
  // item may end the batch.
  template <typename Batch, typename Answer, typename Submit>
  void Start(Batch* batch, Answer& answer, const Submit& submit) {
    try {
      submit();
    } catch (const std::bad_alloc&) {
      batch->progress.Start();
      answer.status = NoMemoryForFrame();
      if (batch->progress.End()) Finish(batch);
    }
  }

  // Large matches make way for it.
  template <typename Work>
  void EnqueueUrgent(Work work) {
    large_matches_.UrgentBegins();
    try {
      Enqueue(work);
    } catch (const std::bad_alloc&) {
      large_matches_.UrgentEnds(std::chrono::nanoseconds(0));
      throw;
    }
  }

  template <typename Work>
  void Enqueue(const Work& work) {
    arena_.enqueue([this, work] {
      const SteadyTime begin = Now();
      // The task may end the last batch, and with it nothing keeps the backend from ending: the
      // count of open batches holds until this is over.
      BatchBegins();
      work();
      large_matches_.UrgentEnds(Now() - begin);
      BatchEnds();
    });
  }

  // Computes a frame of the batch. Throws std::bad_alloc where there is no memory for that.
  void EnqueueFrame(FrameBatch* batch, size_t index, bool is_large) {
    if (is_large) {
      large_frames_.Submit([this, batch, index] { RunFrame(batch, index); });
    } else {
      EnqueueUrgent([this, batch, index] { RunFrame(batch, index); });
    }
  }

  // The frame has waited for its workspace.
  void ResumeFrame(FrameBatch* batch, size_t index, bool is_large,
                   WorkspaceQueue::WorkspaceOr workspace) {
    absl::Status status = workspace.status();
    if (status.ok()) {
      batch->workspaces[index] = *std::move(workspace);
      status = Guarded([&] {
        EnqueueFrame(batch, index, is_large);
        return absl::OkStatus();
      });
      if (status.ok()) return;
      batch->workspaces[index].reset();
      workspaces_.End();
    }
    batch->progress.Start();
    batch->answer.frames[index].status = status;
    if (batch->progress.End()) Finish(batch);
  }

  void RunFrame(FrameBatch* batch, size_t index) {
    const FrameJob& job = batch->jobs[index];
    FrameAnswer& answer = batch->answer.frames[index];
    std::shared_ptr<Workspace> workspace = std::move(batch->workspaces[index]);
    bool waits = false;
    absl::Status status = Guarded([&]() -> absl::Status {
      if (job.cancelled != nullptr && job.cancelled->load(std::memory_order_relaxed)) {
        return MakeError(ErrorReason::kCancelled, "cancelled before it was computed");
      }
      const auto* const plan = dynamic_cast<const CpuPlan*>(batch->plan.get());
      if (plan == nullptr || job.input == nullptr) {
        return MakeError(ErrorReason::kInternal,
                         "a batch without a plan of this backend or an input");
      }
      if (workspace == nullptr) {
        // Given keypoints are described whatever the mask is.
        const bool has_mask = !job.input->mask.empty() && job.given_keypoints == nullptr;
        ORBSERVE_ASSIGN_OR_RETURN(
            workspace,
            workspaces_.Ask(*plan, has_mask,
                            [this, batch, index, is_large = plan->is_large()](auto found) {
                              ResumeFrame(batch, index, is_large, std::move(found));
                            }));
        waits = workspace == nullptr;
        if (waits) return absl::OkStatus();
      }
      batch->progress.Start();
      return ComputeFrame(*plan, job, *workspace, &answer);
    });
    if (waits) return;  // the frame may have ended, and its batch with it
    if (workspace != nullptr) {
      workspace.reset();
      workspaces_.End();
    }
    batch->progress.Start();
    answer.status = std::move(status);
    int64_t thread_ns = 0;
    for (const StageTime& time : answer.stages.entries()) thread_ns += time.duration_ns;
    batch->progress.thread_ns.fetch_add(thread_ns, std::memory_order_relaxed);
    if (batch->progress.End()) Finish(batch);
  }

  absl::Status ComputeFrame(const CpuPlan& plan, const FrameJob& job, Workspace& workspace,
                            FrameAnswer* answer) {
    std::shared_ptr<KeptPyramid> kept;
    if (job.keep_state == KeepState::kPyramid && plan.spec().track_levels > 0) {
      kept = plan.LeasePyramid();
      if (kept == nullptr) {
        return MakeError(ErrorReason::kOutOfMemory, "no memory for the pyramid of a frame");
      }
      kept->pyramid.set_input(job.input);
    }
    std::shared_ptr<FrameResult> result =
        results_->Lease([this] { return std::make_unique<FrameResult>(state_memory_); });
    ORBSERVE_RETURN_IF_ERROR(
        FrameRun(plan, workspace, job, kept != nullptr ? &kept->pyramid : nullptr)
            .Run(&result->features, &answer->stages));
    result->CountBytes();
    answer->features = std::shared_ptr<const Features>(result, &result->features);
    if (kept != nullptr) {
      kept->state.Share(answer->features, &kept->pyramid);
      answer->state = std::shared_ptr<const FrameState>(kept, &kept->state);
    } else if (job.keep_state != KeepState::kNone) {
      result->state.Refer(&result->features, result);
      answer->state = std::shared_ptr<const FrameState>(result, &result->state);
    }
    return absl::OkStatus();
  }

  void RunMatch(MatchBatch* batch, size_t index, MatchSlices& slices) {
    batch->progress.Start();
    const MatchJob& job = batch->jobs[index];
    MatchAnswer& answer = batch->answer.pairs[index];
    answer.status = Guarded([&] { return ComputeMatch(job, slices, &answer.matches); });
    if (batch->progress.End()) Finish(batch);
  }

  absl::Status ComputeMatch(const MatchJob& job, MatchSlices& slices, Matches* matches) {
    ORBSERVE_RETURN_IF_ERROR(job.options.Validate());
    const auto* const query = dynamic_cast<const CpuFrameState*>(job.query.get());
    const auto* const train = dynamic_cast<const CpuFrameState*>(job.train.get());
    if (query == nullptr || train == nullptr) {
      return MakeError(ErrorReason::kInternal, "a match without two states of this backend");
    }
    ORBSERVE_RETURN_IF_ERROR(CheckMatchSides(*query, *train));
    std::optional<Matches> found =
        MatchDescriptors(*implementation_.match, query->features(), train->features(), job.options,
                         job.cancelled.get(), slices);
    if (!found.has_value()) {
      return MakeError(ErrorReason::kCancelled, "cancelled before it was matched");
    }
    *matches = *std::move(found);
    return absl::OkStatus();
  }

  void RunTrack(TrackBatch* batch, size_t index) {
    batch->progress.Start();
    const TrackJob& job = batch->jobs[index];
    TrackAnswer& answer = batch->answer.jobs[index];
    answer.status = Guarded([&] { return ComputeTracks(job, &answer.tracked); });
    if (!answer.status.ok()) answer.tracked = {};
    if (batch->progress.End()) Finish(batch);
  }

  absl::Status ComputeTracks(const TrackJob& job, TrackedPoints* tracked) {
    ORBSERVE_RETURN_IF_ERROR(CheckTrackJob(job));
    const auto* const from = dynamic_cast<const CpuFrameState*>(job.from.get());
    const auto* const to = dynamic_cast<const CpuFrameState*>(job.to.get());
    if (from == nullptr || to == nullptr) {
      return MakeError(ErrorReason::kInternal, "tracks without two states of this backend");
    }
    if (!FollowPoints(implementation_.follow, *from->pyramid(), *to->pyramid(), *job.points,
                      job.options, job.cancelled.get(), tracked)) {
      return MakeError(ErrorReason::kCancelled, "cancelled before its points were followed");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> RebuiltState(const FrameState& state) {
    const std::shared_ptr<InputSlot> input = state.input();
    ORBSERVE_RETURN_IF_ERROR(input->EnsurePixels());
    const std::vector<LevelGeometry> levels =
        TrackLevelsFor(input->image.width_px, input->image.height_px, state.pyramid_levels());
    auto kept = std::make_shared<KeptPyramid>(state_memory_);
    kept->pyramid.set_input(input);
    if (!kept->pyramid.Allocate(levels) || !kept->pyramid.Make(levels, implementation_.target)) {
      return MakeError(ErrorReason::kOutOfMemory, "no memory for the pyramid of a state");
    }
    kept->CountBytes();
    kept->state.Share(std::make_shared<const Features>(), &kept->pyramid);
    return std::shared_ptr<const FrameState>(kept, &kept->state);
  }

  // Gives the answer and frees everything that the batch holds before the backend may end.
  template <typename Batch>
  void Finish(Batch* batch) {
    if (batch->jobs.empty()) batch->progress.Start();
    batch->answer.cost = batch->progress.Cost(threads_);
    batch->answer.cost.backend = name();
    auto answer = std::move(batch->answer);
    auto done = std::move(batch->done);
    delete batch;
    std::move(done)(std::move(answer));
    BatchEnds();
  }

  void BatchBegins() {
    absl::MutexLock lock(&mutex_);
    ++batches_in_flight_;
  }
  void BatchEnds() {
    absl::MutexLock lock(&mutex_);
    --batches_in_flight_;
  }

  const Implementation implementation_;
  const bool reference_;
  const int threads_;
  const WorkerLimit worker_limit_;
  WorkspaceQueue workspaces_;
  tbb::task_arena arena_;
  LargeMatches large_matches_;
  LargeFrames large_frames_;
  const std::shared_ptr<InputPool> inputs_;
  const std::shared_ptr<RecyclingPool<FrameResult>> results_;
  const std::shared_ptr<MemoryCount> plan_memory_;       // of plans that live
  const std::shared_ptr<MemoryCount> workspace_memory_;  // of it, their workspaces
  const int64_t max_frame_bytes_;
  const std::shared_ptr<MemoryCount> state_memory_;  // of answers, held by callers or idle
  absl::Mutex mutex_;
  int64_t batches_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureBackend>> CreateCpuBackend(const CpuBackendOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("threads must be in [1, ", kMaxThreads,
                                  "], or 0 for one per processor; got ", options.threads));
  }
  if (options.input_budget_bytes < 0) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("input_budget_bytes must not be negative; got ", options.input_budget_bytes));
  }
  if (options.workspace_budget_bytes < 0) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("workspace_budget_bytes must not be negative; got ",
                                  options.workspace_budget_bytes));
  }
  ORBSERVE_ASSIGN_OR_RETURN(const Implementation implementation, ChooseImplementation(options));
  const int threads = options.threads > 0 ? options.threads : tbb::info::default_concurrency();
  const int64_t budget = InputBudgetBytes(options.input_budget_bytes);
  const int64_t workspace_budget = options.workspace_budget_bytes == 0
                                       ? std::numeric_limits<int64_t>::max()
                                       : options.workspace_budget_bytes;
  return std::make_unique<CpuBackend>(implementation, options.reference, threads, budget,
                                      workspace_budget);
}

}  // namespace orbserve::cpu
