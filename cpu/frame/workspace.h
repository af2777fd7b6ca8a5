// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_FRAME_WORKSPACE_H_
#define ORBSERVE_CPU_FRAME_WORKSPACE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "cpu/frame/level_point.h"
#include "cpu/kernels/sift_extractor.h"
#include "cpu/memory/aligned_buffer.h"
#include "cpu/memory/memory_count.h"
#include "features/options.h"

namespace orbserve::cpu {

// Most steps that a plan can have.
inline constexpr int kMaxSteps = 16;

// Memory that one frame works in, laid out by its plan (cpu/memory/workspace_layout.h) and used
// again by the next frame. A frame has one at a time; its tasks share it.
struct Workspace {
  // Progress of a level.
  struct Level {
    std::atomic<int> pending = 0;    // tasks of the running phase that are not done
    int survivors = 0;               // corners that passed the first cut
    int ranked = 0;                  // keypoints that passed the second cut
    int suppression_passes = 0;      // of MINIMUM_DISTANCE
    absl::Span<LevelPoint> points;   // those of them that the capacity leaves, in order
    uint8_t* descriptors = nullptr;  // one for each of `points`
  };

  // Time that one thread spent on each step of the frame. Threads share no cache line.
  struct alignas(AlignedBuffer::kAlignment) ThreadTimes {
    std::array<int64_t, kMaxSteps> step_ns{};
  };

  // `threads`: slots of the arena.
  Workspace(int threads, std::shared_ptr<MemoryCount> count)
      : times(static_cast<size_t>(threads)), counted_(std::move(count)) {}

  AlignedBuffer memory;
  AlignedBuffer mask_memory;  // empty until a frame brings a mask
  std::array<Level, kMaxLevels> levels;
  std::atomic<int> pending_levels = 0;  // levels that have not reached the next phase of the frame
  std::atomic<int> pending_tasks = 0;   // tasks of that phase that are not done
  std::vector<ThreadTimes> times;       // [thread of the arena]

  // Given keypoints by level, the row of the answer that each belongs to, and their descriptors.
  // They grow with the frames that bring keypoints.
  std::vector<LevelPoint> given_points;
  std::vector<PatchPoint> given_patches;  // beside them, for descriptors of level 0
  std::vector<uint32_t> given_rows;
  std::vector<uint8_t> given_descriptors;

  SiftMemory sift;  // of the detector SIFT; grows with the frames that have more features

  size_t HeldBytes() const {
    return memory.size() + mask_memory.size() + times.capacity() * sizeof(ThreadTimes) +
           given_points.capacity() * sizeof(LevelPoint) +
           given_patches.capacity() * sizeof(PatchPoint) +
           given_rows.capacity() * sizeof(uint32_t) + given_descriptors.capacity() +
           sift.HeldBytes();
  }
  // Brings the plan's count of memory up to date, after the workspace has grown.
  void CountBytes() { counted_.Set(HeldBytes()); }
  void OnGiveBack() { CountBytes(); }

 private:
  CountedBytes counted_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_WORKSPACE_H_
