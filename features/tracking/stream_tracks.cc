// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/tracking/stream_tracks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/cell.h"
#include "features/algo/lucas_kanade.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "features/tracking/winners.h"

namespace orbserve {
namespace {

// Reason of a search that failed.
TrackEnd EndOf(TrackStatus status) {
  switch (status) {
    case TrackStatus::kLeftImage:
      return TrackEnd::kLeftImage;
    case TrackStatus::kNotConverged:
      return TrackEnd::kNotConverged;
    case TrackStatus::kDifferent:
      return TrackEnd::kDifferent;
    case TrackStatus::kOk:
    case TrackStatus::kNoTexture:
      break;
  }
  return TrackEnd::kNoTexture;
}

bool IsMaskedOut(const ImageView& mask, const Track& track) {
  if (mask.empty()) return false;
  constexpr int kHalf = algo::kTrackUnit / 2;
  return mask.Row((track.y + kHalf) >>
                  kTrackFractionBits)[(track.x + kHalf) >> kTrackFractionBits] == 0;
}

// Number of the cell of a level-0 pixel inside the image.
size_t CellOfPixel(const algo::CellGrid& grid, int x, int y) {
  return static_cast<size_t>(y / grid.cell_height_px * grid.columns + x / grid.cell_width_px);
}

// Level-0 pixel of a keypoint's coordinate, rounded down and clamped into the image, as in CellOf()
// of features/algo/.
int PixelOf(float coordinate, int side_px) {
  return Clamp(static_cast<int>(coordinate), 0, side_px - 1);
}

}  // namespace

void StreamTracks::Configure(const PipelineOptions& pipeline, const TrackOptions& options) {
  if (pipeline == pipeline_ && options == options_) return;
  EndAll(TrackEnd::kPipeline);
  pipeline_ = pipeline;
  options_ = options;
}

void StreamTracks::End(const State& state, TrackEnd reason) {
  ended_.push_back({state.track.id, reason});
  if (state.is_of_keyframe) ++keyframe_tracks_ended_;
}

void StreamTracks::EndAll(TrackEnd reason) {
  for (const State& state : tracks_) End(state, reason);
  tracks_.clear();
  points_.reset();
  new_patches_.reset();
  patch_values_ = 0;
}

std::shared_ptr<const TrackPoints> StreamTracks::Begin(int width_px, int height_px) {
  if (width_px != width_px_ || height_px != height_px_) EndAll(TrackEnd::kImageSize);
  width_px_ = width_px;
  height_px_ = height_px;

  auto points = std::make_shared<TrackPoints>();
  const size_t count = tracks_.size();
  points->x.reserve(count);
  points->y.reserve(count);
  for (const State& state : tracks_) {
    points->x.push_back(state.track.x);
    points->y.push_back(state.track.y);
  }
  if (!KeepsPatches()) {
    points->gain.assign(count, 0.0f);
    points->offset.assign(count, 0.0f);
  } else {
    const auto with_patches =
        static_cast<size_t>(std::count_if(tracks_.begin(), tracks_.end(), [](const State& state) {
          return state.patches != nullptr;
        }));
    points->patches.reserve(with_patches * patch_values_);
    int32_t row = 0;
    for (State& state : tracks_) {
      points->gain.push_back(state.track.alpha);
      points->offset.push_back(state.track.beta);
      points->template_x.push_back(state.template_x);
      points->template_y.push_back(state.template_y);
      points->patch_row.push_back(state.patches != nullptr ? row++ : -1);
      if (state.patches == nullptr) continue;
      points->patches.insert(points->patches.end(), state.patches, state.patches + patch_values_);
      state.patches = points->patches.data() + points->patches.size() - patch_values_;
    }
  }
  points_ = std::move(points);
  new_patches_.reset();  // all patches lie in `points_` now
  return points_;
}

absl::StatusOr<FrameTracks> StreamTracks::Finish(const FrameOfTracks& frame,
                                                 TrackedPoints tracked) {
  const auto fresh = static_cast<size_t>(
      KeepsPatches() ? std::count_if(tracks_.begin(), tracks_.end(),
                                     [](const State& state) { return state.patches == nullptr; })
                     : 0);
  const size_t values = fresh > 0 ? tracked.patches.size() / fresh : 0;
  if (tracked.count() != tracks_.size() || tracked.patches.size() != values * fresh ||
      (fresh > 0 && (values == 0 || (patch_values_ != 0 && values != patch_values_)))) {
    return MakeError(ErrorReason::kInternal,
                     absl::StrCat("a search for ", tracks_.size(), " tracks, ", fresh,
                                  " of them new, was answered with ", tracked.count(),
                                  " points and ", tracked.patches.size(), " values of patches"));
  }
  const int16_t* new_patches = nullptr;
  if (fresh > 0) {
    patch_values_ = values;
    new_patches_ = std::make_shared<const std::vector<int16_t>>(std::move(tracked.patches));
    new_patches = new_patches_->data();
  }

  std::vector<State> survivors;
  survivors.reserve(tracks_.size());
  for (size_t i = 0; i < tracks_.size(); ++i) {
    State state = tracks_[i];
    if (KeepsPatches() && state.patches == nullptr) {
      state.patches = new_patches;
      new_patches += values;
    }
    if (tracked.status[i] != TrackStatus::kOk) {
      End(state, EndOf(tracked.status[i]));
      continue;
    }
    state.track.x = tracked.x[i];
    state.track.y = tracked.y[i];
    state.track.alpha = tracked.gain[i];
    state.track.beta = tracked.offset[i];
    state.track.residual = tracked.residual[i];
    if (IsMaskedOut(frame.mask, state.track)) {
      End(state, TrackEnd::kMasked);
      continue;
    }
    ++state.track.age_frames;
    survivors.push_back(state);
  }
  tracks_ = std::move(survivors);

  const auto wanted = static_cast<int64_t>(frame.max_features);
  const auto count = static_cast<int64_t>(tracks_.size());
  if (count == 0 || 100 * count < options_.redetect_percent * wanted) {
    BeginTracks(frame, static_cast<size_t>(wanted));
  }

  FrameTracks answer;
  answer.tracks.reserve(tracks_.size());
  for (const State& state : tracks_) answer.tracks.push_back(state.track);
  answer.ended = TakeEnded();
  return answer;
}

void StreamTracks::BeginTracks(const FrameOfTracks& frame, size_t wanted) {
  if (tracks_.size() >= wanted) return;
  const algo::CellGrid grid = algo::CellGridOf(
      width_px_, height_px_, pipeline_.suppress.cell_width_px, pipeline_.suppress.cell_height_px);
  std::vector<bool> occupied(static_cast<size_t>(grid.count()));
  for (const State& state : tracks_) {
    occupied[CellOfPixel(grid, state.track.x >> kTrackFractionBits,
                         state.track.y >> kTrackFractionBits)] = true;
  }
  const Features& candidates = *frame.candidates;
  std::vector<size_t> free_rows;
  for (size_t row = 0; row < candidates.count(); ++row) {
    const int x = PixelOf(candidates.x[row], width_px_);
    const int y = PixelOf(candidates.y[row], height_px_);
    if (!occupied[CellOfPixel(grid, x, y)]) free_rows.push_back(row);
  }
  KeepFirstOfFrame(candidates, wanted - tracks_.size(), &free_rows);
  for (const size_t row : free_rows) {
    State& state = tracks_.emplace_back();
    state.track.id = next_id_++;
    // Places outside the image, which only given keypoints could have, move to its border.
    state.track.x =
        Clamp(algo::TrackPlace(candidates.x[row]), 0, (width_px_ - 1) * algo::kTrackUnit);
    state.track.y =
        Clamp(algo::TrackPlace(candidates.y[row]), 0, (height_px_ - 1) * algo::kTrackUnit);
    state.template_x = state.track.x;
    state.template_y = state.track.y;
  }
}

std::vector<EndedTrack> StreamTracks::TakeEnded() {
  std::vector<EndedTrack> ended = std::move(ended_);
  ended_.clear();
  std::sort(ended.begin(), ended.end(),
            [](const EndedTrack& a, const EndedTrack& b) { return a.id < b.id; });
  return ended;
}

void StreamTracks::MarkKeyframe() {
  for (State& state : tracks_) state.is_of_keyframe = true;
  keyframe_tracks_ = static_cast<int>(tracks_.size());
  keyframe_tracks_ended_ = 0;
}

size_t StreamTracks::size_bytes() const {
  const auto bytes = [](const auto& column) { return column.capacity() * sizeof(*column.data()); };
  size_t sum = bytes(tracks_) + bytes(ended_);
  if (points_ != nullptr) sum += points_->size_bytes();
  if (new_patches_ != nullptr) sum += bytes(*new_patches_);
  return sum;
}

}  // namespace orbserve
