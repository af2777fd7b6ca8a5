// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream_session.h"

#include <utility>

namespace orbserve {

StreamSession::StreamSession(FeatureBackend* backend, Clock* clock, MatchQueue* matcher,
                             ReferenceStore* references, StreamSessionOptions options, Emit emit)
    : backend_(backend),
      clock_(clock),
      matcher_(matcher),
      references_(references),
      emit_(std::move(emit)),
      options_(std::make_shared<const StreamSessionOptions>(std::move(options))) {}

void StreamSession::SetOptions(StreamSessionOptions options) {
  absl::MutexLock lock(&mutex_);
  options_ = std::make_shared<const StreamSessionOptions>(std::move(options));
}

uint64_t StreamSession::AddFrame(uint64_t sequence, const MatchOptions& match,
                                 SteadyTime deadline) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = entries_.emplace_back();
  entry.options = options_;
  entry.sequence = sequence;
  entry.match = match;
  entry.deadline = deadline;
  entry.result.index = first_index_ + entries_.size() - 1;
  return entry.result.index;
}

void StreamSession::FrameDone(uint64_t index, FrameOutcome outcome) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || index < first_index_) return;
    Entry& entry = At(index);
    if (entry.extracted) return;  // failed
    entry.result.outcome = std::move(outcome);
    entry.extracted = true;
  }
  Advance();
}

void StreamSession::Fail(uint64_t index, absl::Status status) {
  MatchQueue::Ticket ticket = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || index < first_index_) return;
    Entry& entry = At(index);
    if (entry.extracted && !entry.result.outcome.status.ok()) return;  // its own failure
    ticket = entry.complete ? 0 : entry.ticket;
    entry.result.outcome = {.status = std::move(status)};
    entry.result.matches.clear();
    entry.targets.clear();
    entry.extracted = true;
    entry.complete = true;
  }
  if (ticket != 0) matcher_->Cancel(ticket);
  Advance();
}

void StreamSession::Close() {
  std::vector<MatchQueue::Ticket> tickets;
  std::deque<Entry> entries;  // freed outside the lock
  std::shared_ptr<const FrameState> previous;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    for (const Entry& entry : entries_) {
      if (entry.ticket != 0 && !entry.complete) tickets.push_back(entry.ticket);
    }
    entries.swap(entries_);
    previous.swap(previous_);
  }
  for (const MatchQueue::Ticket ticket : tickets) matcher_->Cancel(ticket);
}

void StreamSession::Advance() {
  for (;;) {
    Start start;
    StreamResult result;
    bool has_start = false;
    {
      absl::MutexLock lock(&mutex_);
      if (advancing_ || closed_) return;
      has_start = TakeStart(start);
      if (!has_start) {
        if (entries_.empty() || !entries_.front().complete) return;
        Entry& front = entries_.front();
        // Complete in time, and then held back by an earlier frame.
        if (front.result.outcome.status.ok() && clock_->Now() >= front.deadline) {
          front.result.outcome = {.status = LateStatus(WorkKind::kFrames)};
          front.result.matches.clear();
        }
        result = std::move(front.result);
        entries_.pop_front();
        ++first_index_;
      }
      advancing_ = true;
    }
    if (has_start) {
      BeginMatching(std::move(start));
    } else {
      emit_(std::move(result));
    }
    absl::MutexLock lock(&mutex_);
    advancing_ = false;
  }
}

bool StreamSession::TakeStart(Start& start) {
  while (next_match_ < first_index_ + entries_.size()) {
    Entry& entry = At(next_match_);
    if (!entry.extracted) return false;
    const uint64_t index = next_match_++;
    FrameOutcome& outcome = entry.result.outcome;
    if (!outcome.status.ok() || !entry.options->matches()) {
      entry.complete = true;
      continue;
    }
    start.options = entry.options;
    start.index = index;
    start.deadline = entry.deadline;
    start.match = entry.match;
    start.state = std::move(outcome.state);
    if (entry.options->match_previous) {
      start.previous = std::move(previous_);
      start.previous_sequence = previous_sequence_;
      previous_ = start.state;
      previous_sequence_ = entry.sequence;
    }
    entry.matching_begin = clock_->Now();
    return true;
  }
  return false;
}

void StreamSession::BeginMatching(Start start) {
  const StreamSessionOptions& options = *start.options;
  std::vector<TargetMatches> targets;
  std::vector<MatchJob> jobs;
  std::vector<size_t> job_targets;
  if (start.previous != nullptr) {
    targets.push_back({.previous_sequence = start.previous_sequence});
    jobs.push_back({start.state, std::move(start.previous), start.match});
    job_targets.push_back(0);
  }
  MatchOptions with_reference = start.match;
  with_reference.window_px = options.reference_window.window_px;
  with_reference.offset_x_px = options.reference_window.offset_x_px;
  with_reference.offset_y_px = options.reference_window.offset_y_px;
  for (const std::string& name : options.references) {
    TargetMatches target{.is_reference = true, .reference = name};
    if (auto reference = references_->Get(options.client, name); !reference.ok()) {
      target.status = reference.status();
    } else {
      target.reference_version = (*reference)->version();
      auto state = (*reference)->State(*backend_);
      target.status = state.status();
      if (state.ok()) {
        jobs.push_back({start.state, *std::move(state), with_reference});
        job_targets.push_back(targets.size());
      }
    }
    targets.push_back(std::move(target));
  }
  const bool has_jobs = !jobs.empty();
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || start.index < first_index_ || At(start.index).complete) return;
    Entry& entry = At(start.index);
    entry.result.matches = std::move(targets);
    entry.targets = std::move(job_targets);
    entry.complete = !has_jobs;
  }
  if (!has_jobs) return;
  const MatchQueue::Ticket ticket =
      matcher_->Submit(options.client, start.deadline, std::move(jobs),
                       [self = shared_from_this(), index = start.index](MatchOutcome outcome) {
                         self->OnMatched(index, std::move(outcome));
                       });
  bool cancel = false;
  {
    absl::MutexLock lock(&mutex_);
    // Closed, or failed; already answered ones are not harmed.
    cancel = closed_ || start.index < first_index_ || At(start.index).complete;
    if (!cancel) At(start.index).ticket = ticket;
  }
  if (cancel) matcher_->Cancel(ticket);
}

void StreamSession::OnMatched(uint64_t index, MatchOutcome outcome) {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || index < first_index_ || At(index).complete) return;  // failed
    Entry& entry = At(index);
    // The frame's bill has both; half of it would be misleading.
    std::optional<double>& joules = entry.result.outcome.energy_joules;
    if (joules.has_value() && outcome.status.ok()) {
      joules = outcome.energy_joules.has_value()
                   ? std::optional<double>(*joules + *outcome.energy_joules)
                   : std::nullopt;
    }
    for (size_t i = 0; i < entry.targets.size(); ++i) {
      TargetMatches& target = entry.result.matches[entry.targets[i]];
      if (!outcome.status.ok()) {
        target.status = outcome.status;
      } else if (i >= outcome.pairs.size()) {
        target.status = MakeError(ErrorReason::kInternal, "the backend answered too few pairs");
      } else {
        target.status = std::move(outcome.pairs[i].status);
        target.matches = std::move(outcome.pairs[i].matches);
      }
    }
    entry.result.match_time = clock_->Now() - entry.matching_begin;
    entry.complete = true;
  }
  Advance();
}

}  // namespace orbserve
