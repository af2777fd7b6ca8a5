// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Items of a queue of work (work_queue.h): their bounds, and the statuses of those that end without
// an outcome of the backend.

#ifndef ORBSERVE_SERVER_SERVING_WORK_ITEM_H_
#define ORBSERVE_SERVER_SERVING_WORK_ITEM_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "features/backend.h"
#include "features/errors.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_shares.h"
#include "server/clients/ledger.h"
#include "server/serving/clock.h"
#include "server/serving/observer.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

using WorkTicket = uint64_t;  // never 0

struct WorkItem {
  WorkTicket ticket = 0;                   // set by Enter()
  ClientId client;                         // whose share it takes
  FairShares::Account* account = nullptr;  // of the client; set by Enter()
  SteadyTime deadline = kNever;
  Holding queue_slot;                 // while it waits
  Holding queue_bytes;                // memory that it holds while it waits
  SteadyTime ready_at;                // from when on it may be launched; set by the kind
  std::chrono::nanoseconds queued{};  // from `ready_at` to the launch; set by Launch()
  int64_t cost_ns = 0;                // charged to the account; set by Launch()
  // True after CloseBatch() if the item had its answer at its deadline.
  bool is_answered = false;
  // Jobs carry this flag to the backend. Set by Enter().
  std::shared_ptr<std::atomic<bool>> cancelled;
};

// Batches of a queue of work at one moment.
struct BatchMotion {
  int in_flight = 0;  // with the backend
  int64_t ended = 0;  // since the queue was made
};

struct WorkQueueOptions {
  WorkKind kind = WorkKind::kFrames;
  int max_items = 1;             // waiting, of all clients, >= 1
  int max_items_per_client = 1;  // waiting, >= 1
  int64_t max_bytes = 1;         // of those that wait, >= 1
  // What the clients hold, and who has which weight; see FairShares.
  Ledger* ledger = nullptr;
  // Gives the answers of a batch, and those of items whose deadlines pass together. Queues may
  // share it, and it must outlive them. Null = the threads that end items give all answers.
  WorkerPool* answerers = nullptr;
};

// What the ledger calls items that wait, and the memory that they hold.
Resource ItemsOf(WorkKind kind);
Resource BytesOf(WorkKind kind);

// Answers that every kind of work gives.
absl::Status LateStatus(WorkKind kind);
absl::Status CancelledStatus();
absl::Status DrainingStatus();
absl::Status NoMemoryStatus(WorkKind kind);

// Returns what a batch took of its backend; 0 if the backend does not say.
int64_t TakenNs(const BatchCost& cost);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORK_ITEM_H_
