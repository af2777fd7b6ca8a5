// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/pipeline_watch.h"

#include <utility>

namespace orbserve {

PipelineWatch::PipelineWatch(std::vector<Look> queues, std::function<uint64_t()> progress)
    : queues_(std::move(queues)), progress_(std::move(progress)), ended_(queues_.size(), 0) {}

bool PipelineWatch::Moves() {
  absl::MutexLock lock(&mutex_);
  const uint64_t progress = progress_();
  bool moves = true;
  std::vector<int64_t> ended = ended_;
  for (size_t i = 0; i < queues_.size(); ++i) {
    const BatchMotion motion = queues_[i]();
    moves = moves && (motion.in_flight == 0 || motion.ended != ended_[i]);
    ended[i] = motion.ended;
  }
  if (!moves && progress == seen_progress_) return false;
  ended_ = std::move(ended);
  seen_progress_ = progress;
  return true;
}

}  // namespace orbserve
