// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Many images in batches, each image matched with a reference as soon as its batch is answered.

#ifndef ORBSERVE_BENCH_REFERENCE_BATCHES_H_
#define ORBSERVE_BENCH_REFERENCE_BATCHES_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/frame_latency.h"
#include "features/backend.h"
#include "features/options.h"

namespace orbserve::bench {

// Submits the jobs and sleeps until they are answered.
FrameBatchAnswer Compute(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                         std::vector<FrameJob> jobs);

class ReferenceBatches {
 public:
  // One round over all images, and what came out of it.
  struct Round {
    double wall_us = 0;
    double upload_us = 0;  // of the device
    double extract_us = 0;
    double download_us = 0;
    double match_us = 0;
    size_t features = 0;
    size_t matches = 0;

    void Add(const Round& other);
  };

  // Batches of `batch` frames, shifted copies of the image. The reference is the best 128 features
  // of the first of them.
  static absl::StatusOr<std::unique_ptr<ReferenceBatches>> Create(FeatureBackend& backend,
                                                                  const Preset& preset,
                                                                  const GreyImage& image,
                                                                  int batch);

  int batch() const { return batch_; }
  size_t reference_vectors() const { return reference_->feature_count(); }

  // A round over `images` images, with up to `in_flight` batches at a time.
  absl::StatusOr<Round> Run(int images, int in_flight, bool matches);

 private:
  ReferenceBatches(FeatureBackend& backend, const Preset& preset)
      : backend_(backend), preset_(preset) {}

  absl::Status RunBatch(int images, bool matches, Round* round) const;

  FeatureBackend& backend_;
  const Preset& preset_;
  int batch_ = 0;
  std::shared_ptr<FeaturePlan> plan_;
  std::vector<std::shared_ptr<InputSlot>> slots_;
  std::shared_ptr<const FrameState> reference_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_REFERENCE_BATCHES_H_
