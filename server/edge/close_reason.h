// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_CLOSE_REASON_H_
#define ORBSERVE_SERVER_EDGE_CLOSE_REASON_H_

#include <array>
#include <cstdint>

namespace orbserve {

// Reasons for the end of a connection, in the order of kCloseReasonNames.
enum class CloseReason : uint8_t {
  kEnded,         // by the client, or by gRPC itself
  kFull,          // not accepted: all connections are in use
  kAddressFull,   // not accepted: the address has all that it may have
  kPreempted,     // closed to make room
  kNoDescriptor,  // not accepted: the process has no descriptor left
  kStopped,       // the server stops
  // Bounds of the guard that the connection broke.
  kHeaderBlock,     // a header block is too long
  kResets,          // calls are cancelled too often
  kFrames,          // too many frames that carry nothing
  kPings,           // too many PING frames
  kMalformed,       // a message of a call cannot be one of gRPC
  kUnfinished,      // messages that do not end hold too much memory; of all connections together
  kUnproven,        // a client that is not known has too many open calls; of all together
  kUnacknowledged,  // calls without an acknowledgement of our SETTINGS
};
inline constexpr std::array kCloseReasonNames = {
    "ended",  "full",   "address_full", "preempted", "no_descriptor", "stopped",  "header_block",
    "resets", "frames", "pings",        "malformed", "unfinished",    "unproven", "unacknowledged"};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_CLOSE_REASON_H_
