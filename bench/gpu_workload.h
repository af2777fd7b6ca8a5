// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Kernels and steps of the CUDA backend on their own, for benchmarks.

#ifndef ORBSERVE_BENCH_GPU_WORKLOAD_H_
#define ORBSERVE_BENCH_GPU_WORKLOAD_H_

#include <cuda_runtime_api.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/frame_latency.h"
#include "features/options.h"
#include "gpu/frame/pinned_side.h"
#include "gpu/plan.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/step_list.h"
#include "gpu/steps/step.h"

namespace orbserve::bench {

// An image in all frames of a batch, in an arena of its own, ready for the steps of a plan.
struct GpuWorkload {
  std::shared_ptr<gpu::GpuPlan> plan;
  gpu::DeviceBuffer arena;
  gpu::DeviceBuffer tables;
  gpu::PinnedSide side;
  gpu::DeviceTables device_tables;
  gpu::StepContext context;

  // On device 0.
  absl::Status Prepare(const GreyImage& image, const PipelineOptions& options,
                       const FrameParameters& parameters, int frames);
  // The first step of a type; null where the plan has none.
  template <typename StepType>
  const StepType* Find() const {
    for (const gpu::StepList::PlacedStep& placed : plan->steps().steps()) {
      if (const auto* own = dynamic_cast<const StepType*>(placed.step.get())) return own;
    }
    return nullptr;
  }
};

// All steps of a workload as one graph, and the streams and events that recorded it.
class WorkloadGraph {
 public:
  // Records on `stream`. The workload must outlive the graph.
  static absl::StatusOr<WorkloadGraph> Capture(const GpuWorkload& workload, cudaStream_t stream);

  // Runs the steps on the stream and waits for their answer on the host.
  absl::Status Run() const;

 private:
  explicit WorkloadGraph(cudaStream_t stream) : stream_(stream) {}

  cudaStream_t stream_;
  gpu::Stream side_;
  std::array<gpu::Event, gpu::kMaxBranchEvents> order_;
  gpu::Graph graph_;
};

using GpuLaunch = std::function<absl::Status(cudaStream_t)>;

// Times launches on device 0: a CUDA graph of many of them in a row, divided by their number.
class KernelTimer {
 public:
  static absl::StatusOr<KernelTimer> Create(int launches, int repeats);

  cudaStream_t stream() const { return stream_.get(); }
  // Microseconds of one launch: samples, ascending. `reset` runs before each; the median of its own
  // time is subtracted.
  absl::StatusOr<std::vector<double>> Time(const GpuLaunch& launch,
                                           const GpuLaunch& reset = nullptr) const;

 private:
  KernelTimer(int launches, int repeats) : launches_(launches), repeats_(repeats) {}

  int launches_;  // of a graph
  int repeats_;   // graphs timed
  gpu::Stream stream_;
  gpu::Event begin_;
  gpu::Event end_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_GPU_WORKLOAD_H_
