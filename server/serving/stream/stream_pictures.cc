// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_pictures.h"

#include <algorithm>
#include <utility>

namespace orbserve {

void DrawFrame(const ImageView& frame, StreamPicture* picture) {
  const int longest = std::max(frame.width_px, frame.height_px);
  const int side = (longest + kMaxPictureSidePx - 1) / kMaxPictureSidePx;
  picture->frame_width_px = frame.width_px;
  picture->frame_height_px = frame.height_px;
  // A rest at the right or lower border that fills no square is left out, unless it is all there
  // is.
  picture->width_px = std::max(1, frame.width_px / side);
  picture->height_px = std::max(1, frame.height_px / side);
  const int columns = std::min(side, frame.width_px);
  const int rows = std::min(side, frame.height_px);
  const auto width = static_cast<size_t>(picture->width_px);
  picture->pixels.resize(width * static_cast<size_t>(picture->height_px));
  std::vector<uint32_t> sums(width);
  for (int y = 0; y < picture->height_px; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int row = 0; row < rows; ++row) {
      const uint8_t* pixel = frame.Row(y * rows + row);
      for (uint32_t& sum : sums) {
        for (int column = 0; column < columns; ++column) sum += *pixel++;
      }
    }
    const auto count = static_cast<uint32_t>(rows * columns);
    std::transform(
        sums.begin(), sums.end(), picture->pixels.begin() + static_cast<ptrdiff_t>(width) * y,
        [count](uint32_t sum) { return static_cast<uint8_t>((sum + count / 2) / count); });
  }
}

std::shared_ptr<const StreamPicture> StreamPictures::Look(uint64_t stream) {
  std::shared_ptr<const StreamPicture> freed;  // without the lock
  const SteadyTime now = clock_->Now();
  absl::MutexLock lock(&mutex_);
  if (views_.size() >= kMaxStreams && views_.count(stream) == 0) {
    const auto oldest = std::min_element(
        views_.begin(), views_.end(),
        [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; });
    freed = std::move(oldest->second.picture);
    views_.erase(oldest);
  }
  View& view = views_[stream];
  view.asked = now;
  view.is_wanted = true;
  has_views_ = true;
  return view.picture;
}

bool StreamPictures::TakeRequest(uint64_t stream) {
  if (!has_views_.load(std::memory_order_relaxed)) return false;
  std::vector<std::shared_ptr<const StreamPicture>> freed;  // without the lock
  const SteadyTime now = clock_->Now();
  absl::MutexLock lock(&mutex_);
  for (auto next = views_.begin(); next != views_.end();) {
    View& view = next->second;
    const bool is_watched = now - view.asked <= kViewTime;
    if (!is_watched) freed.push_back(std::move(view.picture));
    next = is_watched ? std::next(next) : views_.erase(next);
  }
  has_views_ = !views_.empty();
  const auto found = views_.find(stream);
  return found != views_.end() && std::exchange(found->second.is_wanted, false);
}

void StreamPictures::Put(uint64_t stream, std::shared_ptr<const StreamPicture> picture) {
  absl::MutexLock lock(&mutex_);
  const auto found = views_.find(stream);
  if (found != views_.end()) found->second.picture.swap(picture);
}

}  // namespace orbserve
