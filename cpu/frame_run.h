// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One frame's way through the stages, divided into tasks.
//
//   level 0 ──┬─▶ corners, strips of rows ─▶ first cut ─▶ scores, chunks ─▶ cut ─┬─▶ angles, chunks
//   ─┬─▶ descriptors
//     resize  │                                                                  └─▶ smooth, tiles
//     ──┘     in chunks
//   level 1 ──┼─▶ ...   each level on its own, as soon as its pixels exist
//     resize  │
//   level 2 ──┴─▶ ...                                       at the end: gather the levels in order
//
// The last task of a step begins the next, so levels never wait for each other (but for the one
// cut of Selection::kBest, which compares them). Tasks of one frame fill all threads; with several
// frames a thread takes whole frames first and helps others when there are no more.

#ifndef ORBSERVE_CPU_FRAME_RUN_H_
#define ORBSERVE_CPU_FRAME_RUN_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "cpu/plan.h"
#include "cpu/workspace.h"
#include "features/backend.h"
#include "features/image_view.h"
#include "features/types.h"
#include "oneapi/tbb/task_group.h"

namespace orbserve::cpu {

class FrameRun {
 public:
  // All must outlive the run. The calling thread is in the arena of the plan's threads.
  FrameRun(const CpuPlan& plan, Workspace& workspace, const FrameJob& job);

  // Fills `features`, which keeps its capacity. INVALID_ARGUMENT for parameters or keypoints out of
  // range.
  absl::Status Run(Features* features);

 private:
  // Points that one task describes: some 15 microseconds of work.
  static constexpr int kDescribeChunk = 96;

  // Given keypoints, see Run().
  absl::Status Describe(const GivenKeypoints& given, Features* features);
  void DescribeNearBorder(int level, const LevelPoint& point, uint8_t* descriptor);

  absl::Status Detect(Features* features);

  // The steps of a level. Each that says "last" is begun by the last task of the step before.
  void MakeLevel(int level);               // resize from the level it is made of
  void MakeMask(int level);                //
  void StartCorners(int level);            // forks FindCorners
  void FindCorners(int level, int strip);  // FAST, suppression, mask
  void CutCandidates(int level);           // last: first cut; forks ScoreCandidates
  void ScoreCandidates(int level, int begin, int end);
  void CutLevel(int level);     // last: cut to the quota
  void CutAllLevels();          // or, of the last level: over all levels
  void StartPoints(int level);  // orders; forks Orient and Smooth
  void Orient(int level, int begin, int end);
  void Smooth(int level, int run_begin, int run_end);
  void StartDescriptors(int level);  // last: forks
  void DescribePoints(int level, int begin, int end);
  void Gather(Features* features);  // all levels, in order

  void MarkTiles(int level, int x, int y);
  // Makes runs of the marked tiles; returns how many tasks they are to be divided into.
  int CollectBlurRuns(int level);

  // Runs `task` on any thread of the arena, at once when there is only one.
  template <typename Task>
  void Fork(Task&& task);
  // Forks task(begin, end) for chunks of [0, count), `chunk` each; in one piece for one thread.
  template <typename Task>
  void ForkChunks(int count, int chunk, const Task& task);
  int Chunks(int count, int chunk) const;

  ImageView Image(int level) const;
  MutableImageView WritableImage(int level) const;
  MutableImageView Mask(int level) const;
  MutableImageView Blurred(int level) const;
  template <typename T>
  T* At(size_t offset) const {
    return reinterpret_cast<T*>(workspace_.memory.data() + offset);
  }
  uint8_t* Scratch() const;

  const CpuPlan& plan_;
  const Stages& stages_;
  Workspace& workspace_;
  const FrameJob& job_;
  const bool serial_;
  tbb::task_group* tasks_ = nullptr;  // null when serial
  int32_t quotas_[kMaxLevels] = {};
};

template <typename Task>
void FrameRun::Fork(Task&& task) {
  if (serial_) {
    task();
  } else {
    tasks_->run(std::forward<Task>(task));
  }
}

template <typename Task>
void FrameRun::ForkChunks(int count, int chunk, const Task& task) {
  const int chunks = Chunks(count, chunk);
  for (int i = 0; i < chunks; ++i) {
    // Even chunks: no short one at the end.
    const int begin = static_cast<int>(static_cast<int64_t>(count) * i / chunks);
    const int end = static_cast<int>(static_cast<int64_t>(count) * (i + 1) / chunks);
    Fork([task, begin, end] { task(begin, end); });
  }
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_RUN_H_
