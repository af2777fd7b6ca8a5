// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_GUARD_HTTP2_VIOLATION_H_
#define ORBSERVE_SERVER_EDGE_GUARD_HTTP2_VIOLATION_H_

#include <cstdint>

namespace orbserve {

// The bound that a connection broke.
enum class Http2Violation : uint8_t {
  kNone,
  kHeaderBlock,     // a header block is too long
  kResets,          // calls are cancelled too often
  kMalformed,       // a message of a call cannot be one of gRPC
  kFrames,          // too many frames that carry nothing
  kPings,           // too many PING frames
  kUnfinished,      // messages that do not end hold too much memory; not found by Http2Guard itself
  kUnproven,        // an unknown client has too many open calls; not found by Http2Guard itself
  kUnacknowledged,  // calls without an acknowledgement of our SETTINGS
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_HTTP2_VIOLATION_H_
