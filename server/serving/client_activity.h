// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_CLIENT_ACTIVITY_H_
#define ORBSERVE_SERVER_SERVING_CLIENT_ACTIVITY_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"
#include "server/serving/frame/frame_record.h"
#include "server/telemetry/pages.pb.h"

namespace orbserve {

// The clients that were active lately, for the people who run the server. Thread-safe: a short lock
// for each event.
class ClientActivity {
 public:
  // Clients that are remembered. Those that were idle the longest make room for new ones.
  static constexpr size_t kMaxClients = 4096;

  // Both must outlive the object.
  ClientActivity(const Clock* clock, Ledger* ledger) : clock_(*clock), ledger_(*ledger) {}

  // These two may throw std::bad_alloc.
  void FrameReceived(const ClientId& client, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void StreamOpened(const ClientId& client) ABSL_LOCKS_EXCLUDED(mutex_);
  // These three allocate nothing. FrameEnded() is given what the client is told, FrameComputed()
  // what the frame took of a device, if anything.
  void FrameEnded(const ClientId& client, const absl::Status& told) ABSL_LOCKS_EXCLUDED(mutex_);
  void FrameComputed(const ClientId& client, const FrameOutcome& outcome)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void StreamClosed(const ClientId& client) ABSL_LOCKS_EXCLUDED(mutex_);

  // The `most` clients that take most of the devices' time, the busiest first.
  server::ClientTable Busiest(size_t most) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A sum that fades, so that it tells a rate.
  class Rate {
   public:
    void Add(double amount, SteadyTime now) {
      sum_ = Faded(now) + amount;
      at_ = now;
    }
    double PerSecond(SteadyTime now) const { return Faded(now) / kMemorySeconds; }

   private:
    static constexpr double kMemorySeconds = 10;

    double Faded(SteadyTime now) const {
      const double age_s = std::chrono::duration<double>(now - at_).count();
      return sum_ * std::exp(-std::max(age_s, 0.0) / kMemorySeconds);
    }

    double sum_ = 0;
    SteadyTime at_;
  };
  struct Entry {
    server::ClientRow row;  // what has been counted
    Ledger::AccountPtr account;
    Rate frames, bytes, seconds, joules;
    SteadyTime last;
  };

  Entry& FindOrAdd(const ClientId& client, SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Changes the entry of a client that is known, and active now.
  template <typename Change>
  void Update(const ClientId& client, const Change& change) ABSL_LOCKS_EXCLUDED(mutex_);

  const Clock& clock_;
  Ledger& ledger_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<ClientId, Entry> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_CLIENT_ACTIVITY_H_
