// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_GRAPH_KIND_H_
#define ORBSERVE_GPU_GRAPH_KIND_H_

#include <cstddef>

namespace orbserve::gpu {

// Batch sizes that have graphs: 1, 2, 4, ..., 64. A batch runs in the smallest that holds it.
inline constexpr int kBatchClasses = 7;
constexpr int FramesOfClass(int batch_class) { return 1 << batch_class; }
constexpr int ClassOfFrames(int frames) {
  int batch_class = 0;
  while (FramesOfClass(batch_class) < frames) ++batch_class;
  return batch_class;
}

// Everything that decides which launches a batch needs.
struct GraphKind {
  int batch_class = 0;
  bool masks = false;          // some frame has a mask
  bool given = false;          // some frame has given keypoints: all levels are made
  bool timed = false;          // with events at the boundaries of stages
  bool low_threshold = false;  // some frame has a second, lower FAST threshold
  bool few_keys = false;       // one block ranks what each frame wants (ChoosesFewKeys())
  bool pyramids = false;       // some frame's state keeps its pyramid

  int frames() const { return FramesOfClass(batch_class); }
  size_t index() const {
    return static_cast<size_t>(batch_class) * 64 + (pyramids ? 32 : 0) + (few_keys ? 16 : 0) +
           (low_threshold ? 8 : 0) + (masks ? 4 : 0) + (given ? 2 : 0) + (timed ? 1 : 0);
  }
};
inline constexpr size_t kGraphKinds = kBatchClasses * 64;

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_GRAPH_KIND_H_
