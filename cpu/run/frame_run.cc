// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/frame_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "cpu/frame/given_points.h"
#include "cpu/steps/sift.h"
#include "features/errors.h"
#include "features/given_keypoints.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/lapping.h"
#include "features/this_thread.h"
#include "oneapi/tbb/blocked_range.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"

namespace orbserve::cpu {
namespace {

// Gather() where the lapping area moves rows.
void GatherLapping(const FrameContext& frame, int levels, Features* features) {
  const auto bytes = static_cast<size_t>(frame.pipeline.descriptor_bytes);
  LappingRows rows(frame.job.parameters, features->count());
  for (int l = 0; l < levels; ++l) {
    const LevelGeometry& level = frame.pipeline.level(l);
    const absl::Span<const LevelPoint> points = frame.level(l).points;
    for (size_t i = 0; i < points.size(); ++i) {
      const float x = static_cast<float>(points[i].x) * level.scale;
      const size_t row = rows.Next(x);
      features->x[row] = x;
      features->y[row] = static_cast<float>(points[i].y) * level.scale;
      features->angle_deg[row] = points[i].angle_deg;
      features->response[row] = points[i].response;
      features->size[row] = level.patch_size_px;
      features->octave[row] = l;
      std::memcpy(features->descriptors.data() + row * bytes,
                  frame.level(l).descriptors + i * bytes, bytes);
    }
  }
}

// The levels in order make the answer, cut at its limit.
void Gather(const FrameContext& frame, int levels, Features* features) {
  const auto limit = static_cast<size_t>(frame.cuts.answer_limit());
  const auto bytes = static_cast<size_t>(frame.pipeline.descriptor_bytes);
  size_t survivors = 0;
  size_t ranked = 0;
  for (int l = 0; l < levels; ++l) {
    survivors += static_cast<size_t>(frame.level(l).survivors);
    ranked += static_cast<size_t>(frame.level(l).ranked);
    features->suppression_passes =
        std::max(features->suppression_passes, frame.level(l).suppression_passes);
  }
  features->truncated =
      frame.cuts.Truncates(static_cast<int64_t>(survivors), static_cast<int64_t>(ranked));
  features->Resize(std::min(ranked, limit));
  // ORB_SLAM3 refuses frames whose answer could pass its limit.
  if (HasZones(frame.pipeline.spec.pipeline) && frame.job.parameters.has_lapping_area()) {
    return GatherLapping(frame, levels, features);
  }
  size_t row = 0;
  for (int l = 0; l < levels && row < features->count(); ++l) {
    const LevelGeometry& level = frame.pipeline.level(l);
    const absl::Span<const LevelPoint> points = frame.level(l).points;
    const size_t count = std::min(points.size(), features->count() - row);
    float* const x = features->x.data() + row;
    float* const y = features->y.data() + row;
    float* const angle_deg = features->angle_deg.data() + row;
    float* const response = features->response.data() + row;
    for (size_t i = 0; i < count; ++i) {
      x[i] = static_cast<float>(points[i].x) * level.scale;
      y[i] = static_cast<float>(points[i].y) * level.scale;
      angle_deg[i] = points[i].angle_deg;
      response[i] = points[i].response;
    }
    std::fill_n(features->size.data() + row, count, level.patch_size_px);
    std::fill_n(features->octave.data() + row, count, l);
    if (bytes > 0 && count > 0) {
      std::memcpy(features->descriptors.data() + row * bytes, frame.level(l).descriptors,
                  count * bytes);
    }
    row += count;
  }
}

// Time that this thread runs, by the wall clock, which costs little to read. The processor time of
// the thread costs twenty times as much. It is read where the wall clock tells of a time in which
// the thread may have waited for a processor, and once in a while to have something to compare
// with. A client would else pay for the time that its small frame spent behind another program.
class RunTime {
 public:
  // Before a time begins.
  void Mark(SteadyTime now) {
    if (now - marked_ > kMarkFor) Set(now, TimeOfThisThread());
  }
  // The time from `since` until `now`.
  std::chrono::nanoseconds Between(SteadyTime since, SteadyTime now) {
    if (now - since < kShort) {
      Mark(now);
      return now - since;
    }
    const std::chrono::nanoseconds own = TimeOfThisThread();
    const std::chrono::nanoseconds most = own - own_;
    Set(now, own);
    return std::min<std::chrono::nanoseconds>(now - since, most);
  }

 private:
  static constexpr std::chrono::microseconds kShort{500};
  static constexpr std::chrono::milliseconds kMarkFor{1};

  void Set(SteadyTime now, std::chrono::nanoseconds own) {
    marked_ = now;
    own_ = own;
  }

  SteadyTime marked_;
  std::chrono::nanoseconds own_{};  // of the thread at `marked_`
};

thread_local RunTime run_time;

}  // namespace

// Made where a thread begins with a task and read where it ends with a step, so that a step costs
// one reading for what follows another on the same thread.
class FrameRun::Clock {
 public:
  explicit Clock(Workspace& workspace) : times_(workspace.times[ArenaSlotOfThisThread()]) {
    run_time.Mark(last_);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // The time since the last reading was spent on `step`.
  void Add(int step) {
    const SteadyTime now = std::chrono::steady_clock::now();
    times_.step_ns[static_cast<size_t>(step)] += run_time.Between(last_, now).count();
    last_ = now;
  }
  // The time since the last reading was spent on nothing.
  void Skip() {
    last_ = std::chrono::steady_clock::now();
    run_time.Mark(last_);
  }

 private:
  Workspace::ThreadTimes& times_;
  SteadyTime last_ = std::chrono::steady_clock::now();
};

FrameRun::FrameRun(const CpuPlan& plan, Workspace& workspace, const FrameJob& job,
                   const FramePyramid* kept)
    : plan_(plan),
      steps_(plan.steps().steps),
      workspace_(workspace),
      frame_(plan.ContextOf(workspace, job, kept)),
      serial_(plan.threads() == 1) {}

absl::Status FrameRun::Run(Features* features, StageTimes* times) {
  ORBSERVE_RETURN_IF_ERROR(BeginFrame(plan_.pipeline(), frame_.job, features));
  ORBSERVE_RETURN_IF_ERROR(frame_.job.input->EnsurePixels());  // of a backend that was lost
  frame_.cuts = plan_.pipeline().CutsFor(frame_.job.parameters);
  std::fill(workspace_.times.begin(), workspace_.times.end(), Workspace::ThreadTimes());
  const GivenKeypoints* const given = frame_.job.given_keypoints.get();
  ORBSERVE_RETURN_IF_ERROR(given != nullptr ? Describe(*given, features) : Detect(features));
  if (IsCancelled()) return MakeError(ErrorReason::kCancelled, "cancelled while it was computed");
  if (phases_ != nullptr) ReportTimes(times);
  return absl::OkStatus();
}

absl::Status FrameRun::Detect(Features* features) {
  const int levels = plan_.pipeline().pyramid.detecting_levels;
  for (int l = 0; l < levels; ++l) {
    Workspace::Level& level = frame_.level(l);
    level.survivors = 0;
    level.ranked = 0;
    level.suppression_passes = 0;
    level.points = {};
    level.descriptors = frame_.At(frame_.lists.descriptors, l);
  }
  RunPhases(plan_.steps().detection, levels);
  if (IsCancelled()) return absl::OkStatus();
  if (HasScaleSpace(plan_.spec().pipeline)) {
    GatherSift(frame_, features);
  } else {
    Gather(frame_, levels, features);
  }
  return absl::OkStatus();
}

absl::Status FrameRun::Describe(const GivenKeypoints& given, Features* features) {
  const CompiledPipeline& pipeline = plan_.pipeline();
  ORBSERVE_RETURN_IF_ERROR(PlaceGivenKeypoints(given, pipeline, features));
  if (plan_.steps().description.empty() || features->count() == 0) {
    static const std::vector<Phase>& no_phases = *new std::vector<Phase>();
    if (frame_.kept_levels() > 1) RunPhases(no_phases, /*levels=*/1);
    return absl::OkStatus();
  }
  const int levels = PlaceGivenPoints(frame_, *features);
  RunPhases(plan_.steps().description, levels);
  if (!IsCancelled()) GatherGivenDescriptors(frame_, features);
  return absl::OkStatus();
}

void FrameRun::RunPhases(const std::vector<Phase>& phases, int levels) {
  phases_ = &phases;
  levels_ = levels;
  workspace_.pending_levels.store(levels, std::memory_order_relaxed);
  Clock clock(workspace_);
  if (serial_) {
    for (int level = 0; level < levels; ++level) {
      if (level > 0) MakeLevel(level, clock);
      Advance(level, 0, clock);
    }
    MakeOtherLevels(levels, clock);
    return;
  }
  TaskGroup tasks;
  tasks_ = &tasks;
  bool has_memory = true;
  try {
    for (int level = 0; level < levels; ++level) {
      if (level > 0) MakeLevel(level, clock);
      Advance(level, 0, clock, /*fork_all=*/true);
    }
    MakeOtherLevels(levels, clock);
  } catch (const std::bad_alloc&) {
    // This frame must not return yet: tasks that have begun use the workspace, and may throw, too.
    has_memory = false;
    tasks.cancel();
  }
  tasks.wait();
  if (!has_memory) throw std::bad_alloc();
}

void FrameRun::MakeOtherLevels(int levels, Clock& clock) {
  for (int level = std::max(levels, 1); level < frame_.kept_levels(); ++level) {
    MakeLevel(level, clock);
  }
}

void FrameRun::MakeLevel(int level, Clock& clock) {
  if (IsCancelled()) return;  // nor does anything of this level begin
  const int pyramid = plan_.steps().pyramid;
  const int tasks = Begin(pyramid, level, clock);
  if (serial_ || tasks == 1) {
    for (int task = 0; task < tasks; ++task) RunTask(pyramid, level, task, clock);
    return;
  }
  // Isolated: while it waits here, this thread must not begin other work that the next level would
  // have to wait for.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, tasks, 1),
        [&](const tbb::blocked_range<int>& range) {
          Clock own(workspace_);
          for (int task = range.begin(); task < range.end(); ++task) {
            RunTask(pyramid, level, task, own);
          }
        },
        tbb::simple_partitioner());
  });
  clock.Skip();
}

void FrameRun::Advance(int level, size_t phase, Clock& clock, bool fork_all) {
  const StepScope scope = level == kAllLevels ? StepScope::kFrame : StepScope::kLevel;
  for (; phase < phases_->size(); ++phase, fork_all = false) {
    if (IsCancelled()) return;
    if (ScopeOf(phase) != scope) {
      if (scope == StepScope::kLevel) {
        Join(phase, clock);
      } else {
        Spread(phase, clock);
      }
      return;
    }
    const std::vector<int>& steps = (*phases_)[phase].steps;
    std::array<int, kMaxPhaseSteps> tasks{};
    int total = 0;
    for (size_t i = 0; i < steps.size(); ++i) total += tasks[i] = Begin(steps[i], level, clock);
    if (total == 0) continue;
    if (serial_ || (total == 1 && !fork_all)) {
      for (size_t i = 0; i < steps.size(); ++i) {
        for (int task = 0; task < tasks[i]; ++task) RunTask(steps[i], level, task, clock);
      }
      continue;
    }
    // This thread keeps the last task for itself, which saves a way through the scheduler.
    Pending(level).store(total, std::memory_order_relaxed);
    int to_fork = fork_all ? total : total - 1;
    for (size_t i = 0; i < steps.size(); ++i) {
      for (int task = 0; task < tasks[i] && to_fork > 0; ++task, --to_fork) {
        Fork(steps[i], level, task, phase);
      }
    }
    clock.Skip();
    if (fork_all) return;
    size_t last = steps.size() - 1;
    while (tasks[last] == 0) --last;
    RunTask(steps[last], level, tasks[last] - 1, clock);
    if (!EndTask(level)) return;
  }
}

void FrameRun::Fork(int step, int level, int task, size_t phase) {
  tasks_->Run([this, step, level, task, phase] {
    Clock clock(workspace_);
    RunTask(step, level, task, clock);
    if (EndTask(level)) Advance(level, phase + 1, clock);
  });
}

void FrameRun::Join(size_t phase, Clock& clock) {
  if (workspace_.pending_levels.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  workspace_.pending_levels.store(levels_, std::memory_order_relaxed);  // for a later phase
  Advance(kAllLevels, phase, clock);
}

void FrameRun::Spread(size_t phase, Clock& clock) {
  for (int level = 0; level < levels_; ++level) {
    if (serial_ || level + 1 == levels_) {
      Advance(level, phase, clock);
    } else {
      tasks_->Run([this, level, phase] {
        Clock own(workspace_);
        Advance(level, phase, own);
      });
    }
  }
}

bool FrameRun::EndTask(int level) {
  return Pending(level).fetch_sub(1, std::memory_order_acq_rel) == 1;
}

int FrameRun::Begin(int step, int level, Clock& clock) {
  const int tasks = steps_[static_cast<size_t>(step)]->Begin(frame_, level);
  clock.Add(step);
  return tasks;
}

void FrameRun::RunTask(int step, int level, int task, Clock& clock) {
  steps_[static_cast<size_t>(step)]->Run(frame_, level, task);
  clock.Add(step);
}

// In the order in which the steps were compiled, whatever phase they are in.
void FrameRun::ReportTimes(StageTimes* times) const {
  std::array<bool, kMaxSteps> ran{};
  ran[static_cast<size_t>(plan_.steps().pyramid)] = true;
  for (const Phase& phase : *phases_) {
    for (const int step : phase.steps) ran[static_cast<size_t>(step)] = true;
  }
  for (size_t step = 0; step < steps_.size(); ++step) {
    if (!ran[step]) continue;
    int64_t sum_ns = 0;
    for (const Workspace::ThreadTimes& thread : workspace_.times) sum_ns += thread.step_ns[step];
    times->Add(steps_[step]->stages(), sum_ns);
  }
}

}  // namespace orbserve::cpu
