// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/stream_status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace orbserve::cli {

void StreamPace::Take(absl::Time now, absl::Duration latency) {
  answers_.push_back({now, latency});
  // The oldest answer is the beginning of the window, so one of them is always kept beside it.
  while (answers_.size() > kMaxAnswers ||
         (answers_.size() > 2 && now - answers_.front().at > kWindow)) {
    answers_.pop_front();
  }
}

double StreamPace::Rate() const {
  if (answers_.size() < 2) return 0;
  const double seconds = absl::ToDoubleSeconds(answers_.back().at - answers_.front().at);
  return seconds > 0 ? static_cast<double>(answers_.size() - 1) / seconds : 0;
}

absl::Duration StreamPace::Latency() const {
  absl::Duration sum;
  for (const Answer& answer : answers_) sum += answer.latency;
  return answers_.empty() ? sum : sum / static_cast<int64_t>(answers_.size());
}

std::string StatusText(const StreamTotals& totals, const StreamPace& pace, int64_t count,
                       int64_t tracks, const client::LinkState& link) {
  std::string text = absl::StrCat(totals.answered());
  if (count > 0) absl::StrAppend(&text, "/", count);
  absl::StrAppendFormat(&text, " frames, %.1f a second, latency %.1f ms", pace.Rate(),
                        absl::ToDoubleMilliseconds(pace.Latency()));
  if (tracks >= 0) absl::StrAppend(&text, ", ", tracks, " tracks");
  absl::StrAppend(&text, NotDone(totals));
  if (link.jpeg_quality > 0) absl::StrAppend(&text, ", JPEG quality ", link.jpeg_quality);
  if (link.limits) {
    absl::StrAppendFormat(&text, ", the link limits (%.1f ms)",
                          absl::ToDoubleMilliseconds(link.way));
  }
  return text;
}

std::string NotDone(const StreamTotals& totals) {
  std::string text;
  const auto add = [&text](int64_t count, const char* what) {
    if (count > 0) absl::StrAppend(&text, ", ", count, " ", what);
  };
  add(totals.dropped, "dropped");
  add(totals.late, "late");
  add(totals.lost, "lost");
  add(totals.failed, "failed");
  return text;
}

}  // namespace orbserve::cli
