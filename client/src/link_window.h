// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Bound on the bytes that one connection of a stream has sent and not had answered, so that frames
// wait in the client, where the drop policy chooses among them, and not in buffers of sockets,
// where they only grow old (docs/decisions/0023-frames-wait-in-the-client.md).

#ifndef ORBSERVE_CLIENT_SRC_LINK_WINDOW_H_
#define ORBSERVE_CLIENT_SRC_LINK_WINDOW_H_

#include <cstdint>

#include "absl/time/time.h"

namespace orbserve::client {

// Grows while the way to the server and back takes about as long as at its best, and shrinks to
// what such a way holds when it takes longer. Times are of any one clock. Not thread-safe.
class LinkWindow {
 public:
  // One answered frame.
  struct Sample {
    absl::Time written;       // its writing
    absl::Time arrived;       // its result here
    absl::Duration server;    // of that, the server's time
    int64_t bytes = 0;        // its size
    int64_t outstanding = 0;  // bytes under way when it was written, its own included
  };

  // `frames_at_server`: frames that keep the server busy, >= 1. More than these never wait there.
  void SetFramesAtServer(int frames) { frames_at_server_ = frames; }

  // True if a frame of `bytes` may be written at `now`: one may always be under way. If not, notes
  // that a frame waits.
  bool Admits(int64_t bytes, absl::Time now);

  // Notes a frame that is written. Returns the bytes under way with it.
  int64_t Write(int64_t bytes) { return outstanding_ += bytes; }
  // Notes that a frame is answered, or was not written after all.
  void Leave(int64_t bytes) { outstanding_ -= bytes; }
  // Adapts the bound to an answered frame.
  void Measure(const Sample& sample);

  // Time on the way of the latest frame, and the shortest one of the last 5 to 10 seconds: round
  // trips less the server's time. Zero before the first.
  absl::Duration way() const { return way_; }
  absl::Duration shortest_way() const;
  // True if what is under way may need `limit`, or nothing is known of a link that has much
  // to carry.
  bool MayTake(absl::Duration limit) const;
  // True if a frame has waited during the second before `now`, and the way takes longer than the
  // server.
  bool Limits(absl::Time now) const;

 private:
  int frames_at_server_ = 1;
  int64_t bytes_ = 0;        // the bound
  int64_t outstanding_ = 0;  // under way
  bool waits_ = false;       // a frame has waited since the bound grew
  absl::Time waited_ = absl::InfinitePast();
  absl::Time shrunk_ = absl::InfinitePast();
  absl::Duration way_;
  int64_t way_outstanding_ = 0;  // of the frame of `way_`
  absl::Duration server_;
  absl::Time since_ = absl::InfinitePast();                    // begin of `shortest_`
  absl::Duration shortest_ = absl::InfiniteDuration();         // of up to 5 seconds
  absl::Duration shortest_before_ = absl::InfiniteDuration();  // of the 5 seconds before
};

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_LINK_WINDOW_H_
