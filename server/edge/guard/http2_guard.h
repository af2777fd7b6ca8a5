// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Follows the frames of one HTTP/2 connection as the client sends them, and says when the client
// breaks a bound that no honest client reaches. gRPC 1.51 itself neither bounds header blocks that
// never end, nor calls that are cancelled at once, nor frames that carry nothing. socket_hook.cc
// and tls_hook.cc close the connection; where all of them together hold too much, guard.cc does.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_HTTP2_GUARD_H_
#define ORBSERVE_SERVER_EDGE_GUARD_HTTP2_GUARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "server/edge/close_reason.h"

namespace orbserve {

struct Http2GuardLimits {
  // Bytes of one header block (HEADERS and its CONTINUATION frames). gRPC allows 16 KiB of metadata
  // and answers a call that has more; this bound is for blocks that cannot be such.
  uint32_t max_header_block_bytes = 64 << 10;
  uint32_t max_continuations = 64;  // CONTINUATION frames of one block
  // Calls, and bytes of their header blocks, before the client acknowledges our SETTINGS. gRPC
  // applies its limits of calls and metadata only from then on.
  uint32_t max_calls_unacknowledged = 32;
  uint32_t max_header_bytes_unacknowledged = 64 << 10;
  // Calls that the client cancels, or that the server cancels because of what the client sends or
  // of its deadline, or answers before the client has ended its part: so many at once, so many a
  // second, and a part of its calls.
  uint32_t reset_burst = 256;
  uint32_t resets_per_second = 200;
  uint32_t calls_per_reset = 4;
  // These bounds hold for all connections of an address. While it has none left, a connection that
  // has cancelled more than a few calls breaks the bound.
  uint32_t address_reset_burst = 512;
  uint32_t address_resets_per_second = 500;
  uint32_t reset_burst_of_poor = 16;
  // PING frames that want an answer: so many at once, so many a second, one for each call, and one
  // for each `bytes_per_ping` bytes that the server sends, as clients that measure the path do.
  uint32_t ping_burst = 64;
  uint32_t pings_per_second = 20;
  uint32_t bytes_per_ping = 4096;
  // Frames beside calls: so many at once, so many a second, and one for each `bytes_per_frame`
  // bytes of DATA in either direction. DATA frames count too, so those with a few bytes are few.
  uint32_t frame_burst = 10'000;
  uint32_t frames_per_second = 1000;
  uint32_t bytes_per_frame = 512;
  uint32_t frames_per_call = 16;
  // Calls that are neither answered nor cancelled, beyond those that gRPC allows. gRPC forgets a
  // call when it is cancelled, before it has freed what the call holds.
  uint32_t spare_calls = 64;
  // Messages from this size on are large: connections wait for room for them (message_room.h).
  uint32_t large_message_bytes = 512 << 10;
};

struct Http2Frame {
  uint32_t length = 0;  // of the payload, bytes
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the frames in the bytes of one direction. Not thread-safe.
class Http2Frames {
 public:
  // Both return false where the rest is of no interest.
  using OnHeader = absl::FunctionRef<bool(const Http2Frame& frame)>;
  // A piece of the payload of the last frame; `is_end`: the last one, if there was any.
  using OnPayload = absl::FunctionRef<bool(const uint8_t* bytes, size_t count, bool is_end)>;

  // `preface_bytes`: that come before the first frame.
  explicit Http2Frames(size_t preface_bytes = 0) : preface_left_(preface_bytes) {}

  // The next bytes. False where a function returned false.
  bool Read(const uint8_t* bytes, size_t size, OnHeader on_header, OnPayload on_payload);

 private:
  static constexpr size_t kHeaderBytes = 9;

  size_t preface_left_ = 0;
  size_t payload_left_ = 0;
  size_t header_size_ = 0;  // bytes in header_
  uint8_t header_[kHeaderBytes] = {};
};

// This bounds what the connections of one address may cancel together. Thread-safe.
class ResetBudget {
 public:
  constexpr ResetBudget() = default;
  // Counts one call that is cancelled. False when too many were.
  bool Take(const Http2GuardLimits& limits, int64_t now_ms);

 private:
  std::atomic<int64_t> used_{0};  // in thousandths
  std::atomic<int64_t> refilled_ms_{0};
};

// A byte that the client sends passes Received() once, one that the server sends Sent(), in order.
// Not thread-safe. The cost is that of the frame headers and calls, not of the bytes between them.
class Http2Guard {
 public:
  Http2Guard() = default;
  // `now_ms`: a clock that does not go back. `limits` and `budget` outlive the guard.
  // `max_calls`: calls that gRPC allows at a time.
  Http2Guard(const Http2GuardLimits* limits, ResetBudget* budget, uint32_t max_calls,
             int64_t now_ms);

  // Once a bound is broken, it stays so.
  CloseReason Received(const uint8_t* bytes, size_t size, int64_t now_ms);
  void Sent(const uint8_t* bytes, size_t size);

  int64_t calls() const { return calls_; }
  // Calls that have begun and that neither side has ended.
  int open_calls() const { return static_cast<int>(calls_by_stream_.size()); }
  bool is_answered() const { return is_answered_; }  // a call, in part at least
  // Time of the last frame of a call: HEADERS or DATA. That of the creation before the first.
  int64_t last_call_ms() const { return last_call_ms_; }
  // Bytes of messages that have begun and not ended. gRPC keeps them.
  int64_t unfinished_bytes() const { return unfinished_bytes_; }
  // These count the large ones of them alone: what has come, and what they lack.
  int64_t large_bytes() const { return large_bytes_; }
  int64_t missing_bytes() const { return missing_bytes_; }
  // Processor time that gRPC takes for what was received, roughly.
  int64_t cost_ns() const { return cost_ns_; }

 private:
  // An open call, and its message that comes next: gRPC puts a flag and a length of 4 bytes before
  // each.
  struct Call {
    bool is_sent = false;  // the client has ended its part
    uint8_t prefix_size = 0;
    uint32_t length = 0;
    uint32_t received = 0;  // of the length
  };

  // Refills by the time that has passed.
  void Refill(int64_t now_ms);
  CloseReason OnFrame(const Http2Frame& frame, int64_t now_ms);
  CloseReason OnHeaders(uint32_t length, uint8_t flags);
  CloseReason OnCall(uint32_t stream, int64_t now_ms);
  CloseReason AddToBlock(uint32_t length);
  // Bytes of a DATA frame; false when they cannot be of gRPC.
  bool AddToMessage(const uint8_t* bytes, size_t size);
  // So many bytes of the message of a call have come.
  void AddBytes(Call& call, uint32_t count);
  // The message of a call is complete, or will not be.
  void EndMessage(Call& call);
  // The client has ended its part of a call.
  void EndRequest(uint32_t stream);
  void EndCall(uint32_t stream);
  // Takes one of what is left; false when nothing is.
  bool Take(int64_t& left, int64_t now_ms);
  bool TakeReset(int64_t now_ms);

  const Http2GuardLimits* limits_ = nullptr;
  ResetBudget* budget_ = nullptr;
  CloseReason violation_ = CloseReason::kEnded;
  Http2Frames frames_{24};  // gRPC checks the preface
  bool in_block_ = false;
  bool acknowledged_ = false;
  bool is_last_data_ = false;  // the frame ends its stream
  uint32_t data_stream_ = 0;   // of the DATA frame whose payload comes, 0 = none
  uint32_t last_stream_ = 0;
  uint32_t block_bytes_ = 0;
  uint32_t continuations_ = 0;
  uint32_t unacknowledged_bytes_ = 0;
  int64_t max_open_calls_ = 0;
  int64_t calls_ = 0;
  int64_t last_call_ms_ = 0;
  int64_t unfinished_bytes_ = 0;
  int64_t large_bytes_ = 0;
  int64_t missing_bytes_ = 0;
  int64_t cost_ns_ = 0;
  // In thousandths of a reset, a ping and a frame.
  int64_t resets_left_ = 0;
  int64_t pings_left_ = 0;
  int64_t frames_left_ = 0;
  int64_t refilled_ms_ = 0;
  // The server's part.
  Http2Frames answers_;
  bool is_answered_ = false;
  bool is_reset_ = false;  // the payload is an error code
  uint32_t error_code_ = 0;
  int64_t sent_bytes_ = 0;  // since the last refill
  // Calls that the server has cancelled, or answered before the client had ended its part, since
  // the last call.
  int64_t cancellations_ = 0;
  // The open calls. Their number is bounded, see Http2GuardLimits::spare_calls.
  absl::flat_hash_map<uint32_t, Call> calls_by_stream_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_HTTP2_GUARD_H_
