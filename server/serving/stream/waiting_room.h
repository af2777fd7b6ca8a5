// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames of one stream that were read and wait for a place among those in flight. The room is
// bounded in frames and bytes. A frame that does not fit makes the drop policy choose who goes.
//
// A frame that arrived under BLOCK is never dropped, and never makes another frame go. There is at
// most one, because the stream stops reading while such a frame waits.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_WAITING_ROOM_H_
#define ORBSERVE_SERVER_SERVING_STREAM_WAITING_ROOM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "server/serving/stream/stream_frame.h"

namespace orbserve {

// Not thread-safe.
class WaitingRoom {
 public:
  // `max_frames` >= 1. A frame of more than `max_bytes` is taken while no other frame waits.
  WaitingRoom(int max_frames, int64_t max_bytes) : max_frames_(max_frames), max_bytes_(max_bytes) {}

  // Lets the frame in, behind all others. Returns the frames that have to go: the frame itself, or
  // some that waited.
  std::vector<StreamFramePtr> Add(const StreamFramePtr& frame) {
    std::vector<StreamFramePtr> dropped;
    if (PolicyOf(*frame) == DropPolicy::kNewest) {
      auto oldest = frames_.begin();
      while (!Fits(*frame) && oldest != frames_.end()) {
        if (PolicyOf(**oldest) == DropPolicy::kBlock) {
          ++oldest;
          continue;
        }
        bytes_ -= (*oldest)->message_bytes;
        dropped.push_back(std::move(*oldest));
        oldest = frames_.erase(oldest);
      }
    }
    if (PolicyOf(*frame) != DropPolicy::kBlock && !Fits(*frame)) {
      dropped.push_back(frame);
      return dropped;
    }
    bytes_ += frame->message_bytes;
    frames_.push_back(frame);
    return dropped;
  }

  // Takes the frame out that has waited longest. The room must not be empty.
  StreamFramePtr TakeFirst() {
    StreamFramePtr first = std::move(frames_.front());
    frames_.pop_front();
    bytes_ -= first->message_bytes;
    return first;
  }
  // Takes this frame out if it waits.
  void Take(const StreamFrame& frame) {
    const auto found = std::find_if(frames_.begin(), frames_.end(),
                                    [&](const auto& waiting) { return waiting.get() == &frame; });
    if (found == frames_.end()) return;
    frames_.erase(found);
    bytes_ -= frame.message_bytes;
  }
  void Clear() {
    bytes_ = 0;
    frames_.clear();
  }

  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  int64_t bytes() const { return bytes_; }
  // The frame that has waited longest. The room must not be empty.
  const StreamFrame& first() const { return *frames_.front(); }

 private:
  static DropPolicy PolicyOf(const StreamFrame& frame) { return frame.options->drop_policy; }
  bool Fits(const StreamFrame& frame) const {
    return frames_.empty() || (frames_.size() < static_cast<size_t>(max_frames_) &&
                               bytes_ + frame.message_bytes <= max_bytes_);
  }

  const int max_frames_;
  const int64_t max_bytes_;
  std::deque<StreamFramePtr> frames_;  // in the order of their arrival
  int64_t bytes_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_WAITING_ROOM_H_
