// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/reference_batches.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

#include "features/errors.h"

namespace orbserve::bench {
namespace {

constexpr int kReferenceVectors = 128;

// The image shifted with wrapping, so that the frames of a batch differ.
GreyImage Rolled(const GreyImage& image, int dx, int dy) {
  GreyImage rolled = image;
  const auto width = static_cast<size_t>(image.width_px);
  for (int y = 0; y < image.height_px; ++y) {
    const auto row = image.pixels.begin() + static_cast<ptrdiff_t>(width) * y;
    const int to = (y + dy) % image.height_px;
    std::rotate_copy(row, row + dx % image.width_px, row + static_cast<ptrdiff_t>(width),
                     rolled.pixels.begin() + static_cast<ptrdiff_t>(width) * to);
  }
  return rolled;
}

MatchBatchAnswer Match(FeatureBackend& backend, std::vector<MatchJob> jobs) {
  std::binary_semaphore done(0);
  MatchBatchAnswer answer;
  backend.SubmitMatches(std::move(jobs), [&](MatchBatchAnswer given) {
    answer = std::move(given);
    done.release();
  });
  done.acquire();
  return answer;
}

}  // namespace

FrameBatchAnswer Compute(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                         std::vector<FrameJob> jobs) {
  std::binary_semaphore done(0);
  FrameBatchAnswer answer;
  backend.Submit(plan, std::move(jobs), [&](FrameBatchAnswer given) {
    answer = std::move(given);
    done.release();
  });
  done.acquire();
  return answer;
}

void ReferenceBatches::Round::Add(const Round& other) {
  upload_us += other.upload_us;
  extract_us += other.extract_us;
  download_us += other.download_us;
  match_us += other.match_us;
  features += other.features;
  matches += other.matches;
}

absl::StatusOr<std::unique_ptr<ReferenceBatches>> ReferenceBatches::Create(FeatureBackend& backend,
                                                                           const Preset& preset,
                                                                           const GreyImage& image,
                                                                           int batch) {
  std::unique_ptr<ReferenceBatches> batches(new ReferenceBatches(backend, preset));
  ORBSERVE_ASSIGN_OR_RETURN(batches->plan_,
                            backend.MakePlan({image.width_px, image.height_px, preset.pipeline}));
  batches->batch_ = std::min(batch, batches->plan_->max_batch_frames());
  for (int i = 0; i < batches->batch_; ++i) {
    batches->slots_.push_back(SlotWith(backend, Rolled(image, 7 * i, 5 * i)));
    if (batches->slots_.back() == nullptr) {
      return MakeError(ErrorReason::kOutOfMemory, "no slots for all images of a batch");
    }
  }
  // The reference is the first frame, as if it had come from a client.
  FrameParameters parameters = preset.frame;
  parameters.max_features = kReferenceVectors;
  std::vector<FrameJob> first(1);
  first[0].input = batches->slots_[0];
  first[0].parameters = parameters;
  const FrameBatchAnswer answer = Compute(backend, batches->plan_, std::move(first));
  ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
  ORBSERVE_ASSIGN_OR_RETURN(batches->reference_, backend.ImportState(answer.frames[0].features));
  return batches;
}

absl::StatusOr<ReferenceBatches::Round> ReferenceBatches::Run(int images, int in_flight,
                                                              bool matches) {
  Round round;
  std::atomic<int> next = 0;
  std::mutex mutex;
  absl::Status status;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < in_flight; ++i) {
    threads.emplace_back([&] {
      Round own;
      absl::Status failure;
      for (int first; failure.ok() && (first = next.fetch_add(batch_)) < images;) {
        failure = RunBatch(std::min(batch_, images - first), matches, &own);
      }
      const std::lock_guard lock(mutex);
      round.Add(own);
      status.Update(failure);
    });
  }
  for (std::thread& thread : threads) thread.join();
  round.wall_us = MicrosecondsSince(begin);
  ORBSERVE_RETURN_IF_ERROR(status);
  return round;
}

absl::Status ReferenceBatches::RunBatch(int images, bool matches, Round* round) const {
  std::vector<FrameJob> frames(static_cast<size_t>(images));
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].input = slots_[i];
    frames[i].parameters = preset_.frame;
    if (matches) frames[i].keep_state = KeepState::kFeatures;
  }
  const FrameBatchAnswer answer = Compute(backend_, plan_, std::move(frames));
  std::vector<MatchJob> pairs;
  for (const FrameAnswer& frame : answer.frames) {
    ORBSERVE_RETURN_IF_ERROR(frame.status);
    round->features += frame.features->count();
    if (matches) pairs.push_back({frame.state, reference_, preset_.match});
  }
  round->upload_us += static_cast<double>(answer.cost.timings.upload_ns) * 1e-3;
  round->extract_us += static_cast<double>(answer.cost.timings.compute_ns) * 1e-3;
  round->download_us += static_cast<double>(answer.cost.timings.download_ns) * 1e-3;
  if (!matches) return absl::OkStatus();
  const MatchBatchAnswer matched = Match(backend_, std::move(pairs));
  for (const MatchAnswer& pair : matched.pairs) {
    ORBSERVE_RETURN_IF_ERROR(pair.status);
    round->matches += pair.matches.count();
  }
  round->match_us += static_cast<double>(matched.cost.timings.compute_ns) * 1e-3;
  return absl::OkStatus();
}

}  // namespace orbserve::bench
