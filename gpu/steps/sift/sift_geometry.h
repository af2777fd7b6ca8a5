// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_STEPS_SIFT_SIFT_GEOMETRY_H_
#define ORBSERVE_GPU_STEPS_SIFT_SIFT_GEOMETRY_H_

#include <cstddef>
#include <memory>

#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/sift/sift_data.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// Taps of one blur, by distance.
struct SiftBlur {
  int radius = 0;
  float taps[algo::kSiftMaxRadius + 1] = {};
};

// The largest radius of blurs whose two passes are one kernel.
inline constexpr int kSiftTileRadius = 16;

// Octaves and blurs for frames of one size: host memory.
struct SiftGeometry {
  // `width_px`, `height_px` in [1, 8192]; `options` are valid.
  static SiftGeometry For(int width_px, int height_px, const SiftOptions& options);

  int width_px = 0;  // of a frame
  int height_px = 0;
  SiftOptions options;
  SiftBlur first_blur;
  SiftBlur blurs[kSiftMaxImages];  // [i] leads to image i
  SiftScaleSpace space = {};       // without memory

  // Bytes of a frame's images, and of the row-filtered pixels of wide blurs, 0 without those.
  size_t image_bytes() const;
  size_t row_bytes() const;
};

// The geometry of a plan, and its buffers in the plan's arena.
class SiftBuffers {
 public:
  SiftBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout);

  const SiftGeometry& geometry() const { return *geometry_; }
  SiftScaleSpace ScaleSpace(const StepContext& context) const;
  float* Rows(const StepContext& context) const;

 private:
  std::shared_ptr<const SiftGeometry> geometry_;
  BufferId images_;
  BufferId rows_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_SIFT_GEOMETRY_H_
