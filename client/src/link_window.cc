// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/link_window.h"

#include <algorithm>

namespace orbserve::client {
namespace {

// A way is about as short as the shortest one up to a quarter more, and up to what a busy processor
// may add.
constexpr double kNear = 1.25;
constexpr absl::Duration kNoise = absl::Milliseconds(10);
// The shortest way is forgotten after two such times, as links change.
constexpr absl::Duration kMemory = absl::Seconds(5);
// Time after a shrinking until the bound is tried upwards again. Each try on a full link lets one
// frame wait on the way.
constexpr absl::Duration kHold = absl::Seconds(1);
// Bytes that take a second over 10 Mbit/s.
constexpr int64_t kMuch = 1'250'000;

}  // namespace

bool LinkWindow::Admits(int64_t bytes, absl::Time now) {
  if (outstanding_ == 0 || outstanding_ + bytes <= bytes_) return true;
  waits_ = true;
  waited_ = now;
  return false;
}

absl::Duration LinkWindow::shortest_way() const {
  const absl::Duration shortest = std::min(shortest_, shortest_before_);
  return shortest == absl::InfiniteDuration() ? absl::ZeroDuration() : shortest;
}

bool LinkWindow::MayTake(absl::Duration limit) const {
  if (way_outstanding_ == 0) return outstanding_ > kMuch;
  const double more = static_cast<double>(outstanding_) / static_cast<double>(way_outstanding_);
  return way_ * std::max(more, 1.0) > limit;
}

bool LinkWindow::Limits(absl::Time now) const {
  return now - waited_ <= absl::Seconds(1) && way_ > server_;
}

void LinkWindow::Measure(const Sample& sample) {
  const absl::Time now = sample.arrived;
  const absl::Duration round_trip = now - sample.written;
  server_ = std::min(sample.server, round_trip);
  way_ = round_trip - server_;
  way_outstanding_ = sample.outstanding;
  // On a full link the bound is a little too high for most of the time. Without a look at the empty
  // link now and then, the shortest way would become one with a queue on it, and the bound rise.
  bool look = false;
  if (now - since_ > kMemory) {
    look = since_ != absl::InfinitePast() && now - waited_ < kHold;
    shortest_before_ = now - since_ > 2 * kMemory ? absl::InfiniteDuration() : shortest_;
    shortest_ = absl::InfiniteDuration();
    since_ = now;
  }
  shortest_ = std::min(shortest_, way_);
  const absl::Duration shortest = shortest_way();

  if (way_ <= kNear * shortest + kNoise && !look) {
    // Only a frame that filled the bound says that the link bears it.
    const bool is_full = sample.outstanding + sample.bytes > bytes_;
    if (!waits_ || !is_full || now - shrunk_ < kHold) return;
    // By Little's law: frames under way, times the share of their time that they are at the server.
    const double frames = static_cast<double>(sample.outstanding) /
                          static_cast<double>(std::max<int64_t>(sample.bytes, 1));
    const double at_server =
        frames * absl::FDivDuration(server_, std::max(round_trip, absl::Nanoseconds(1)));
    if (at_server >= frames_at_server_) return;
    // Twice as much until the link is found, then one frame more.
    const bool is_found = shrunk_ != absl::InfinitePast();
    bytes_ = std::max(bytes_, sample.outstanding) + (is_found ? sample.bytes : sample.outstanding);
    waits_ = false;
    return;
  }
  // A frame that was written before the latest shrinking tells of the time before.
  if (sample.written < shrunk_) return;
  // The bound is what the way holds while nothing waits on it, in whole frames of this size.
  const double held = static_cast<double>(sample.outstanding) * absl::FDivDuration(shortest, way_);
  bytes_ = std::min(bytes_, static_cast<int64_t>(held) + sample.bytes / 2);
  shrunk_ = now;
  waits_ = false;
}

}  // namespace orbserve::client
