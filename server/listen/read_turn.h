// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Turns in which connections are read. A thread of gRPC goes on with a connection as long as there
// is something to read, so that a few clients that send without end keep all threads, and others
// wait for a second. A turn ends when what was read costs enough, although there is more to read.
// The connection then stands behind the others.

#ifndef ORBSERVE_SERVER_LISTEN_READ_TURN_H_
#define ORBSERVE_SERVER_LISTEN_READ_TURN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace orbserve {

// Turns of one connection. Not thread-safe.
class ReadTurn {
 public:
  static constexpr int64_t kTurnNs = 250'000;
  static constexpr size_t kLeastBytes = 512;
  // A turn ends with less than this left: smaller reads cost more than they bring.
  static constexpr int64_t kLeastReadNs = kTurnNs / 8;

  // The connection is about to be read. Returns how many bytes may be: by what the last ones cost,
  // as many as the turn has left. 0: the turn is over, and the next call begins a new one.
  size_t Begin() {
    if (used_ns_ > kTurnNs - kLeastReadNs) {
      used_ns_ = 0;
      return 0;
    }
    const double most = static_cast<double>(kTurnNs - used_ns_) / ns_per_byte_;
    return std::max(static_cast<size_t>(most), kLeastBytes);
  }

  // So many bytes were read. gRPC will take about so long for them.
  void Add(size_t bytes, int64_t cost_ns) {
    used_ns_ += cost_ns;
    const double read = static_cast<double>(cost_ns) / static_cast<double>(bytes);
    ns_per_byte_ = std::max(kLeastNsPerByte, (ns_per_byte_ + read) / 2);
  }

  // True for a connection whose bytes are messages rather than calls and frames without work.
  bool is_bulk() const { return ns_per_byte_ < kBulkNsPerByte; }

  // There was nothing left to read.
  void End() { used_ns_ = 0; }

 private:
  static constexpr double kLeastNsPerByte = 0.1;
  // Frames of 16 KiB cost 0.16.
  static constexpr double kBulkNsPerByte = 0.3;

  int64_t used_ns_ = 0;
  // Before anything is known: 8 KiB are read then.
  double ns_per_byte_ = 30.0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_LISTEN_READ_TURN_H_
