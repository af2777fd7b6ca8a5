// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/track_tails.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace orbserve::cli {

void TrackTails::Take(const v1::FrameResult& result, const std::optional<TrueMotion>& truth) {
  std::map<uint64_t, Tail> next;
  for (const v1::Track& track : result.tracks()) {
    Tail tail;
    if (const auto known = tails_.find(track.id()); known != tails_.end()) {
      tail = std::move(known->second);
    } else if (truth.has_value()) {
      tail.origin = truth->to_photo(track.x(), track.y());
    }
    tail.age_frames = track.age_frames();
    tail.places.push_back({track.x(), track.y()});
    if (tail.places.size() > kPlaces) tail.places.pop_front();
    next.insert_or_assign(track.id(), std::move(tail));
  }
  tails_ = std::move(next);
}

std::optional<double> TrackTails::MedianErrorPx(const TrueMotion& truth) const {
  const Affine from_photo = truth.to_photo.Inverse();
  std::vector<double> errors;
  for (const auto& [id, tail] : tails_) {
    if (!tail.origin.has_value() || tail.places.size() < 2) continue;
    const std::array<double, 2> should = from_photo((*tail.origin)[0], (*tail.origin)[1]);
    const std::array<float, 2>& is = tail.places.back();
    errors.push_back(
        std::hypot(static_cast<double>(is[0]) - should[0], static_cast<double>(is[1]) - should[1]));
  }
  if (errors.empty()) return std::nullopt;
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

}  // namespace orbserve::cli
