// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Memory that one frame gets for lists and answers, by the number of features it wants. A frame
// that turns out to need more takes the slow path, whose answer is the same.

#ifndef ORBSERVE_GPU_FRAME_FRAME_ROOM_H_
#define ORBSERVE_GPU_FRAME_FRAME_ROOM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "features/pipeline/compiled.h"
#include "gpu/frame/frame_params.h"

namespace orbserve::gpu {

// FrameParams::first_keys: one more than the answer can hold tells that it is truncated.
int32_t FirstKeys(const Cuts& cuts);

// Bytes of a record of the answer: FeatureRecord, or algo::SiftFeature.
size_t RecordBytes(const CompiledPipeline& pipeline);

struct FrameRoom {
  std::array<ListRoom, kMaxLevels> survivors{};
  std::array<ListRoom, kMaxLevels> ranked{};
  size_t survivor_entries = 0;  // of all levels
  size_t ranked_entries = 0;
  size_t spare_entries = 0;  // FrameParams::spare
  int rows = 0;              // records and descriptors, at most kLargestFeatureClass
  int state_rows = 0;        // descriptors that a kept state holds on the device

  // Room of a frame that detects. `cuts` are those of `parameters`.
  static FrameRoom ForDetection(const CompiledPipeline& pipeline, const FrameParameters& parameters,
                                const Cuts& cuts);
  // Room of a frame with `count` given keypoints.
  static FrameRoom ForGiven(int count);
  // Room that no frame of the pipeline exceeds.
  static FrameRoom Largest(const CompiledPipeline& pipeline);

  // Bytes of all lists in the arena, a multiple of kBufferAlignment.
  size_t list_bytes() const;
  // Leaves no room for lists, which sends every frame with a corner to the slow path.
  void DropLists();
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_FRAME_ROOM_H_
