// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Says which connections may go on with large messages where there is no room for all of them.
// gRPC keeps what it has read of a message until it is complete. If every client that sends a large
// one were read, all of them together could fill gRPC's buffers, and none would be complete. So one
// connection at a time, the first, is read in any case: there is always room for the largest
// message beside what the others hold. The others are read while they hold less than their common
// share, and wait then; the client notices no more than a slow network. A first one that brings
// next to nothing while others wait makes way.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_MESSAGE_ROOM_H_
#define ORBSERVE_SERVER_EDGE_GUARD_MESSAGE_ROOM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

namespace orbserve {

// Connections have numbers. Thread-safe.
class MessageRoom {
 public:
  // Complete messages may be taken in, too: false lets all wait. Called by many threads, and must
  // not block.
  using TakesMore = std::function<bool()>;

  // While others wait the first brings kLeastBytes in each kStallMs, and has kFirstMs in all.
  static constexpr int64_t kLeastBytes = 64 << 10;
  static constexpr int64_t kStallMs = 500;
  static constexpr int64_t kFirstMs = 10'000;

  // `shared_bytes`: that all but the first may hold, about. All that wait may go on, if they wait
  // for the bounds before. Null `takes_more`: always.
  void SetBounds(int64_t shared_bytes, TakesMore takes_more);

  // The large messages that a connection has begun hold `held` bytes and lack `missing`. With
  // nothing missing it is no longer here. `address`: whose it is.
  void Set(int connection, size_t address, int64_t held, int64_t missing);
  // Returns how many of `most` bytes may be read from a connection that is here. 0: it waits, until
  // GoOn() names it.
  size_t MayRead(int connection, size_t most, int64_t now_ms);
  // Connections that wait.
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }

  struct Decision {
    std::vector<int> go_on;  // they wait no longer
    int late = -1;  // it was the first, and holds too much to make way: to be closed; -1: none
  };
  // To be called every few milliseconds while connections wait.
  Decision GoOn(int64_t now_ms);

 private:
  struct Member {
    size_t address = 0;
    int64_t held = 0;
    bool waits = false;
    int64_t since = 0;  // waits, as a number that grows
  };

  // Makes the connection the first that has waited longest, of those of the address that has the
  // fewest here: one client cannot keep the others waiting by many connections.
  void ChooseFirst(int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeFirst(int connection, Member& member, int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins to look at what the first brings while others wait.
  void BeginTerm(int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True where the first one has had its time.
  bool IsLate(int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndWait(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::mutex mutex_;
  std::atomic<int> waiting_{0};
  TakesMore takes_more_ ABSL_GUARDED_BY(mutex_);
  int64_t shared_bytes_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  int64_t shared_held_ ABSL_GUARDED_BY(mutex_) = 0;  // by all but the first
  int64_t waits_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  int first_ ABSL_GUARDED_BY(mutex_) = -1;
  int64_t first_since_ms_ ABSL_GUARDED_BY(mutex_) = 0;  // and others wait
  int64_t looked_ms_ ABSL_GUARDED_BY(mutex_) = 0;       // at what it held then
  int64_t held_then_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<int, Member> members_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_MESSAGE_ROOM_H_
