// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_session.h"

#include <algorithm>
#include <utility>

#include "features/tracking/winners.h"

namespace orbserve {
namespace {

// False where no descriptors could be compared: `target` is null or its descriptors are of another
// kind. Sets without descriptors compare, so that the backend says what is wrong.
bool IsComparable(const FrameState* target, const FrameState* state) {
  return target != nullptr && state != nullptr &&
         target->descriptor_kind() == state->descriptor_kind();
}

// Adds the energy of matches or tracks to a frame's bill. Half a bill would be misleading.
void AddEnergy(const std::optional<double>& joules, std::optional<double>& sum) {
  if (!sum.has_value()) return;
  if (joules.has_value()) {
    *sum += *joules;
  } else {
    sum.reset();
  }
}

}  // namespace

// Targets and jobs of a frame's matches.
struct StreamSession::Matching {
  std::vector<TargetMatches> targets;
  std::vector<MatchJob> jobs;
  std::vector<size_t> job_targets;  // of each job: its place in `targets`
};

// A frame's tracks: searched for by a job, or known already.
struct StreamSession::Tracking {
  std::shared_ptr<const TrackPoints> points;  // null where nothing is to be searched
  FrameTracks known;
};

StreamSession::StreamSession(const StreamSessionParts& parts, StreamSessionOptions options,
                             Emit emit)
    : parts_(parts),
      emit_(std::move(emit)),
      options_(std::make_shared<const StreamSessionOptions>(std::move(options))) {}

StreamSession::~StreamSession() { Close(); }

void StreamSession::SetOptions(StreamSessionOptions options) {
  auto shared = std::make_shared<const StreamSessionOptions>(std::move(options));
  absl::MutexLock lock(&mutex_);
  options_ = std::move(shared);
}

uint64_t StreamSession::AddFrame(const StreamFrame& frame) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = entries_.emplace_back();
  entry.frame = frame;
  entry.options = options_;
  entry.result.index = first_index_ + entries_.size() - 1;
  return entry.result.index;
}

StreamSession::Entry* StreamSession::Find(uint64_t index) {
  return closed_ || index < first_index_ ? nullptr : &entries_[index - first_index_];
}

StreamSession::Entry* StreamSession::FindOpen(uint64_t index) {
  Entry* const entry = Find(index);
  return entry == nullptr || entry->is_complete ? nullptr : entry;
}

void StreamSession::FrameDone(uint64_t index, FrameOutcome outcome) {
  {
    absl::MutexLock lock(&mutex_);
    Entry* const entry = FindOpen(index);
    if (entry == nullptr) return;
    entry->is_extracted = true;
    entry->is_complete = entry->is_settled = !outcome.status.ok();
    entry->result.outcome = std::move(outcome);
  }
  Advance();
}

void StreamSession::Fail(uint64_t index, const absl::Status& status) {
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    Entry* const entry = Find(index);
    if (entry == nullptr || entry->is_settled || entry->is_emitted) return;
    FailEntry(*entry, status, released);
  }
  Release(std::move(released));
  Advance();
}

void StreamSession::Close() {
  Released released;
  Released handed_over;
  std::deque<Entry> entries;
  StreamTracks tracks;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    handed_over = std::exchange(handed_over_, {});
    for (Entry& entry : entries_) {
      if (entry.is_complete) continue;
      if (entry.match_ticket != 0) released.match_tickets.push_back(entry.match_ticket);
      if (entry.track_ticket != 0) released.track_tickets.push_back(entry.track_ticket);
    }
    entries.swap(entries_);
    std::swap(tracks, tracks_);
    released.track_bytes = -std::exchange(tracks_bytes_, 0);
    released.memory = {std::move(previous_.state), std::move(keyframe_.state),
                       std::move(tracks_from_)};
  }
  Release(std::move(handed_over));
  Release(std::move(released));
}

void StreamSession::Release(Released released) {
  for (const WorkTicket ticket : released.match_tickets) parts_.matcher->Cancel(ticket);
  for (const WorkTicket ticket : released.track_tickets) parts_.tracker->Cancel(ticket);
  if (released.track_bytes != 0) parts_.observer->OnTrackBytes(released.track_bytes);
}

void StreamSession::Advance() {
  for (;;) {
    std::optional<Start> start;
    std::optional<StreamResult> result;
    Released released;
    {
      absl::MutexLock lock(&mutex_);
      if (closed_) return;
      released = std::exchange(handed_over_, {});
      Entry* const first = entries_.empty() ? nullptr : &entries_.front();
      const bool has_result = first != nullptr && first->is_complete && !first->is_emitted;
      // To start a frame takes time. A result that is in time must not become late by it, and the
      // client of a frame that failed must not wait for it.
      const bool is_urgent =
          has_result && (!first->is_settled || !first->result.outcome.status.ok());
      if (!is_urgent && !starting_) start = TakeStart();
      if (start.has_value()) {
        starting_ = true;
      } else if (has_result) {
        first->is_emitted = true;
        result = std::move(first->result);
      }
    }
    Release(std::move(released));
    if (start.has_value()) {
      StartFrame(*std::move(start));
      absl::MutexLock lock(&mutex_);
      starting_ = false;
    } else if (result.has_value()) {
      emit_(*std::move(result));
    } else {
      return;
    }
  }
}

absl::Status StreamSession::HandOver(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return status;
  Entry& first = entries_.front();
  if (!first.is_settled) {
    if (status.ok() && parts_.clock->Now() >= first.frame.deadline) {
      status = LateStatus(WorkKind::kFrames);
    }
    if (status.ok()) {
      Commit(first, handed_over_);
    } else {
      FailEntry(first, status, handed_over_);
    }
  }
  entries_.pop_front();
  ++first_index_;
  next_start_ = std::max(next_start_, first_index_);
  return status;
}

std::optional<StreamSession::Start> StreamSession::TakeStart() {
  for (; next_start_ < first_index_ + entries_.size(); ++next_start_) {
    if (next_start_ > first_index_ && !entries_[next_start_ - 1 - first_index_].is_settled) break;
    Entry& entry = entries_[next_start_ - first_index_];
    if (entry.is_complete) continue;  // it failed
    if (!entry.is_extracted) break;
    Start start;
    start.index = next_start_++;
    start.frame = entry.frame;
    start.options = entry.options;
    start.features = entry.result.outcome.features;
    start.state = std::move(entry.result.outcome.state);
    start.previous = previous_;
    start.keyframe = keyframe_;
    if (start.options->track || tracks_.count() > 0) {
      start.tracks = std::make_unique<StreamTracks>(tracks_);
      start.tracks_from = tracks_from_;
    }
    entry.start = parts_.clock->Now();
    return start;
  }
  return std::nullopt;
}

void StreamSession::FreeKeyframesPyramid(Start* start) {
  const std::shared_ptr<const FrameState> state = start->keyframe.state;
  if (state == nullptr || state->pyramid_levels() == 0) return;
  // The stream needs this pyramid still, or has just needed it.
  if (state == start->tracks_from || state == start->previous.state) return;
  const auto features = parts_.backend->ExportState(*state);
  if (!features.ok()) return;
  auto without_pyramid = parts_.backend->ImportState(*features);
  if (!without_pyramid.ok()) return;
  start->keyframe.state = *std::move(without_pyramid);
  absl::MutexLock lock(&mutex_);
  if (keyframe_.state == state) keyframe_.state = start->keyframe.state;
}

void StreamSession::StartFrame(Start start) {
  FreeKeyframesPyramid(&start);
  const StreamSessionOptions& options = *start.options;
  std::shared_ptr<const Features> features = start.features;
  if (options.track && CutsWinners(options.pipeline)) {
    features = CutToWanted(options.pipeline, std::move(features), start.frame.max_features);
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> match_state = nullptr;
  if (options.matches()) {
    // The backend's state has all winners.
    match_state = features == start.features ? start.state : parts_.backend->ImportState(features);
  }
  Matching matching = PrepareMatching(start, match_state);
  Tracking tracking;
  const absl::Status tracking_status = PrepareTracking(start, &tracking);

  Released released;
  {
    absl::MutexLock lock(&mutex_);
    Entry* const entry = FindOpen(start.index);
    if (entry == nullptr) return;
    entry->result.outcome.features = std::move(features);
    entry->result.matches = std::move(matching.targets);
    entry->result.tracks = std::move(tracking.known);
    entry->targets = std::move(matching.job_targets);
    entry->is_matched = matching.jobs.empty();
    entry->is_tracked = tracking.points == nullptr;
    if (match_state.ok()) entry->match_state = *std::move(match_state);
    if (options.track) entry->pyramid = start.state;
    entry->winners = start.features;
    entry->tracks = std::move(start.tracks);
    if (tracking_status.ok()) {
      PartDone(*entry, released);
    } else {
      FailEntry(*entry, tracking_status, released);
    }
  }
  Release(std::move(released));
  if (!tracking_status.ok()) return;

  // The search goes first, because the next frame waits for it.
  if (tracking.points != nullptr) {
    const WorkTicket ticket = parts_.tracker->Submit(
        options.client, start.frame.deadline,
        {std::move(start.tracks_from), std::move(start.state), std::move(tracking.points),
         options.track_options},
        [self = shared_from_this(), index = start.index](TrackOutcome outcome) {
          self->OnTracked(index, std::move(outcome));
        });
    if (!KeepTicket(start.index, &Entry::track_ticket, ticket)) {
      parts_.tracker->Cancel(ticket);
      return;
    }
  }
  if (!matching.jobs.empty()) {
    const WorkTicket ticket = parts_.matcher->Submit(
        options.client, start.frame.deadline, std::move(matching.jobs),
        [self = shared_from_this(), index = start.index](MatchOutcome outcome) {
          self->OnMatched(index, std::move(outcome));
        });
    if (!KeepTicket(start.index, &Entry::match_ticket, ticket)) parts_.matcher->Cancel(ticket);
  }
}

bool StreamSession::KeepTicket(uint64_t index, WorkTicket Entry::*place, WorkTicket ticket) {
  absl::MutexLock lock(&mutex_);
  Entry* const entry = FindOpen(index);
  if (entry != nullptr) entry->*place = ticket;
  return entry != nullptr;
}

StreamSession::Matching StreamSession::PrepareMatching(
    const Start& start,
    const absl::StatusOr<std::shared_ptr<const FrameState>>& match_state) const {
  const StreamSessionOptions& options = *start.options;
  const FrameState* const query = match_state.ok() ? match_state->get() : nullptr;
  Matching matching;
  // Adds a target with the features to match against, or the error for which there are none.
  const auto add = [&](TargetMatches target,
                       const absl::StatusOr<std::shared_ptr<const FrameState>>& train,
                       const MatchOptions& match) {
    target.status = match_state.ok() ? train.status() : match_state.status();
    if (target.status.ok()) {
      matching.jobs.push_back({*match_state, *train, match});
      matching.job_targets.push_back(matching.targets.size());
    }
    matching.targets.push_back(std::move(target));
  };
  const auto has = [&](const Target& target) {
    return match_state.ok() ? IsComparable(target.state.get(), query) : target.state != nullptr;
  };
  if (options.match_previous && has(start.previous)) {
    add({.target = MatchTarget::kPrevious, .sequence = start.previous.sequence},
        start.previous.state, start.frame.match);
  }
  MatchOptions match = start.frame.match;
  match.window_px = options.reference_window.window_px;
  match.offset_x_px = options.reference_window.offset_x_px;
  match.offset_y_px = options.reference_window.offset_y_px;
  if (options.match_keyframe && has(start.keyframe)) {
    add({.target = MatchTarget::kKeyframe, .sequence = start.keyframe.sequence},
        start.keyframe.state, match);
  }
  for (const std::string& name : options.references) {
    TargetMatches target{.target = MatchTarget::kReference, .reference = name};
    auto reference = parts_.references->Get(options.client, name);
    if (!reference.ok()) {
      add(std::move(target), reference.status(), match);
      continue;
    }
    target.reference_version = (*reference)->version();
    add(std::move(target), parts_.references->State(options.client, **reference, *parts_.backend),
        match);
  }
  return matching;
}

absl::Status StreamSession::PrepareTracking(const Start& start, Tracking* tracking) {
  if (start.tracks == nullptr) return absl::OkStatus();
  if (!start.options->track) {
    start.tracks->EndAll(TrackEnd::kPipeline);
    tracking->known.ended = start.tracks->TakeEnded();
    return absl::OkStatus();
  }
  start.tracks->Configure(start.options->pipeline, start.options->track_options);
  tracking->points =
      start.tracks->Begin(start.features->image_width_px, start.features->image_height_px);
  if (tracking->points->count() > 0) return absl::OkStatus();
  tracking->points = nullptr;
  ORBSERVE_ASSIGN_OR_RETURN(
      tracking->known,
      start.tracks->Finish(
          {.candidates = start.features.get(), .max_features = start.frame.max_features}, {}));
  return absl::OkStatus();
}

void StreamSession::OnMatched(uint64_t index, MatchOutcome outcome) {
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    Entry* const entry = FindOpen(index);
    if (entry == nullptr) return;
    if (outcome.status.ok()) {
      AddEnergy(outcome.energy_joules, entry->result.outcome.energy_joules);
    }
    for (size_t i = 0; i < entry->targets.size(); ++i) {
      TargetMatches& target = entry->result.matches[entry->targets[i]];
      if (!outcome.status.ok()) {
        target.status = outcome.status;
      } else if (i >= outcome.pairs.size()) {
        target.status = MakeError(ErrorReason::kInternal, "the backend answered too few pairs");
      } else {
        target.status = std::move(outcome.pairs[i].status);
        target.matches = std::move(outcome.pairs[i].matches);
      }
    }
    entry->result.match_time = parts_.clock->Now() - entry->start;
    entry->is_matched = true;
    PartDone(*entry, released);
  }
  Release(std::move(released));
  Advance();
}

void StreamSession::OnTracked(uint64_t index, TrackOutcome outcome) {
  std::unique_ptr<StreamTracks> tracks;
  std::shared_ptr<const FrameState> pyramid;
  std::shared_ptr<const Features> winners;
  int max_features = 0;
  {
    absl::MutexLock lock(&mutex_);
    Entry* const entry = FindOpen(index);
    if (entry == nullptr) return;
    tracks = std::move(entry->tracks);
    pyramid = entry->pyramid;
    winners = entry->winners;
    max_features = entry->frame.max_features;
  }
  absl::StatusOr<FrameTracks> found = FrameTracks();
  if (!outcome.status.ok()) {
    found = outcome.status;
  } else {
    const std::shared_ptr<InputSlot> input = pyramid->input();
    found = tracks->Finish({.mask = input == nullptr ? ImageView() : ImageView(input->mask),
                            .candidates = winners.get(),
                            .max_features = max_features},
                           std::move(outcome.tracked));
  }
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    Entry* const entry = FindOpen(index);
    if (entry == nullptr) return;
    entry->result.track_time = parts_.clock->Now() - entry->start;
    if (found.ok()) {
      AddEnergy(outcome.energy_joules, entry->result.outcome.energy_joules);
      entry->tracks = std::move(tracks);
      entry->result.tracks = *std::move(found);
      entry->is_tracked = true;
      PartDone(*entry, released);
    } else {
      FailEntry(*entry, found.status(), released);
    }
  }
  Release(std::move(released));
  Advance();
}

void StreamSession::PartDone(Entry& entry, Released& released) {
  if (entry.is_tracked && !entry.is_settled) {
    // The state of the stream stays as it is until this frame is settled.
    entry.is_keyframe = entry.result.is_keyframe = BecomesKeyframe(entry);
    if (entry.frame.deadline == kNever) Commit(entry, released);
  }
  entry.is_complete = entry.is_matched && entry.is_tracked;
}

void StreamSession::FailEntry(Entry& entry, const absl::Status& status, Released& released) {
  StreamResult& result = entry.result;
  result.outcome.status = status;
  result.matches.clear();
  result.tracks = {};
  result.is_keyframe = false;
  if (entry.match_ticket != 0) released.match_tickets.push_back(entry.match_ticket);
  if (entry.track_ticket != 0) released.track_tickets.push_back(entry.track_ticket);
  released.memory.push_back(std::move(result.outcome.features));
  released.memory.push_back(std::move(result.outcome.state));
  released.memory.push_back(std::move(entry.match_state));
  released.memory.push_back(std::move(entry.pyramid));
  released.memory.push_back(std::move(entry.winners));
  released.memory.push_back(std::shared_ptr<const StreamTracks>(std::move(entry.tracks)));
  entry.is_settled = entry.is_complete = true;
}

void StreamSession::Commit(Entry& entry, Released& released) {
  const StreamSessionOptions& options = *entry.options;
  entry.is_settled = true;
  if (entry.tracks != nullptr) {
    std::swap(tracks_, *entry.tracks);
    released.memory.push_back(std::shared_ptr<const StreamTracks>(std::move(entry.tracks)));
  }
  released.memory.push_back(std::move(tracks_from_));
  tracks_from_ = tracks_.count() > 0 ? std::move(entry.pyramid) : nullptr;
  released.memory.push_back(std::move(entry.pyramid));
  released.memory.push_back(std::move(entry.winners));

  ++frames_since_keyframe_;
  if (entry.is_keyframe) {
    has_keyframe_ = true;
    frames_since_keyframe_ = 0;
    tracks_.MarkKeyframe();
    released.memory.push_back(std::move(keyframe_.state));
    keyframe_ = {entry.match_state, entry.frame.sequence};
  }
  released.memory.push_back(std::move(previous_.state));
  previous_ = {std::move(entry.match_state), entry.frame.sequence};
  // Nothing is kept that the options do not need.
  if (!options.match_keyframe) released.memory.push_back(std::exchange(keyframe_.state, nullptr));
  if (!options.match_previous) released.memory.push_back(std::exchange(previous_.state, nullptr));

  const auto bytes = static_cast<int64_t>(tracks_.size_bytes());
  released.track_bytes += bytes - std::exchange(tracks_bytes_, bytes);
}

bool StreamSession::BecomesKeyframe(const Entry& entry) const {
  if (entry.frame.keyframe) return true;
  const StreamSessionOptions& options = *entry.options;
  const KeyframeRule& rule = options.keyframe_rule;
  if (rule.empty() && !options.match_keyframe) return false;
  // A frame in the dark must not take the place of a keyframe that later frames can be matched
  // with.
  if (entry.result.outcome.features->count() == 0) return false;
  const FrameState* const state = entry.match_state.get();
  // A keyframe that cannot be matched against, for example after a change of the descriptor, is as
  // good as none.
  const bool has_keyframe =
      has_keyframe_ && (!options.match_keyframe || IsComparable(keyframe_.state.get(), state));
  if (!has_keyframe) return !options.match_keyframe || state != nullptr;
  if (rule.every_frames > 0 && frames_since_keyframe_ + 1 >= rule.every_frames) return true;
  if (rule.lost_percent == 0 || !options.track) return false;
  const StreamTracks& tracks = entry.tracks != nullptr ? *entry.tracks : tracks_;
  if (tracks.keyframe_tracks() == 0) return tracks.count() > 0;
  return int64_t{100} * tracks.keyframe_tracks_ended() >
         int64_t{rule.lost_percent} * tracks.keyframe_tracks();
}

}  // namespace orbserve
