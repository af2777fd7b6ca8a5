// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A backend that loses no work when its device is lost.
//
// While the device answers, all work goes straight to the primary. The primary is lost when it says
// so (an answer with DEVICE_LOST), or when it is silent (device_watch.h). A lost primary stays
// lost. Before that it may stall, which is reported and changes nothing else.
//
// After the loss:
//  - `on_lost` is called, once, before anything else happens;
//  - the fallback computes all batches that the primary has not answered and all later ones
//    (rescue.h). Late answers of the primary are dropped;
//  - `rescue_time` after the loss all open batches and all later ones are answered DEVICE_LOST: the
//    process is about to end, and clients should know why;
//  - the primary is leaked. Of its functions only ExportState() and the constant ones (name(),
//    devices()) are called, because any other call, and freeing it, may never return.
//
// The fallback is made with the primary, because there may be no memory for it when it is needed.
// Its plans are made when the first frame of a plan needs rescue.

#ifndef ORBSERVE_SERVER_FAILOVER_FAILOVER_BACKEND_H_
#define ORBSERVE_SERVER_FAILOVER_FAILOVER_BACKEND_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"
#include "server/process/clock.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

// Puts another backend in front of, or in place of, the one that the configuration chose.
// orbserve-server itself uses none; tests put a backend with faults in front.
using BackendWrapper =
    std::function<absl::StatusOr<std::unique_ptr<FeatureBackend>>(std::unique_ptr<FeatureBackend>)>;

struct DeviceLoss {
  std::string device;   // "cuda:0"; empty when the primary has several and did not say which
  absl::Status status;  // DEVICE_LOST and what the primary said
};

struct FailoverOptions {
  std::chrono::milliseconds stall{60};  // this and the next as in DeviceWatchOptions
  std::chrono::milliseconds silence{10'500};
  std::chrono::milliseconds rescue_time{1'000};
  // The executor's thread calls both, one after the other. They must not block. `on_stall` is
  // called with true at the beginning of a stall and with false at its end, unless it ends in a
  // loss.
  std::function<void(bool)> on_stall;
  std::function<void(const DeviceLoss&)> on_lost;
};

// `clock` must outlive the backend. `executor` has one thread, which works only when the device
// stalls or is lost. Destruction waits for the batches in flight; calls of a leaked primary may
// come later, and do nothing.
//
// Name and devices are the primary's, also after a loss. memory() has the entries of the primary,
// then those of the fallback. After a loss the entries of the primary stay as they were last read:
// its memory is leaked, not freed.
std::shared_ptr<FeatureBackend> MakeFailoverBackend(std::unique_ptr<FeatureBackend> primary,
                                                    std::unique_ptr<FeatureBackend> fallback,
                                                    Clock* clock,
                                                    std::unique_ptr<Executor> executor,
                                                    FailoverOptions options);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_FAILOVER_BACKEND_H_
