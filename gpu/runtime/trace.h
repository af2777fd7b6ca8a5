// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Named ranges on a profiler's timeline (NVTX). Without a profiler attached a range costs a few
// nanoseconds.

#ifndef ORBSERVE_GPU_RUNTIME_TRACE_H_
#define ORBSERVE_GPU_RUNTIME_TRACE_H_

#include <nvtx3/nvToolsExt.h>

namespace orbserve::gpu {

class TraceRange {
 public:
  explicit TraceRange(const char* name) { nvtxRangePushA(name); }
  ~TraceRange() { nvtxRangePop(); }
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_TRACE_H_
