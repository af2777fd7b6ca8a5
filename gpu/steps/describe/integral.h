// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `integral`: integral images modulo 2^32 of all levels, or of level 0.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_INTEGRAL_H_
#define ORBSERVE_GPU_STEPS_DESCRIBE_INTEGRAL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/pipeline/compiled.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// Rows of pixels whose sums are counted from their own first row.
inline constexpr int kIntegralStripRows = 8;
// Entries before entry 0 of a row, so that entry 1, of the first pixel, is aligned to 16 bytes.
inline constexpr int kIntegralLead = 3;

struct IntegralLevel {
  int64_t inner;      // first entry of the level in a frame's inner rows
  int64_t bases;      // and in its base rows
  int32_t pitch;      // entries between rows
  int32_t base_rows;  // height / kIntegralStripRows + 1
};

// For kernels. Row y of an integral image is the sum of two stored rows: the base row of its strip,
// y / 8, and inner row y % 8 of that strip, which counts from the strip's first row. Inner row 0 is
// all 0 and not stored. So strips are summed independently of each other, and what has to be added
// from strip to strip is an eighth of the whole.
struct IntegralImages {
  uint32_t* inner;
  uint32_t* bases;
  int64_t inner_stride;  // entries of a frame
  int64_t bases_stride;
  int32_t levels;
  IntegralLevel level[kMaxLevels];

#if defined(__CUDACC__)
  __device__ uint32_t* Inner(int frame_index, int l) const {
    return inner + frame_index * inner_stride + level[l].inner;
  }
  __device__ uint32_t* Bases(int frame_index, int l) const {
    return bases + frame_index * bases_stride + level[l].bases;
  }
#endif
};

// Their buffers in a plan's arena.
class IntegralBuffers {
 public:
  // Makes buffers for the first `levels` levels.
  IntegralBuffers(const CompiledPipeline& pipeline, int levels, ArenaLayout* layout);

  IntegralImages At(const StepContext& context) const;

 private:
  IntegralImages images_{};  // without pointers
  BufferId inner_;
  BufferId bases_;
};

struct IntegralParams {
  Frames frames;
  LevelImages images;
  IntegralImages integrals;
};

// Integral images of every frame that is not idle.
absl::Status LaunchIntegral(const IntegralParams& params, cudaStream_t stream);

class IntegralStep final : public Step {
 public:
  IntegralStep(const LevelImageBuffers& images, const IntegralBuffers& integrals)
      : images_(images), integrals_(integrals) {}

  absl::string_view name() const override { return "integral"; }
  StageSet stages() const override { return Stage::kDescribe; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const LevelImageBuffers images_;
  const IntegralBuffers integrals_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_INTEGRAL_H_
