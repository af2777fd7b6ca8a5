// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_BENCH_CPU_ENGINE_H_
#define ORBSERVE_BENCH_CPU_ENGINE_H_

#include <cstddef>
#include <memory>
#include <opencv2/core.hpp>
#include <vector>

#include "cpu/cpu_backend.h"
#include "features/backend.h"
#include "features/options.h"

namespace orbserve::bench {

// A CPU backend with frames in its slots, ready to compute them. Ends the program with a message
// when the backend cannot be had or a frame fails.
class CpuEngine {
 public:
  // `frames`: 8-bit grey images of one size, at least one.
  CpuEngine(const cpu::CpuBackendOptions& options, const std::vector<cv::Mat>& frames,
            const PipelineOptions& pipeline, const FrameParameters& parameters);

  // Computes all frames with up to `in_flight` (1 or 2) at a time.
  void Run(int in_flight);

  // Features that all frames have together.
  size_t CountFeatures();

  // The answer to each frame.
  std::vector<Features> Answers();

 private:
  std::unique_ptr<FeatureBackend> backend_;
  std::shared_ptr<FeaturePlan> plan_;
  std::vector<FrameJob> jobs_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_CPU_ENGINE_H_
