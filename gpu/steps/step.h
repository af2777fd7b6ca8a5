// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One step of a pipeline on a device: one launch or a few that belong together. gpu/compile.cc
// lists the steps of a pipeline.
//
// Data passes between steps through buffers of a lane's arena. There are four kinds, and each has a
// total order, so that backends can be compared after every step: level images
// (gpu/steps/level_images.h), response maps (gpu/steps/detect/response_map.h; `orb` has none, as it
// scores and suppresses in one kernel), corner lists (gpu/steps/detect/corner_lists.h) and lists of
// rank keys (FrameParams). The last step writes records and descriptors. Lists are filled in any
// order, because atomic counters hand out places; ranking under a total order makes one order of
// them, so that no answer depends on arrival.

#ifndef ORBSERVE_GPU_STEPS_STEP_H_
#define ORBSERVE_GPU_STEPS_STEP_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/algo/rbrief_pattern.h"
#include "features/pipeline/stage.h"
#include "gpu/frame/frame_params.h"
#include "gpu/graph_kind.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/memory/scratch_memory.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// How a pixel is told to be a corner. All give the same answer.
enum class CornerTest {
  kArcExtremes,     // packed minima and maxima over all arcs: test and score in one
  kBinaryEncoding,  // 32 comparison bits of the ring, runs by shifting (paper 1, sec. 5.1)
  kBitTable,        // 16 comparison bits, twice, looked up in 8 KiB (papers 2, 3)
};

// Facts about one device that steps need, and tables on it that do not depend on plans.
struct DeviceTables {
  int multiprocessors = 1;
  bool overlaps_kernels = false;  // those of a graph may overlap (gpu/runtime/overlap.cuh)
  CornerTest default_test = CornerTest::kArcExtremes;
  const algo::RBriefPair* pattern = nullptr;     // algo::kRBriefPattern, 32-byte aligned
  const algo::RBriefPair* pattern_32 = nullptr;  // algo::kRBrief32Pattern
  const uint32_t* bit_tables = nullptr;          // [arc_length - 9][algo::kFastBitTableWords]
};

// A batch whose data lies in an arena.
struct StepContext {
  GraphKind kind;
  Frames frames;  // the whole batch, or a single frame of it on the slow path
  const ArenaLayout* layout = nullptr;
  uint8_t* arena = nullptr;
  const DeviceTables* tables = nullptr;
  size_t device_index = 0;  // of the plan's devices
  // Kernels that follow each other in a stream may overlap (gpu/runtime/overlap.cuh), and so may
  // the step's first kernel with the one before it.
  bool overlaps = false;
  bool follows = false;

  uint8_t* At(BufferId buffer) const { return arena + layout->Offset(buffer, kind); }
};

// A frame on the slow path, after its batch.
struct LargeFrame {
  cudaStream_t stream = nullptr;
  FrameReport report;                // of the fast path
  FrameParams* params;               // host copy; a step that enlarges a list changes it here,
  FrameParams* uploaded;             // and calls Upload(), which brings it to this device address
  ScratchMemory* scratch = nullptr;  // kept until the frame is answered

  absl::Status Upload() const;
  // Gives the lists of survivors and of ranked keypoints room for all survivors of each level, and
  // spare memory of `spare_per_survivor` entries for each; uploads the parameters.
  absl::Status MakeRoomForAll(size_t spare_per_survivor);
};

// Made once per plan; immutable and thread-safe once every device was added.
class Step {
 public:
  virtual ~Step() = default;

  // Name of the step, of its files and of its namesake on the CPU.
  virtual absl::string_view name() const = 0;
  // Stages that the step carries out; a fused step names several. Empty for a step that serves
  // others.
  virtual StageSet stages() const = 0;

  // Makes the step's tables on the next of the plan's devices, which is current.
  virtual absl::Status AddDevice(int /*device*/, const std::shared_ptr<MemoryBudget>& /*budget*/) {
    return absl::OkStatus();
  }
  // Bytes of those tables on all devices, and of the step's tables on the host.
  virtual size_t device_bytes() const { return 0; }
  virtual size_t host_bytes() const { return 0; }

  // Puts the step's launches on `stream`. It may be under capture: nothing waits or allocates.
  virtual absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const = 0;

  // Completes the step for a frame whose lists found no room (FrameReport::unranked). May allocate
  // and wait.
  virtual absl::Status FinishLarge(const StepContext& /*context*/, LargeFrame* /*frame*/) const {
    return absl::OkStatus();
  }
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_STEP_H_
