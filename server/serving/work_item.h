// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_WORK_ITEM_H_
#define ORBSERVE_SERVER_SERVING_WORK_ITEM_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "server/clients/client_id.h"
#include "server/clients/fair_shares.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"

namespace orbserve {

using WorkTicket = uint64_t;  // 0 = none

// An item of a queue of work (work_queue.h).
struct WorkItem {
  WorkTicket ticket = 0;                   // set by Admit(); 0 if it was refused
  ClientId client;                         // whose share it takes
  FairShares::Account* account = nullptr;  // of the client; set by Admit()
  SteadyTime deadline = kNever;
  Holding queue_slot;   // while it waits
  Holding queue_bytes;  // memory that it holds while it waits
  SteadyTime ready_at;  // from when on it may be launched: its admission, or as the kind says
  std::chrono::nanoseconds queued{};  // from `ready_at` to the launch; set by Launch()
  int64_t cost_ns = 0;                // charged to the account; set by Launch()
  // After CloseBatch(): the item had its answer at its deadline, or is owed one after it.
  bool is_answered = false;
  bool is_late = false;
  // Jobs carry this flag to the backend.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORK_ITEM_H_
