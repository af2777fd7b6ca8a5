// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/quality_level.h"

#include <cmath>

#include "bench/cpu_engine.h"
#include "cpu/cpu_backend.h"

namespace orbserve::bench {

size_t CountCorners(const cv::Mat& frame, PipelineOptions pipeline, float quality_level,
                    int max_passes) {
  pipeline.suppress.max_passes = max_passes;
  CpuEngine engine({.threads = 1}, {frame}, pipeline,
                   {.max_features = kMaxFeatures, .quality_level = quality_level});
  return engine.CountFeatures();
}

float QualityLevelFor(const cv::Mat& frame, const PipelineOptions& pipeline, size_t wanted) {
  float low = 1e-6f;  // gives more
  float high = 0.99f;
  for (int i = 0; i < 16; ++i) {
    const float middle = std::sqrt(low * high);
    const size_t corners = CountCorners(frame, pipeline, middle, 0);
    if (corners == wanted) return middle;
    (corners > wanted ? low : high) = middle;
  }
  return low;
}

}  // namespace orbserve::bench
