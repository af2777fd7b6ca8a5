// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_FRAME_FRAME_ACCOUNT_H_
#define ORBSERVE_SERVER_SERVING_FRAME_FRAME_ACCOUNT_H_

#include <cstdint>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/clients/client_id.h"
#include "server/process/clock.h"
#include "server/serving/client_activity.h"
#include "server/serving/work_kind.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// The one account of frames: calls count each frame here once when they have read it, and once when
// it ends. It ends where its result is handed to gRPC, with the status that the client is told; a
// frame of a call that is over ends without a result. The page of metrics, the pages about clients
// and the last line of the log say what was counted here. Thread-safe.
class FrameAccount {
 public:
  // All three must outlive the account.
  FrameAccount(const Clock* clock, Metrics* metrics, ClientActivity* clients)
      : clock_(*clock), metrics_(*metrics), clients_(*clients) {}

  // `bytes`: of image and mask. Allocation failures are swallowed: a client that cannot be
  // remembered is not on the pages.
  void Received(const ClientId& client, int64_t bytes) {
    metrics_.FrameReceived(bytes);
    try {
      clients_.FrameReceived(client, bytes);
    } catch (const std::bad_alloc&) {
      // The frame is counted; only its client is not remembered.
    }
  }
  // Returns what the client of a unary call is told whose result has `status` and is handed to gRPC
  // now: DEADLINE_EXCEEDED in place of OK from the deadline on.
  absl::Status Told(absl::Status status, SteadyTime deadline) const {
    return InTime(WorkKind::kFrames, std::move(status), clock_.Now(), deadline);
  }
  // `method`: without package and service. `times`: until now, or nearly. `keypoints`: of the
  // result. Called before the client can know the result. Allocates nothing.
  void Ended(absl::string_view method, const ClientId& client, FrameTimes times,
             const absl::Status& told, int64_t keypoints) {
    times.Enter(FramePhase::kSend, clock_.Now());
    metrics_.ObserveFrame(method, times);
    metrics_.FrameFinished(told, keypoints);
    clients_.FrameEnded(client, told);
  }

 private:
  const Clock& clock_;
  Metrics& metrics_;
  ClientActivity& clients_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_FRAME_FRAME_ACCOUNT_H_
