// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/load_result.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orbserve::cli {

double PercentileOf(const std::vector<float>& sorted, double percent) {
  if (sorted.empty()) return 0;
  // The small number keeps rounding errors from reaching the next rank.
  const double rank = std::ceil(percent * static_cast<double>(sorted.size()) / 100 - 1e-6);
  const auto index = static_cast<size_t>(std::max(rank - 1, 0.0));
  return sorted[std::min(index, sorted.size() - 1)];
}

bool KeepsUp(const LoadResult& result) {
  constexpr double kMissingShare = 0.02;
  constexpr double kMissingFrames = 2;
  if (result.sent_rate <= 0) return true;
  const double frames = static_cast<double>(result.frames);
  const double missing = frames * (1 - result.answered_rate / result.sent_rate);
  // The mean number under way is the rate times the latency, and it varies by its root.
  const double under_way = result.sent_rate * PercentileOf(result.latency_ms, 50) / 1e3;
  return missing <= kMissingShare * frames + kMissingFrames + 2 * std::sqrt(under_way);
}

void LoadRecorder::Add(const Frame& frame) {
  const auto inside = [this](absl::Time time) { return time >= from_ && time < to_; };
  const bool in_time = inside(frame.finished);
  absl::MutexLock lock(&mutex_);
  if (in_time && frame.status.ok()) ++answered_;
  if (!inside(closed_ ? frame.finished : frame.intended)) return;
  ++sent_;
  ++result_.frames;
  result_.late_ms.push_back(
      static_cast<float>(absl::ToDoubleMilliseconds(frame.started - frame.intended)));
  if (!frame.status.ok()) {
    ++result_.failed;
    if (result_.first_error.ok()) result_.first_error = frame.status;
    return;
  }
  result_.latency_ms.push_back(
      static_cast<float>(absl::ToDoubleMilliseconds(frame.finished - frame.intended)));
  result_.server_ms.push_back(static_cast<float>(static_cast<double>(frame.server_ns) / 1e6));
  batches_ += frame.batch;
  if (frame.joules.has_value()) {
    joules_ += *frame.joules;
    ++frames_with_joules_;
  }
}

LoadResult LoadRecorder::Take() {
  absl::MutexLock lock(&mutex_);
  LoadResult result = std::move(result_);
  const double seconds = absl::ToDoubleSeconds(to_ - from_);
  result.sent_rate = static_cast<double>(sent_) / seconds;
  result.answered_rate = static_cast<double>(answered_) / seconds;
  for (std::vector<float>* const samples :
       {&result.latency_ms, &result.late_ms, &result.server_ms}) {
    std::sort(samples->begin(), samples->end());
  }
  const auto count = static_cast<double>(result.latency_ms.size());
  if (count > 0) result.mean_batch = static_cast<double>(batches_) / count;
  if (frames_with_joules_ > 0) {
    result.joules_per_frame = joules_ / static_cast<double>(frames_with_joules_);
  }
  return result;
}

}  // namespace orbserve::cli
