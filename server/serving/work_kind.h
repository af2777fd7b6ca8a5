// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Kinds of work that queues gather into batches: what the ledger calls their items, and the
// statuses of items that end without an outcome of the backend.

#ifndef ORBSERVE_SERVER_SERVING_WORK_KIND_H_
#define ORBSERVE_SERVER_SERVING_WORK_KIND_H_

#include "absl/status/status.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"

namespace orbserve {

enum class WorkKind { kFrames, kMatches, kTracks };

// Items that wait, and the memory that they hold.
Resource ItemsOf(WorkKind kind);
Resource BytesOf(WorkKind kind);

absl::Status LateStatus(WorkKind kind);
absl::Status CancelledStatus();
// For a client that went away: CANCELLED, or DEADLINE_EXCEEDED from the deadline on, because gRPC
// cancels calls at their deadline, perhaps before the alarm.
absl::Status GoneStatus(WorkKind kind, SteadyTime now, SteadyTime deadline);
// Returns `status`, but never OK from the deadline on. Of an item whose result is handed over now.
absl::Status InTime(WorkKind kind, absl::Status status, SteadyTime now, SteadyTime deadline);
absl::Status DrainingStatus();
absl::Status NoMemoryStatus(WorkKind kind);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_WORK_KIND_H_
