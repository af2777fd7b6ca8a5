// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Counts the ends of connections by their reasons, and logs those that nobody wanted.

#ifndef ORBSERVE_SERVER_EDGE_CLOSE_COUNT_H_
#define ORBSERVE_SERVER_EDGE_CLOSE_COUNT_H_

#include <array>
#include <cstdint>
#include <string>

#include "server/edge/guard/guard.h"

namespace orbserve {

// Reasons for the end of a connection, in the order of kCloseReasonNames.
enum class CloseReason {
  kEnded,           // by the client, or by gRPC itself
  kFull,            // not accepted: all connections are in use
  kAddressFull,     // not accepted: the address has all that it may have
  kPreempted,       // closed to make room
  kNoDescriptor,    // not accepted: the process has no descriptor left
  kHeaderBlock,     // a header block is too long
  kResets,          // calls are cancelled too often
  kFrames,          // too many frames that carry nothing
  kPings,           // too many PING frames
  kMalformed,       // a message of a call cannot be one of gRPC
  kUnfinished,      // messages that do not end hold too much memory
  kUnproven,        // a client that is not known has too many open calls
  kUnacknowledged,  // calls without an acknowledgement of our SETTINGS
  kStopped,         // the server stops
};
inline constexpr std::array kCloseReasonNames = {
    "ended",  "full",  "address_full", "preempted",  "no_descriptor", "header_block",   "resets",
    "frames", "pings", "malformed",    "unfinished", "unproven",      "unacknowledged", "stopped"};

CloseReason CloseReasonOf(Http2Violation violation);

// Not thread-safe.
class CloseCount {
 public:
  // `address`: of the client; `connections`: that are open.
  void Add(CloseReason reason, const std::string& address, int connections);
  const std::array<int64_t, kCloseReasonNames.size()>& of_reasons() const { return of_reasons_; }

 private:
  std::array<int64_t, kCloseReasonNames.size()> of_reasons_ = {};
  int64_t log_second_ = 0;
  int log_lines_ = 0;
  int64_t lines_left_out_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_CLOSE_COUNT_H_
