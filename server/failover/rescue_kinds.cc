// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/rescue_kinds.h"

#include <utility>

namespace orbserve {
namespace {

// Makes a state matchable by the fallback. Returns false when the primary cannot export it.
bool MoveToFallback(FeatureBackend& primary, FeatureBackend& fallback,
                    std::shared_ptr<const FrameState>* state) {
  if (*state == nullptr) return false;
  auto features = primary.ExportState(**state);
  if (!features.ok()) return fallback.ExportState(**state).ok();  // it is a state of the fallback
  auto moved = fallback.ImportState(*std::move(features));
  if (!moved.ok()) return false;
  *state = *std::move(moved);
  return true;
}

// Makes the pyramid of a state again on the fallback. Returns false where that cannot be done.
bool RebuildOnFallback(FeatureBackend& fallback, std::shared_ptr<const FrameState>* state) {
  if (*state == nullptr) return false;
  if (fallback.ExportState(**state).ok()) return true;  // it is a state of the fallback
  auto rebuilt = fallback.RebuildPyramid(**state);
  if (!rebuilt.ok()) return false;
  *state = *std::move(rebuilt);
  return true;
}

// The one part of a batch whose jobs stay together, or none without jobs.
template <typename Job>
std::vector<RescuePart<Job>> Together(RescuePart<Job> part) {
  std::vector<RescuePart<Job>> parts;
  if (!part.jobs.empty()) parts.push_back(std::move(part));
  return parts;
}

}  // namespace

std::vector<RescuePart<FrameJob>> FrameRescue::Divide(FeatureBackend&, FeatureBackend& fallback,
                                                      const Common& plan, std::vector<Job> jobs,
                                                      const std::vector<size_t>& missing) {
  std::vector<RescuePart<Job>> parts;
  if (plan == nullptr || !plan->Fallback(fallback).ok()) return parts;
  parts.resize(missing.size());
  for (size_t i = 0; i < missing.size(); ++i) {
    parts[i].places.push_back(missing[i]);
    parts[i].jobs.push_back(std::move(jobs[missing[i]]));
  }
  return parts;
}

void FrameRescue::SubmitToPrimary(FeatureBackend& primary, const Common& plan,
                                  std::vector<Job> jobs, Done done) {
  // A plan of the fallback alone exists only after the loss.
  primary.Submit(plan == nullptr ? nullptr : plan->primary(), std::move(jobs), std::move(done));
}

void FrameRescue::SubmitToFallback(FeatureBackend& fallback, const Common& plan,
                                   std::vector<Job> jobs, Done done) {
  fallback.Submit(*plan->Fallback(fallback), std::move(jobs), std::move(done));  // Divide() made it
}

std::vector<RescuePart<MatchJob>> MatchRescue::Divide(FeatureBackend& primary,
                                                      FeatureBackend& fallback, const Common&,
                                                      std::vector<Job> jobs,
                                                      const std::vector<size_t>& missing) {
  RescuePart<Job> part;
  for (const size_t index : missing) {
    Job& job = jobs[index];
    if (!MoveToFallback(primary, fallback, &job.query)) continue;
    if (!MoveToFallback(primary, fallback, &job.train)) continue;
    part.jobs.push_back(std::move(job));
    part.places.push_back(index);
  }
  return Together(std::move(part));
}

std::vector<RescuePart<TrackJob>> TrackRescue::Divide(FeatureBackend&, FeatureBackend& fallback,
                                                      const Common&, std::vector<Job> jobs,
                                                      const std::vector<size_t>& missing) {
  RescuePart<Job> part;
  for (const size_t index : missing) {
    Job& job = jobs[index];
    if (!RebuildOnFallback(fallback, &job.from)) continue;
    if (!RebuildOnFallback(fallback, &job.to)) continue;
    part.jobs.push_back(std::move(job));
    part.places.push_back(index);
  }
  return Together(std::move(part));
}

}  // namespace orbserve
