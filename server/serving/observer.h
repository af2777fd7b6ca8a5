// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_OBSERVER_H_
#define ORBSERVE_SERVER_SERVING_OBSERVER_H_

#include <cstdint>
#include <optional>

#include "features/backend.h"
#include "server/serving/work_kind.h"

namespace orbserve {

struct ClientId;
struct FrameOutcome;

// Receives the events of the serving layer; telemetry implements it. Every method may be called
// from any thread, from many at a time, never under a lock of the serving layer, and must not
// block.
class ServingObserver {
 public:
  virtual ~ServingObserver() = default;

  // The stages of a frame of a finished batch took this long.
  virtual void OnStagesTimed(const BatchCost& /*cost*/, const StageTimes& /*stages*/) {}
  // A batch has computed a frame of the client, who is still owed its answer.
  virtual void OnFrameComputed(const ClientId& /*client*/, const FrameOutcome& /*outcome*/) {}
  // A batch of `items` frames, pairs or searches for tracks ended. Returns an estimate of the
  // joules that it took, which goes into the answers; nothing where the power of its device is not
  // known.
  virtual std::optional<double> OnBatchFinished(WorkKind /*kind*/, int /*items*/,
                                                const BatchCost& /*cost*/) {
    return std::nullopt;
  }
  // The memory that streams hold for their tracks changed by this, beside states and input slots,
  // which backends count.
  virtual void OnTrackBytes(int64_t /*change*/) {}
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_OBSERVER_H_
