// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/listen/http2_guard.h"

#include <algorithm>
#include <cstring>

namespace orbserve {
namespace {

// Types and flags of RFC 9113, sections 6.1 to 6.10.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kResetStream = 3;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kPing = 6;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kAcknowledge = 1;
constexpr uint8_t kEndHeaders = 4;

constexpr int64_t kWhole = 1000;  // thousandths in one

void Earn(int64_t& left, int64_t amount, int64_t burst) {
  left = std::min(left + amount, burst * kWhole);
}

}  // namespace

Http2Guard::Http2Guard(const Http2GuardLimits* limits, int64_t now_ms)
    : limits_(limits),
      resets_left_(limits->reset_burst * kWhole),
      pings_left_(limits->ping_burst * kWhole),
      frames_left_(limits->frame_burst * kWhole),
      refilled_ms_(now_ms),
      last_call_ms_(now_ms) {}

Http2Breach Http2Guard::Received(const uint8_t* bytes, size_t size, int64_t now_ms,
                                 int64_t sent_bytes) {
  while (size > 0 && breach_ == Http2Breach::kNone) {
    if (preface_left_ > 0) {
      const auto count = static_cast<uint8_t>(std::min<size_t>(preface_left_, size));
      preface_left_ = static_cast<uint8_t>(preface_left_ - count);
      bytes += count;
      size -= count;
      continue;
    }
    if (payload_left_ > 0) {
      const auto count = static_cast<uint32_t>(std::min<size_t>(payload_left_, size));
      payload_left_ -= count;
      bytes += count;
      size -= count;
      continue;
    }
    const size_t count = std::min(kFrameHeaderBytes - header_size_, size);
    std::memcpy(header_ + header_size_, bytes, count);
    header_size_ = static_cast<uint8_t>(header_size_ + count);
    bytes += count;
    size -= count;
    if (header_size_ < kFrameHeaderBytes) break;
    header_size_ = 0;
    breach_ = OnFrame(now_ms, sent_bytes);
  }
  return breach_;
}

Http2Breach Http2Guard::OnFrame(int64_t now_ms, int64_t sent_bytes) {
  const uint32_t length = uint32_t{header_[0]} << 16 | uint32_t{header_[1]} << 8 | header_[2];
  const uint8_t type = header_[3];
  const uint8_t flags = header_[4];
  const uint32_t stream = (uint32_t{header_[5]} << 24 | uint32_t{header_[6]} << 16 |
                           uint32_t{header_[7]} << 8 | header_[8]) &
                          0x7fff'ffffu;
  payload_left_ = length;
  if (in_block_ || type == kContinuation) {
    // gRPC closes the connection where another frame comes into a block.
    ++continuations_;
    in_block_ = (flags & kEndHeaders) == 0;
    return AddToBlock(length);
  }
  const bool is_call = type == kHeaders && stream > last_stream_ && stream % 2 == 1;
  if (type == kHeaders || (type == kData && length > 0)) last_call_ms_ = now_ms;
  if (is_call) {
    Earn(frames_left_, limits_->frames_per_call * kWhole, limits_->frame_burst);
    Earn(resets_left_, kWhole / limits_->calls_per_reset, limits_->reset_burst);
    Earn(pings_left_, kWhole, limits_->ping_burst);
  } else {
    if (type == kData) {
      Earn(frames_left_, int64_t{length} * kWhole / limits_->bytes_per_frame, limits_->frame_burst);
    }
    if (!Take(frames_left_, now_ms, sent_bytes)) return Http2Breach::kFrames;
  }
  switch (type) {
    case kHeaders:
      return OnHeaders(length, flags, is_call ? stream : 0);
    case kResetStream:
      return Take(resets_left_, now_ms, sent_bytes) ? Http2Breach::kNone : Http2Breach::kResets;
    case kPing:
      if ((flags & kAcknowledge) != 0) return Http2Breach::kNone;
      return Take(pings_left_, now_ms, sent_bytes) ? Http2Breach::kNone : Http2Breach::kPings;
    case kSettings:
      if ((flags & kAcknowledge) != 0) acknowledged_ = true;
      return Http2Breach::kNone;
    default:
      return Http2Breach::kNone;
  }
}

// `stream`: 0 where the block opens no call.
Http2Breach Http2Guard::OnHeaders(uint32_t length, uint8_t flags, uint32_t stream) {
  in_block_ = (flags & kEndHeaders) == 0;
  block_bytes_ = 0;
  continuations_ = 0;
  if (stream != 0) {
    last_stream_ = stream;
    ++calls_;
    if (!acknowledged_ && calls_ > limits_->max_calls_unacknowledged) {
      return Http2Breach::kUnacknowledged;
    }
  }
  return AddToBlock(length);
}

Http2Breach Http2Guard::AddToBlock(uint32_t length) {
  block_bytes_ += length;  // a frame has 24 bits of length, and the bound is far from overflow
  if (block_bytes_ > limits_->max_header_block_bytes ||
      continuations_ > limits_->max_continuations) {
    return Http2Breach::kHeaderBlock;
  }
  if (!acknowledged_) {
    unacknowledged_bytes_ += length;
    if (unacknowledged_bytes_ > limits_->max_header_bytes_unacknowledged) {
      return Http2Breach::kUnacknowledged;
    }
  }
  return Http2Breach::kNone;
}

void Http2Guard::Refill(int64_t now_ms, int64_t sent_bytes) {
  const int64_t passed_ms = now_ms - refilled_ms_;
  const int64_t sent = sent_bytes - sent_seen_;
  refilled_ms_ = now_ms;
  sent_seen_ = sent_bytes;
  // A thousandth of a second gives a thousandth of what a second gives.
  resets_left_ += passed_ms * limits_->resets_per_second;
  pings_left_ += passed_ms * limits_->pings_per_second + sent * kWhole / limits_->bytes_per_ping;
  frames_left_ += passed_ms * limits_->frames_per_second + sent * kWhole / limits_->bytes_per_frame;
  resets_left_ = std::min(resets_left_, limits_->reset_burst * kWhole);
  pings_left_ = std::min(pings_left_, limits_->ping_burst * kWhole);
  frames_left_ = std::min(frames_left_, limits_->frame_burst * kWhole);
}

bool Http2Guard::Take(int64_t& left, int64_t now_ms, int64_t sent_bytes) {
  if (left < kWhole) Refill(now_ms, sent_bytes);
  left -= kWhole;
  return left >= 0;
}

}  // namespace orbserve
