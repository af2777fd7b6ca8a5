// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// No CUDA type appears here. A build without CUDA links gpu_backend_stub.cc.

#ifndef ORBSERVE_GPU_GPU_BACKEND_H_
#define ORBSERVE_GPU_GPU_BACKEND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"

namespace orbserve::gpu {

inline constexpr int kMaxLanes = 16;
inline constexpr int kMaxFramesInBatch = 64;

// Tells kernels where to read the frames.
enum class InputReads {
  kAuto,     // in place on devices that share the memory of the processor, else as copies
  kCopied,   // images go up to the device's memory first
  kInPlace,  // in the pinned slots that they were decoded into
};

struct GpuBackendOptions {
  std::vector<int> devices;        // CUDA ordinals; empty = every device that answers
  int64_t memory_limit_bytes = 0;  // per device; 0 = what is free at start, less a reserve
  InputReads input_reads = InputReads::kAuto;
  // Most bytes that leased input slots may hold in pinned host memory; 0 = a quarter of this
  // machine's memory.
  int64_t input_budget_bytes = 0;
  // Devices decode the JPEG files that they can (InputSlot::TakeFile); not where frames are read in
  // place.
  bool decodes_jpeg = true;
  int lanes = 4;  // batches in flight per device, 1..kMaxLanes
  // Batches of large plans (FeaturePlan::is_large()) in flight per device beside these,
  // 1..kMaxLanes.
  int large_lanes = 2;
  // 1..kMaxFramesInBatch; plans that need much memory allow fewer.
  int max_batch_frames = 32;
  // A batch that takes longer means that the device is lost.
  int64_t deadline_ms = 10'000;  // 1..600'000
  // Each lane times one batch in this many stage by stage (FrameAnswer::stages), 0..1'000'000; 0 =
  // none.
  int stage_sampling = 64;
};

// True in a build that has CUDA.
bool IsBuiltIn();

// True if one of these devices (empty = any device) is integrated: it has no memory of its own and
// uses that of the processor. False in a build without CUDA and where no device answers.
bool SharesHostMemory(const std::vector<int>& devices);

// UNIMPLEMENTED (UNSUPPORTED) in a build without CUDA, or without code for one of the devices;
// UNAVAILABLE when no device answers; INVALID_ARGUMENT for options out of range.
absl::StatusOr<std::unique_ptr<FeatureBackend>> CreateGpuBackend(const GpuBackendOptions& options);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_GPU_BACKEND_H_
