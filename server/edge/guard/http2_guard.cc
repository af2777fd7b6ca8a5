// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/http2_guard.h"

#include <algorithm>
#include <cstring>
#include <utility>

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
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr uint8_t kPadded = 8;

constexpr uint8_t kMessagePrefixBytes = 5;

constexpr int64_t kWhole = 1000;  // thousandths in one

// Processor time that gRPC takes for a call, for one that is cancelled in addition, for a frame
// that it answers, for another frame, and for the bytes of a frame.
constexpr int64_t kCallNs = 50'000;
constexpr int64_t kCancellationNs = 100'000;
constexpr int64_t kAnswerNs = 3'000;
constexpr int64_t kFrameNs = 500;
constexpr uint32_t kBytesPerNs = 2;

int64_t CostNs(uint8_t type) {
  if (type == kHeaders) return kCallNs;
  return type == kPing || type == kSettings ? kAnswerNs : kFrameNs;
}

void Earn(int64_t& left, int64_t amount, int64_t burst) {
  left = std::min(left + amount, burst * kWhole);
}

}  // namespace

bool ResetBudget::Take(const Http2GuardLimits& limits, int64_t now_ms) {
  const int64_t before_ms = refilled_ms_.exchange(now_ms, std::memory_order_relaxed);
  const int64_t earned =
      std::max<int64_t>(now_ms - before_ms, 0) * limits.address_resets_per_second;
  const int64_t most = limits.address_reset_burst * kWhole;
  int64_t used = used_.load(std::memory_order_relaxed);
  int64_t next = 0;
  do {
    // Beyond the burst nothing is owed: the budget recovers at once when the flood ends.
    next = std::min(std::max<int64_t>(used - earned, 0) + kWhole, most);
  } while (!used_.compare_exchange_weak(used, next, std::memory_order_relaxed));
  return next < most;
}

bool Http2Frames::Read(const uint8_t* bytes, size_t size, OnHeader on_header,
                       OnPayload on_payload) {
  while (size > 0) {
    size_t count = 0;
    if (preface_left_ > 0) {
      count = std::min(preface_left_, size);
      preface_left_ -= count;
    } else if (payload_left_ > 0) {
      count = std::min(payload_left_, size);
      payload_left_ -= count;
      if (!on_payload(bytes, count, payload_left_ == 0)) return false;
    } else {
      count = std::min(kHeaderBytes - header_size_, size);
      std::memcpy(header_ + header_size_, bytes, count);
      header_size_ += count;
      if (header_size_ == kHeaderBytes) {
        header_size_ = 0;
        const auto number = [this](size_t at) {
          return uint32_t{header_[at]} << 24 | uint32_t{header_[at + 1]} << 16 |
                 uint32_t{header_[at + 2]} << 8 | header_[at + 3];
        };
        const Http2Frame frame = {.length = number(0) >> 8,
                                  .type = header_[3],
                                  .flags = header_[4],
                                  .stream = number(5) & 0x7fff'ffffu};
        payload_left_ = frame.length;
        if (!on_header(frame)) return false;
      }
    }
    bytes += count;
    size -= count;
  }
  return true;
}

Http2Guard::Http2Guard(const Http2GuardLimits* limits, ResetBudget* budget, uint32_t max_calls,
                       int64_t now_ms)
    : limits_(limits),
      budget_(budget),
      max_open_calls_(int64_t{max_calls} + limits->spare_calls),
      last_call_ms_(now_ms),
      resets_left_(limits->reset_burst * kWhole),
      pings_left_(limits->ping_burst * kWhole),
      frames_left_(limits->frame_burst * kWhole),
      refilled_ms_(now_ms) {}

void Http2Guard::Sent(const uint8_t* bytes, size_t size) {
  sent_bytes_ += static_cast<int64_t>(size);
  const auto on_header = [&](const Http2Frame& frame) {
    is_reset_ = frame.type == kResetStream;
    error_code_ = 0;
    if (frame.type == kHeaders) is_answered_ = true;
    const bool has_trailers = frame.type == kHeaders && (frame.flags & kEndStream) != 0;
    if (!has_trailers && !is_reset_) return true;
    const auto call = calls_by_stream_.find(frame.stream);
    if (has_trailers && call != calls_by_stream_.end() && !call->second.is_sent) ++cancellations_;
    EndCall(frame.stream);
    return true;
  };
  const auto on_payload = [&](const uint8_t* piece, size_t count, bool is_end) {
    if (!is_reset_) return true;
    for (size_t i = 0; i < count; ++i) error_code_ = error_code_ << 8 | piece[i];
    // A server that has answered early says so without an error.
    if (is_end && error_code_ != 0) ++cancellations_;
    return true;
  };
  answers_.Read(bytes, size, on_header, on_payload);
}

CloseReason Http2Guard::Received(const uint8_t* bytes, size_t size, int64_t now_ms) {
  if (violation_ != CloseReason::kEnded) return violation_;
  const auto on_header = [&](const Http2Frame& frame) {
    violation_ = OnFrame(frame, now_ms);
    return violation_ == CloseReason::kEnded;
  };
  const auto on_payload = [&](const uint8_t* piece, size_t count, bool is_end) {
    if (data_stream_ != 0 && !AddToMessage(piece, count)) violation_ = CloseReason::kMalformed;
    if (is_end && is_last_data_) EndRequest(data_stream_);
    return violation_ == CloseReason::kEnded;
  };
  frames_.Read(bytes, size, on_header, on_payload);
  return violation_;
}

CloseReason Http2Guard::OnFrame(const Http2Frame& frame, int64_t now_ms) {
  const auto [length, type, flags, stream] = frame;
  cost_ns_ += CostNs(type) + length / kBytesPerNs;
  data_stream_ = 0;
  is_last_data_ = false;
  if (in_block_ || type == kContinuation) {
    // gRPC closes the connection where another frame comes into a block.
    ++continuations_;
    in_block_ = (flags & kEndHeaders) == 0;
    return AddToBlock(length);
  }
  const bool ends_stream = (flags & kEndStream) != 0;
  const bool is_call = type == kHeaders && stream > last_stream_ && stream % 2 == 1;
  if (type == kHeaders || (type == kData && length > 0)) last_call_ms_ = now_ms;
  if (is_call) {
    if (const CloseReason violation = OnCall(stream, now_ms); violation != CloseReason::kEnded) {
      return violation;
    }
    calls_by_stream_[stream].is_sent = ends_stream;
    Earn(frames_left_, limits_->frames_per_call * kWhole, limits_->frame_burst);
    Earn(resets_left_, kWhole / limits_->calls_per_reset, limits_->reset_burst);
    Earn(pings_left_, kWhole, limits_->ping_burst);
  } else {
    if (type == kData) {
      Earn(frames_left_, int64_t{length} * kWhole / limits_->bytes_per_frame, limits_->frame_burst);
    }
    if (!Take(frames_left_, now_ms)) return CloseReason::kFrames;
  }
  switch (type) {
    case kHeaders:
      if (!is_call && ends_stream) EndRequest(stream);
      return OnHeaders(length, flags);
    case kData:
      if ((flags & kPadded) != 0) return CloseReason::kMalformed;  // gRPC refuses it too
      if (length > 0) {
        data_stream_ = stream;
        is_last_data_ = ends_stream;
      } else if (ends_stream) {
        EndRequest(stream);
      }
      return CloseReason::kEnded;
    case kResetStream:
      EndCall(stream);
      return TakeReset(now_ms) ? CloseReason::kEnded : CloseReason::kResets;
    case kPing:
    case kSettings:
      if ((flags & kAcknowledge) != 0) {
        if (type == kSettings) acknowledged_ = true;
        return CloseReason::kEnded;
      }
      return Take(pings_left_, now_ms) ? CloseReason::kEnded : CloseReason::kPings;
    default:
      return CloseReason::kEnded;
  }
}

CloseReason Http2Guard::OnCall(uint32_t stream, int64_t now_ms) {
  last_stream_ = stream;
  ++calls_;
  if (!acknowledged_ && calls_ > limits_->max_calls_unacknowledged) {
    return CloseReason::kUnacknowledged;
  }
  for (; cancellations_ > 0; --cancellations_) {
    cost_ns_ += kCancellationNs;
    if (!TakeReset(now_ms)) return CloseReason::kResets;
  }
  return open_calls() >= max_open_calls_ ? CloseReason::kResets : CloseReason::kEnded;
}

bool Http2Guard::AddToMessage(const uint8_t* bytes, size_t size) {
  const auto found = calls_by_stream_.find(data_stream_);
  if (found == calls_by_stream_.end()) return true;  // the call has ended: gRPC drops the bytes
  Call& call = found->second;
  while (size > 0) {
    if (call.prefix_size < kMessagePrefixBytes) {
      // The flag says whether the message is compressed, and nothing else.
      if (call.prefix_size == 0 && *bytes > 1) return false;
      // It is shifted out by the four bytes of the length.
      call.length = call.length << 8 | *bytes;
      ++call.prefix_size;
      ++bytes;
      --size;
      if (call.prefix_size < kMessagePrefixBytes) continue;
      if (call.length == 0) call = {};
      if (call.length >= limits_->large_message_bytes) missing_bytes_ += call.length;
      continue;
    }
    const auto count = static_cast<uint32_t>(std::min<size_t>(call.length - call.received, size));
    AddBytes(call, count);
    bytes += count;
    size -= count;
    if (call.received < call.length) break;
    EndMessage(call);
    call = {};
  }
  return true;
}

void Http2Guard::AddBytes(Call& call, uint32_t count) {
  call.received += count;
  unfinished_bytes_ += count;
  if (call.length < limits_->large_message_bytes) return;
  large_bytes_ += count;
  missing_bytes_ -= count;
}

void Http2Guard::EndMessage(Call& call) {
  unfinished_bytes_ -= call.received;
  if (call.prefix_size < kMessagePrefixBytes || call.length < limits_->large_message_bytes) return;
  large_bytes_ -= call.received;
  missing_bytes_ -= call.length - call.received;
}

void Http2Guard::EndRequest(uint32_t stream) {
  const auto found = calls_by_stream_.find(stream);
  if (found == calls_by_stream_.end()) return;
  EndMessage(found->second);
  found->second = {.is_sent = true};
}

void Http2Guard::EndCall(uint32_t stream) {
  EndRequest(stream);
  calls_by_stream_.erase(stream);
}

CloseReason Http2Guard::OnHeaders(uint32_t length, uint8_t flags) {
  in_block_ = (flags & kEndHeaders) == 0;
  block_bytes_ = 0;
  continuations_ = 0;
  return AddToBlock(length);
}

CloseReason Http2Guard::AddToBlock(uint32_t length) {
  block_bytes_ += length;  // a frame has 24 bits of length, and the bound is far from overflow
  if (block_bytes_ > limits_->max_header_block_bytes ||
      continuations_ > limits_->max_continuations) {
    return CloseReason::kHeaderBlock;
  }
  if (!acknowledged_) {
    unacknowledged_bytes_ += length;
    if (unacknowledged_bytes_ > limits_->max_header_bytes_unacknowledged) {
      return CloseReason::kUnacknowledged;
    }
  }
  return CloseReason::kEnded;
}

void Http2Guard::Refill(int64_t now_ms) {
  const int64_t passed_ms = now_ms - refilled_ms_;
  const int64_t sent = std::exchange(sent_bytes_, 0);
  refilled_ms_ = now_ms;
  // A thousandth of a second gives a thousandth of what a second gives.
  Earn(resets_left_, passed_ms * limits_->resets_per_second, limits_->reset_burst);
  Earn(pings_left_, passed_ms * limits_->pings_per_second + sent * kWhole / limits_->bytes_per_ping,
       limits_->ping_burst);
  Earn(frames_left_,
       passed_ms * limits_->frames_per_second + sent * kWhole / limits_->bytes_per_frame,
       limits_->frame_burst);
}

bool Http2Guard::Take(int64_t& left, int64_t now_ms) {
  if (left < kWhole) Refill(now_ms);
  left -= kWhole;
  return left >= 0;
}

bool Http2Guard::TakeReset(int64_t now_ms) {
  if (!Take(resets_left_, now_ms)) return false;
  if (budget_ == nullptr || budget_->Take(*limits_, now_ms)) return true;
  const int64_t used = limits_->reset_burst * kWhole - resets_left_;
  return used <= limits_->reset_burst_of_poor * kWhole;
}

}  // namespace orbserve
