// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Runs the kernels of SIFT on a batch of frames, without a backend around them.

#ifndef ORBSERVE_TESTS_GPU_SIFT_RUN_H_
#define ORBSERVE_TESTS_GPU_SIFT_RUN_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_order.h"
#include "features/image_view.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "tests/support/sift_settings.h"

namespace orbserve::testing {

// Errors end the program.
class SiftRun {
 public:
  // All images have one size. `capacity`: of the lists of a frame.
  SiftRun(const std::vector<ImageView>& images, const SiftSettings& settings, int capacity,
          algo::SiftNorm norm = algo::SiftNorm::kL2);
  ~SiftRun();
  SiftRun(const SiftRun&) = delete;
  SiftRun& operator=(const SiftRun&) = delete;

  // Puts the launches on `stream`; nothing waits. `after` is called after each stage.
  void Enqueue(cudaStream_t stream, absl::FunctionRef<void(const std::string& stage)> after);

  // The results of a run that is done.
  const gpu::FrameReport& report(int frame) const { return reports_[frame]; }
  std::vector<algo::SiftFeature> Records(int frame) const;
  const uint8_t* descriptors(int frame) const;
  std::vector<gpu::SiftPoint> Points(int frame) const;
  std::vector<algo::SiftFeature> Features(int frame) const;
  const gpu::SiftGeometry& geometry() const { return geometry_; }
  std::vector<float> Image(int frame, int octave, int image) const;
  int capacity() const { return capacity_; }

 private:
  uint8_t* Take(size_t bytes);
  uint8_t* TakePinned(size_t bytes);
  gpu::SiftLists Lists(int frame) const;

  const algo::SiftNorm norm_;
  const int frames_;
  const int capacity_;
  const gpu::SiftGeometry geometry_;
  std::vector<void*> device_memory_;
  std::vector<void*> pinned_memory_;
  uint8_t* input_ = nullptr;
  uint64_t* lists_ = nullptr;
  float* images_ = nullptr;
  float* rows_ = nullptr;
  gpu::FrameParams* params_ = nullptr;
  gpu::FrameCounters* counters_ = nullptr;
  gpu::FrameReport* reports_ = nullptr;
  algo::SiftFeature* records_ = nullptr;
  uint8_t* descriptors_ = nullptr;
  int multiprocessors_ = 1;
  bool overlaps_ = false;  // kernels of a single frame, as in a plan
  int32_t shared_entries_ = 0;
};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_GPU_SIFT_RUN_H_
