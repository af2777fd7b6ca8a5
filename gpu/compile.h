// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_COMPILE_H_
#define ORBSERVE_GPU_COMPILE_H_

#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/step_list.h"

namespace orbserve::gpu {

// The steps of a pipeline and the buffers that they need.
struct CompiledSteps {
  ArenaLayout layout;
  BufferId params;    // FrameParams []
  BufferId counters;  // FrameCounters []
  BufferId input;     // slots of the batch
  StepList list;
};

// `pipeline` must live as long as the steps. `reads_in_place`: kernels read the frames in their
// slots.
CompiledSteps CompileSteps(const CompiledPipeline& pipeline, bool reads_in_place);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_COMPILE_H_
