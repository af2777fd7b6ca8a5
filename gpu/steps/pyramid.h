// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `pyramid`: level 0 of every frame, and of its mask, to the other levels.

#ifndef ORBSERVE_GPU_STEPS_PYRAMID_H_
#define ORBSERVE_GPU_STEPS_PYRAMID_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "features/pipeline/compiled.h"
#include "gpu/runtime/memory.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// One entry of the resize table: algo::ResizeTap, and the right-hand sample clamped to the row.
struct ResizeEntry {
  uint16_t first;
  uint16_t weight : 12;  // of the second sample, of 256, or of algo::kLinearWeight
  uint16_t excess : 3;   // linear: by how much the sum of both weights exceeds kLinearWeight - 1
  uint16_t next : 1;     // first + next is the second sample: 1, or 0 at the end of the row
};
static_assert(sizeof(ResizeEntry) == 4);
// Columns and rows of a level begin at a multiple of this many entries and are filled up to one by
// repeating the last.
inline constexpr int kResizeEntryGroup = 4;

// A level that a launch makes.
struct ResizeLevel {
  int64_t offset;  // in a frame's pyramid
  int32_t width_px;
  int32_t height_px;
  int32_t pitch_bytes;
  int32_t x_taps;  // first entry of the level's columns in the resize table
  int32_t y_taps;  // first entry of its rows
};

// Of images or of masks; a mask pixel counts where all its sources did.
struct ResizeParams {
  Frames frames;
  const uint8_t* input;  // slots, if the source is level 0
  uint8_t* pyramid;
  int64_t stride;         // bytes of a frame's pyramid
  int64_t source_offset;  // in a frame's pyramid, if the source is another level
  int32_t source_pitch_bytes;
  bool from_level_zero;
  bool masks;
  bool linear;  // features/algo/linear_resize.h
  const ResizeEntry* taps;
  int32_t levels;  // at least 1; the first is the largest
  ResizeLevel to[kMaxLevels - 1];
  bool overlaps = false;  // it may begin while the kernel before it ends
};

// Makes levels of every frame from one other level (algo::ResizeRow, ResizeColumn, or LinearRow,
// LinearColumn).
absl::Status LaunchResize(const ResizeParams& params, cudaStream_t stream);

class PyramidStep final : public Step {
 public:
  PyramidStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images);

  absl::string_view name() const override { return "pyramid"; }
  StageSet stages() const override { return Stage::kPyramid; }
  absl::Status AddDevice(int device, const std::shared_ptr<MemoryBudget>& budget) override;
  size_t device_bytes() const override;
  size_t host_bytes() const override { return table_.capacity() * sizeof(ResizeEntry); }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  // Parameters of the launch that makes levels [first_level, last_level] from one source.
  ResizeParams ParamsFor(const StepContext& context, int first_level, int last_level,
                         bool masks) const;

 private:
  const LevelImageBuffers images_;
  const bool from_level_zero_;
  const bool linear_;
  const int existing_levels_;
  const int detecting_levels_;
  ResizeLevel to_[kMaxLevels] = {};
  std::vector<ResizeEntry> table_;
  std::vector<DeviceBuffer> device_tables_;  // of each device
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_PYRAMID_H_
