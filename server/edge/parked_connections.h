// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Connections that were preempted before gRPC got them, and that stay open for a while. A client
// that is told at once connects again at once: where it holds many connections, the server would
// spend its time on accepting and closing them. One that sends something is told then.

#ifndef ORBSERVE_SERVER_EDGE_PARKED_CONNECTIONS_H_
#define ORBSERVE_SERVER_EDGE_PARKED_CONNECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "server/process/file_descriptor.h"

namespace orbserve {

// Not thread-safe.
class ParkedConnections {
 public:
  static constexpr int64_t kStayMs = 10'000;

  // So many at most; for a further one the oldest is closed.
  void SetMax(size_t max) { max_ = max; }
  bool has_places() const { return max_ > 0; }
  size_t size() const { return parked_.size(); }

  // Returns the number of the connection, from 1 on.
  uint64_t Add(FileDescriptor connection, int64_t now_ms) {
    if (parked_.size() >= max_) CloseOldest(1);
    parked_.emplace(++last_number_, Parked{std::move(connection), now_ms});
    return last_number_;
  }
  void Close(uint64_t number) { parked_.erase(number); }
  // Closes those whose time is over.
  void CloseLate(int64_t now_ms) {
    while (!parked_.empty() && now_ms - parked_.begin()->second.since_ms >= kStayMs) CloseOldest(1);
  }
  // Returns false where there are none.
  bool CloseOldest(size_t count) {
    if (parked_.empty()) return false;
    for (; count > 0 && !parked_.empty(); --count) parked_.erase(parked_.begin());
    return true;
  }
  void CloseAll() { parked_.clear(); }

 private:
  struct Parked {
    FileDescriptor connection;
    int64_t since_ms = 0;
  };

  size_t max_ = 0;
  std::map<uint64_t, Parked> parked_;  // the oldest first
  uint64_t last_number_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_PARKED_CONNECTIONS_H_
