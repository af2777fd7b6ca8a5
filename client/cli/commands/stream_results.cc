// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/stream_results.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands/failure.h"
#include "client/cli/output/drawing/overlay.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {

StreamResults::StreamResults(const StreamListing* listing, StreamPictures* pictures, bool tracks,
                             int64_t frame_count, Console* console)
    : listing_(listing),
      pictures_(pictures),
      tracks_(tracks),
      frame_count_(frame_count),
      console_(console) {
  console_->Output(listing_->Heading());
}

void StreamResults::Take(const FrameSender::Sent& sent, v1::FrameResult result,
                         const client::FrameTimes& times, const client::LinkState& link) {
  link_ = link;
  StreamRow row{.name = sent.name, .result = &result, .times = times, .truth = sent.truth};
  if (const absl::Status status = client::StatusFromWire(result.status()); !status.ok()) {
    TakeFailed(sent, result.sequence(), status);
    Print(std::move(row));
    return;
  }
  pace_.Take(absl::Now(), times.age);
  const v1::FrameMatches* previous = CheckMatches(sent, result);
  if (previous != nullptr && previous->target_sequence() == previous_sequence_) {
    row.previous = &previous_;
  }
  if (tracks_) {
    tails_.Take(result, sent.truth);
    track_sum_ += result.tracks_size();
    ++tracked_;
    if (sent.truth.has_value()) row.track_error_px = tails_.MedianErrorPx(*sent.truth);
  }
  absl::Status drawn;
  if (sent.picture.has_value()) {
    absl::StatusOr<std::string> path = Draw(sent, result, previous);
    drawn = path.status();
    if (path.ok()) row.overlay = *std::move(path);
  }
  if (drawn.ok()) {
    ++totals_.done;
    if (previous != nullptr) ++totals_.matched;
  } else {
    TakeFailed(sent, result.sequence(), drawn);
  }
  // The answer is there, also when its picture is not.
  Print(std::move(row));
  previous_ = std::move(*result.mutable_features());
  previous_sequence_ = result.sequence();
}

void StreamResults::Take(const client::StreamEvent& event) {
  switch (event.kind) {
    case client::StreamEvent::Kind::kLost:
      lost_.insert(event.lost_sequences.begin(), event.lost_sequences.end());
      // A connection may be lost before it has answered a frame: the row tells of both losses.
      if (!reconnected_.has_value()) reconnected_.emplace();
      reconnected_->attempts = 0;
      reconnected_->lost_sequences.insert(reconnected_->lost_sequences.end(),
                                          event.lost_sequences.begin(), event.lost_sequences.end());
      console_->Error(absl::StrCat("the connection is lost, with ", event.lost_sequences.size(),
                                   " frames; trying again: ", ErrorText(event.status)));
      break;
    case client::StreamEvent::Kind::kReconnected:
      ++totals_.reconnected;
      if (!reconnected_.has_value()) reconnected_.emplace();
      reconnected_->attempts = event.attempts;
      console_->Note(absl::StrCat("connected again after ", event.attempts,
                                  event.attempts == 1 ? " try" : " tries",
                                  tracks_ ? "; tracks begin anew" : ""));
      tails_.Clear();
      previous_.Clear();
      break;
    case client::StreamEvent::Kind::kGoingAway:
      console_->Note(absl::StrCat("the server is about to stop: ", ErrorText(event.status)));
      break;
    case client::StreamEvent::Kind::kReopened:
      break;
  }
}

double StreamResults::mean_tracks() const {
  return static_cast<double>(track_sum_) / static_cast<double>(std::max<int64_t>(tracked_, 1));
}

void StreamResults::TakeFailed(const FrameSender::Sent& sent, uint64_t sequence,
                               const absl::Status& error) {
  const v1::Status wire = client::WireStatusOf(error);
  if (wire.reason() == kDropped) {
    ++totals_.dropped;
    return;
  }
  if (wire.reason() == kLate) {
    ++totals_.late;
    return;
  }
  ++(lost_.erase(sequence) > 0 ? totals_.lost : totals_.failed);
  console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": ", ErrorText(error)));
}

void StreamResults::Print(StreamRow row) {
  // Numbers of lost frames come before the connection is there again. They are told with it.
  if (reconnected_.has_value() && reconnected_->attempts > 0) {
    row.reconnected = std::exchange(reconnected_, std::nullopt);
  }
  console_->Output(listing_->Row(row));
  if (!console_->StatusDue()) return;
  const int64_t tracks = tracks_ ? static_cast<int64_t>(tails_.tails().size()) : -1;
  console_->ShowStatus(StatusText(totals_, pace_, frame_count_, tracks, link_));
}

const v1::FrameMatches* StreamResults::CheckMatches(const FrameSender::Sent& sent,
                                                    const v1::FrameResult& result) {
  const v1::FrameMatches* previous = nullptr;
  bool any_failed = false;
  for (const v1::FrameMatches& matches : result.matches()) {
    if (matches.status().code() == 0) {
      if (matches.target() == v1::MATCH_TARGET_PREVIOUS) previous = &matches;
      continue;
    }
    any_failed = true;
    const std::string target = matches.target() == v1::MATCH_TARGET_REFERENCE
                                   ? absl::StrCat("reference ", matches.reference())
                               : matches.target() == v1::MATCH_TARGET_KEYFRAME
                                   ? std::string("the keyframe")
                                   : std::string("the frame before");
    if (!reported_.insert(target).second) continue;
    console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": no matches with ", target, ": ",
                                 ErrorText(client::StatusFromWire(matches.status()))));
  }
  if (any_failed) ++totals_.unmatched;
  return previous;
}

absl::StatusOr<std::string> StreamResults::Draw(const FrameSender::Sent& sent,
                                                const v1::FrameResult& result,
                                                const v1::FrameMatches* previous) const {
  if (tracks_) return pictures_->Write(sent.name, DrawTracks(*sent.picture, tails_));
  // The server may have matched with a frame whose answer was not in time.
  if (previous == nullptr || previous->target_sequence() != previous_sequence_) {
    return pictures_->Write(sent.name, DrawFeatures(*sent.picture, result.features()));
  }
  return pictures_->Write(
      sent.name, DrawMotion(*sent.picture, result.features(), previous_, previous->matches()));
}

}  // namespace orbserve::cli
