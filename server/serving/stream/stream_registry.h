// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The open streams, and who may have one open when not all may.
//
// While places are free, everyone gets one. When all are taken, a newcomer takes the place of a
// stream of the owner that has most of them, in relation to its weight, as long as that owner has
// no less than the newcomer's afterwards. Inside an owner the names are equal in the same way. Two
// clients never take each other's places in turns, because a place only moves to a client that has
// two fewer.
//
// A client that has no stream also takes the place of one that is of little use at the moment, even
// if no other client has two: otherwise many names with one stream each would keep all newcomers
// out. These are streams that have not sent a frame yet, and those that have been silent for a
// while.
//
// A stream that has not sent a frame goes first of those that may go. It is the oldest one of the
// connection that has most of these, so that a newcomer on a connection of its own has time to
// send, however many streams others open. Then goes the one that has been silent longest.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_REGISTRY_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_REGISTRY_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"
#include "server/telemetry/pages.pb.h"

namespace orbserve {

class Stream;

struct StreamRegistryOptions {
  int max_streams = 256;            // >= 1
  int max_streams_per_owner = 256;  // >= 1
  // A stream is silent when it has sent no frame for so long. A camera sends more often.
  std::chrono::milliseconds silence{250};
};

// Thread-safe.
class StreamRegistry {
 public:
  struct Admission {
    uint64_t id = 0;       // from 1
    uint64_t removed = 0;  // stream that has to end for it, 0 = none
  };

  // The ledger counts the places, and must outlive the registry.
  StreamRegistry(Ledger* ledger, const StreamRegistryOptions& options);

  // `connection`: its name, as the address and port of the peer. QUOTA_EXCEEDED: the client has its
  // share, or all have theirs.
  absl::StatusOr<Admission> Add(const std::shared_ptr<Stream>& stream, const ClientId& client,
                                const std::string& connection, SteadyTime now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream has sent a frame.
  void Touch(uint64_t id, SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream is about to end: another one may have its place.
  void GiveUpPlace(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<Stream>> streams() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<server::StreamRow> uses() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::weak_ptr<Stream> stream;
    ClientId client;
    std::string connection;
    Holding place;  // nothing once the stream lost it or gave it up
    std::optional<SteadyTime> last_frame;
  };

  bool IsOfLittleUse(uint64_t id, SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::optional<SteadyTime>& last = streams_.at(id).last_frame;
    return !last.has_value() || now - *last >= options_.silence;
  }
  // The first to go of the streams with a place that are `meant`; 0 = there is none.
  uint64_t First(absl::FunctionRef<bool(const Entry&)> meant) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The stream that makes room for one of `client`, to whom `full` was said; 0 = none.
  uint64_t Victim(const ClientId& client, const Ledger::Account& account, Refusal::Full full,
                  SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Ledger& ledger_;
  const StreamRegistryOptions options_;
  absl::Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::btree_map<uint64_t, Entry> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_REGISTRY_H_
