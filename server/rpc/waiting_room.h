// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames of one stream that were read and wait for a place among those in flight. The room is
// bounded in frames and bytes. A frame that does not fit makes the drop policy choose who goes.
//
// A frame that arrived under BLOCK is never dropped, and never makes another frame go. There is at
// most one, because the stream stops reading while such a frame waits.

#ifndef ORBSERVE_SERVER_RPC_WAITING_ROOM_H_
#define ORBSERVE_SERVER_RPC_WAITING_ROOM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace orbserve {

// Choice of the frame to drop when the room is full.
enum class DropPolicy {
  kBlock,   // none: the stream reads only what it has a place for
  kNewest,  // the newest frames survive: the oldest waiting frame goes
  kOldest,  // the oldest frames survive: the arriving frame goes
};

// `Payload`: what the caller needs to begin a frame; movable. Not thread-safe.
template <typename Payload>
class WaitingRoom {
 public:
  struct Frame {
    uint64_t index = 0;  // its place in the order of the stream
    int64_t bytes = 0;   // memory that it holds while it waits
    DropPolicy policy = DropPolicy::kBlock;
    Payload payload;
  };

  // `max_frames` >= 1. A frame of more than `max_bytes` is taken while no other frame waits.
  WaitingRoom(int max_frames, int64_t max_bytes) : max_frames_(max_frames), max_bytes_(max_bytes) {}

  // Lets the frame in, behind all others. Returns the frames that have to go: the frame itself, or
  // some that waited.
  std::vector<Frame> Add(Frame frame) {
    std::vector<Frame> dropped;
    if (frame.policy == DropPolicy::kNewest) {
      auto oldest = frames_.begin();
      while (!Fits(frame) && oldest != frames_.end()) {
        if (oldest->policy == DropPolicy::kBlock) {
          ++oldest;
          continue;
        }
        bytes_ -= oldest->bytes;
        dropped.push_back(std::move(*oldest));
        oldest = frames_.erase(oldest);
      }
    }
    if (frame.policy != DropPolicy::kBlock && !Fits(frame)) {
      dropped.push_back(std::move(frame));
      return dropped;
    }
    bytes_ += frame.bytes;
    frames_.push_back(std::move(frame));
    return dropped;
  }

  // Takes the frame out that has waited longest. Nothing where none waits.
  std::optional<Frame> TakeFirst() {
    if (frames_.empty()) return std::nullopt;
    std::optional<Frame> first(std::move(frames_.front()));
    frames_.pop_front();
    bytes_ -= first->bytes;
    return first;
  }
  // Takes this frame out. Nothing where it does not wait (any more).
  std::optional<Frame> Take(uint64_t index) {
    const auto found = std::find_if(frames_.begin(), frames_.end(),
                                    [&](const Frame& frame) { return frame.index == index; });
    if (found == frames_.end()) return std::nullopt;
    std::optional<Frame> frame(std::move(*found));
    frames_.erase(found);
    bytes_ -= frame->bytes;
    return frame;
  }
  // Takes all frames out.
  std::deque<Frame> TakeAll() {
    bytes_ = 0;
    return std::exchange(frames_, {});
  }

  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  int64_t bytes() const { return bytes_; }
  // The frame that has waited longest. The room must not be empty.
  const Frame& first() const { return frames_.front(); }

 private:
  bool Fits(const Frame& frame) const {
    return frames_.empty() || (frames_.size() < static_cast<size_t>(max_frames_) &&
                               bytes_ + frame.bytes <= max_bytes_);
  }

  const int max_frames_;
  const int64_t max_bytes_;
  std::deque<Frame> frames_;  // in the order of their arrival
  int64_t bytes_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_WAITING_ROOM_H_
