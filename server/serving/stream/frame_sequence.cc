// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/frame_sequence.h"

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

FrameSequence::~FrameSequence() {
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    released = Close();
  }
  Release(std::move(released));
}

void FrameSequence::Append(const StreamFramePtr& frame) {
  frame->index = first_index_ + frames_.size();
  frames_.push_back(frame);
}

void FrameSequence::Extracted(StreamFrame& frame) {
  if (!IsOpen(frame)) return;
  frame.is_extracted = true;
  frame.is_complete = frame.is_settled = !frame.outcome.status.ok();
  frame.result.outcome = std::move(frame.outcome);
  if (!frame.is_complete) {
    const StreamOptions& options = *frame.options;
    EnterPhase(frame, options.track       ? FramePhase::kTrackQueue
                      : options.matches() ? FramePhase::kMatchQueue
                                          : FramePhase::kSend);
  }
}

void FrameSequence::EnterPhase(StreamFrame& frame, FramePhase phase) const {
  frame.result.outcome.times.Enter(phase, parts_.clock->Now());
}

void FrameSequence::SpendSinceStart(StreamFrame& frame, FramePhase phase,
                                    std::chrono::nanoseconds queued) const {
  const SteadyTime now = parts_.clock->Now();
  frame.result.outcome.times.Spend(phase, now - frame.start - queued, now);
}

void FrameSequence::Fail(StreamFrame& frame, const absl::Status& status, Released& released) {
  if (!closed_ && !frame.is_settled && !frame.is_given) FailFrame(frame, status, released);
}

FrameSequence::Released FrameSequence::Close() {
  if (std::exchange(closed_, true)) return {};
  Released released = std::exchange(handed_over_, {});
  for (const StreamFramePtr& frame : frames_) {
    if (!frame->is_complete) {
      if (frame->match_ticket != 0) released.match_tickets.push_back(frame->match_ticket);
      if (frame->track_ticket != 0) released.track_tickets.push_back(frame->track_ticket);
    }
    released.memory.push_back(frame);
  }
  frames_.clear();
  auto tracks = std::make_shared<StreamTracks>();
  std::swap(*tracks, tracks_);
  released.track_bytes -= std::exchange(tracks_bytes_, 0);
  released.Take(tracks, previous_.state, keyframe_.state, tracks_from_);
  return released;
}

void FrameSequence::Release(Released released) {
  for (const WorkTicket ticket : released.frame_tickets) parts_.batcher->Cancel(ticket);
  for (const WorkTicket ticket : released.match_tickets) parts_.matcher->Cancel(ticket);
  for (const WorkTicket ticket : released.track_tickets) parts_.tracker->Cancel(ticket);
  if (released.track_bytes != 0) parts_.observer->OnTrackBytes(released.track_bytes);
}

void FrameSequence::Advance() {
  bool has_started = false;
  StreamFramePtr encoded;
  for (;;) {
    std::optional<Start> start;
    Released released;
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(has_started, false)) starting_ = false;
      if (closed_) return;
      if (encoded != nullptr) GiveOut(std::exchange(encoded, nullptr));
      released = std::exchange(handed_over_, {});
      StreamFrame* const first = frames_.empty() ? nullptr : frames_.front().get();
      const bool has_result = first != nullptr && first->is_complete && !first->is_given;
      // To start a frame takes time. A result that is in time must not become late by it, and the
      // client of a frame that failed must not wait for it.
      const bool is_urgent =
          has_result && (!first->is_settled || !first->result.outcome.status.ok());
      if (!is_urgent && !starting_) start = TakeStart();
      if (start.has_value()) {
        starting_ = has_started = true;
      } else if (has_result) {
        first->is_given = true;
        encoded = frames_.front();
      }
    }
    Release(std::move(released));
    if (start.has_value()) {
      StartFrame(*std::move(start));
    } else if (encoded != nullptr) {
      Encode(*encoded);
    } else {
      return;
    }
  }
}

absl::Status FrameSequence::HandOver(absl::Status status) {
  const StreamFramePtr first = std::move(frames_.front());
  frames_.pop_front();
  ++first_index_;
  next_start_ = std::max(next_start_, first_index_);
  if (first->is_settled) return status;
  status = InTime(WorkKind::kFrames, std::move(status), parts_.clock->Now(), first->deadline);
  if (status.ok()) {
    Commit(*first, handed_over_);
  } else {
    FailFrame(*first, status, handed_over_);
  }
  return status;
}

std::optional<FrameSequence::Start> FrameSequence::TakeStart() {
  for (; next_start_ < first_index_ + frames_.size(); ++next_start_) {
    if (next_start_ > first_index_ && !frames_[next_start_ - 1 - first_index_]->is_settled) break;
    const StreamFramePtr& frame = frames_[next_start_ - first_index_];
    if (frame->is_complete) continue;  // it failed
    if (!frame->is_extracted) break;
    Start start;
    ++next_start_;
    start.frame = frame;
    start.features = frame->result.outcome.features;
    start.state = std::move(frame->result.outcome.state);
    start.previous = previous_;
    start.keyframe = keyframe_;
    if (frame->options->track || tracks_.count() > 0) {
      start.tracks = std::make_unique<StreamTracks>(tracks_);
      start.tracks_from = tracks_from_;
    }
    frame->start = parts_.clock->Now();
    return start;
  }
  return std::nullopt;
}

void FrameSequence::FreeKeyframesPyramid(Start* start) {
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

void FrameSequence::StartFrame(Start start) {
  FreeKeyframesPyramid(&start);
  StreamFrame& frame = *start.frame;
  const StreamOptions& options = *frame.options;
  std::shared_ptr<const Features> features = start.features;
  if (options.track && CutsWinners(options.pipeline)) {
    features = CutToWanted(options.pipeline, std::move(features), frame.max_features);
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> match_state = nullptr;
  if (options.matches()) {
    // The backend's state has all winners.
    match_state = features == start.features ? start.state : parts_.backend->ImportState(features);
  }
  PrepareMatching(match_state, &start);
  const absl::Status tracking_status = PrepareTracking(&start);

  Released released;
  {
    absl::MutexLock lock(&mutex_);
    if (!IsOpen(frame)) return;
    frame.result.outcome.features = std::move(features);
    frame.result.matches = std::move(start.targets);
    frame.result.tracks = std::move(start.known_tracks);
    frame.targets = std::move(start.job_targets);
    frame.is_matched = start.jobs.empty();
    frame.is_tracked = start.points == nullptr;
    if (match_state.ok()) frame.match_state = *std::move(match_state);
    if (options.track) frame.pyramid = start.state;
    frame.winners = start.features;
    frame.tracks = std::move(start.tracks);
    if (frame.is_tracked) {
      EnterPhase(frame, frame.is_matched ? FramePhase::kSend : FramePhase::kMatchQueue);
    }
    if (tracking_status.ok()) {
      PartDone(frame, released);
    } else {
      FailFrame(frame, tracking_status, released);
    }
  }
  Release(std::move(released));
  if (!tracking_status.ok()) return;

  // The search goes first, because the next frame waits for it.
  if (start.points != nullptr) {
    const WorkTicket ticket = parts_.tracker->Submit(
        options.client, frame.deadline,
        {std::move(start.tracks_from), std::move(start.state), std::move(start.points),
         options.track_options},
        [self = shared_from_this(), tracked = start.frame](TrackOutcome outcome) {
          self->OnTracked(*tracked, std::move(outcome));
        });
    if (!KeepTicket(frame, &StreamFrame::track_ticket, ticket)) {
      parts_.tracker->Cancel(ticket);
      return;
    }
  }
  if (!start.jobs.empty()) {
    const WorkTicket ticket = parts_.matcher->Submit(
        options.client, frame.deadline, std::move(start.jobs),
        [self = shared_from_this(), matched = start.frame](MatchOutcome outcome) {
          self->OnMatched(*matched, std::move(outcome));
        });
    if (!KeepTicket(frame, &StreamFrame::match_ticket, ticket)) parts_.matcher->Cancel(ticket);
  }
}

bool FrameSequence::KeepTicket(StreamFrame& frame, WorkTicket StreamFrame::*place,
                               WorkTicket ticket) {
  absl::MutexLock lock(&mutex_);
  if (IsOpen(frame)) frame.*place = ticket;
  return IsOpen(frame);
}

void FrameSequence::PrepareMatching(
    const absl::StatusOr<std::shared_ptr<const FrameState>>& match_state, Start* start) const {
  const StreamFrame& frame = *start->frame;
  const StreamOptions& options = *frame.options;
  const FrameState* const query = match_state.ok() ? match_state->get() : nullptr;
  // Adds a target with the features to match against, or the error for which there are none.
  const auto add = [&](TargetMatches target,
                       const absl::StatusOr<std::shared_ptr<const FrameState>>& train,
                       const MatchOptions& match) {
    target.status = match_state.ok() ? train.status() : match_state.status();
    if (target.status.ok()) {
      start->jobs.push_back({*match_state, *train, match});
      start->job_targets.push_back(start->targets.size());
    }
    start->targets.push_back(std::move(target));
  };
  const auto has = [&](const Target& target) {
    return match_state.ok() ? IsComparable(target.state.get(), query) : target.state != nullptr;
  };
  if (options.match_previous && has(start->previous)) {
    add({.target = MatchTarget::kPrevious, .sequence = start->previous.sequence},
        start->previous.state, frame.match);
  }
  MatchOptions match = frame.match;
  match.window_px = options.reference_window.window_px;
  match.offset_x_px = options.reference_window.offset_x_px;
  match.offset_y_px = options.reference_window.offset_y_px;
  if (options.match_keyframe && has(start->keyframe)) {
    add({.target = MatchTarget::kKeyframe, .sequence = start->keyframe.sequence},
        start->keyframe.state, match);
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
}

absl::Status FrameSequence::PrepareTracking(Start* start) {
  if (start->tracks == nullptr) return absl::OkStatus();
  const StreamFrame& frame = *start->frame;
  const Features& features = *start->features;
  if (!frame.options->track) {
    start->tracks->EndAll(TrackEnd::kPipeline);
    start->known_tracks.ended = start->tracks->TakeEnded();
    return absl::OkStatus();
  }
  start->tracks->Configure(frame.options->pipeline, frame.options->track_options);
  start->points = start->tracks->Begin(features.image_width_px, features.image_height_px);
  if (start->points->count() > 0) return absl::OkStatus();
  start->points = nullptr;
  ORBSERVE_ASSIGN_OR_RETURN(
      start->known_tracks,
      start->tracks->Finish({.candidates = &features, .max_features = frame.max_features}, {}));
  return absl::OkStatus();
}

void FrameSequence::OnMatched(StreamFrame& frame, MatchOutcome outcome) {
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    if (!IsOpen(frame)) return;
    if (outcome.status.ok()) {
      AddEnergy(outcome.energy_joules, frame.result.outcome.energy_joules);
    }
    for (size_t i = 0; i < frame.targets.size(); ++i) {
      TargetMatches& target = frame.result.matches[frame.targets[i]];
      if (!outcome.status.ok()) {
        target.status = outcome.status;
      } else {
        target.status = std::move(outcome.pairs[i].status);
        target.matches = std::move(outcome.pairs[i].matches);
      }
    }
    frame.is_matched = true;
    if (frame.is_tracked) {
      SpendSinceStart(frame, FramePhase::kMatch, outcome.queued);
      EnterPhase(frame, FramePhase::kSend);
    }
    PartDone(frame, released);
  }
  Release(std::move(released));
  Advance();
}

void FrameSequence::OnTracked(StreamFrame& frame, TrackOutcome outcome) {
  std::unique_ptr<StreamTracks> tracks;
  std::shared_ptr<const FrameState> pyramid;
  std::shared_ptr<const Features> winners;
  {
    absl::MutexLock lock(&mutex_);
    if (!IsOpen(frame)) return;
    tracks = std::move(frame.tracks);
    pyramid = frame.pyramid;
    winners = frame.winners;
  }
  absl::StatusOr<FrameTracks> found = FrameTracks();
  if (!outcome.status.ok()) {
    found = outcome.status;
  } else {
    const std::shared_ptr<InputSlot> input = pyramid->input();
    found = tracks->Finish({.mask = input == nullptr ? ImageView() : ImageView(input->mask),
                            .candidates = winners.get(),
                            .max_features = frame.max_features},
                           std::move(outcome.tracked));
  }
  Released released;
  {
    absl::MutexLock lock(&mutex_);
    if (!IsOpen(frame)) return;
    SpendSinceStart(frame, FramePhase::kTrack, outcome.queued);
    EnterPhase(frame, frame.is_matched ? FramePhase::kSend : FramePhase::kMatchQueue);
    if (found.ok()) {
      AddEnergy(outcome.energy_joules, frame.result.outcome.energy_joules);
      frame.tracks = std::move(tracks);
      frame.result.tracks = *std::move(found);
      frame.is_tracked = true;
      PartDone(frame, released);
    } else {
      FailFrame(frame, found.status(), released);
    }
  }
  Release(std::move(released));
  Advance();
}

void FrameSequence::PartDone(StreamFrame& frame, Released& released) {
  if (frame.is_tracked && !frame.is_settled) {
    // The state of the stream stays as it is until this frame is settled.
    frame.becomes_keyframe = frame.result.is_keyframe = BecomesKeyframe(frame);
    if (frame.deadline == kNever) Commit(frame, released);
  }
  frame.is_complete = frame.is_matched && frame.is_tracked;
}

void FrameSequence::FailFrame(StreamFrame& frame, const absl::Status& status, Released& released) {
  StreamResult& result = frame.result;
  result.outcome.status = status;
  result.matches.clear();
  result.tracks = {};
  result.is_keyframe = false;
  if (frame.match_ticket != 0) released.match_tickets.push_back(frame.match_ticket);
  if (frame.track_ticket != 0) released.track_tickets.push_back(frame.track_ticket);
  released.Take(result.outcome.features, result.outcome.state, frame.match_state, frame.pyramid,
                frame.winners, frame.tracks);
  frame.is_settled = frame.is_complete = true;
}

void FrameSequence::Commit(StreamFrame& frame, Released& released) {
  const StreamOptions& options = *frame.options;
  frame.is_settled = true;
  if (frame.tracks != nullptr) std::swap(tracks_, *frame.tracks);
  released.Take(frame.tracks, tracks_from_);
  tracks_from_ = tracks_.count() > 0 ? std::move(frame.pyramid) : nullptr;
  released.Take(frame.pyramid, frame.winners);

  ++frames_since_keyframe_;
  if (frame.becomes_keyframe) {
    has_keyframe_ = true;
    frames_since_keyframe_ = 0;
    tracks_.MarkKeyframe();
    released.Take(keyframe_.state);
    keyframe_ = {frame.match_state, frame.sequence};
  }
  released.Take(previous_.state);
  previous_ = {std::move(frame.match_state), frame.sequence};
  // Nothing is kept that the options do not need.
  if (!options.match_keyframe) released.Take(keyframe_.state);
  if (!options.match_previous) released.Take(previous_.state);

  const auto bytes = static_cast<int64_t>(tracks_.size_bytes());
  released.track_bytes += bytes - std::exchange(tracks_bytes_, bytes);
}

bool FrameSequence::BecomesKeyframe(const StreamFrame& frame) const {
  if (frame.keyframe) return true;
  const StreamOptions& options = *frame.options;
  const KeyframeRule& rule = options.keyframe_rule;
  if (rule.empty() && !options.match_keyframe) return false;
  // A frame in the dark must not take the place of a keyframe that later frames can be matched
  // with.
  if (frame.result.outcome.features->count() == 0) return false;
  const FrameState* const state = frame.match_state.get();
  // A keyframe that cannot be matched against, for example after a change of the descriptor, is as
  // good as none.
  const bool has_keyframe =
      has_keyframe_ && (!options.match_keyframe || IsComparable(keyframe_.state.get(), state));
  if (!has_keyframe) return !options.match_keyframe || state != nullptr;
  if (rule.every_frames > 0 && frames_since_keyframe_ + 1 >= rule.every_frames) return true;
  if (rule.lost_percent == 0 || !options.track) return false;
  const StreamTracks& tracks = frame.tracks != nullptr ? *frame.tracks : tracks_;
  if (tracks.keyframe_tracks() == 0) return tracks.count() > 0;
  return int64_t{100} * tracks.keyframe_tracks_ended() >
         int64_t{rule.lost_percent} * tracks.keyframe_tracks();
}

}  // namespace orbserve
