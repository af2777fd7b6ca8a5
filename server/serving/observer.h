// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_OBSERVER_H_
#define ORBSERVE_SERVER_SERVING_OBSERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "features/backend.h"

namespace orbserve {

// What the serving layer tells about itself; telemetry listens. Called from any thread, many at a
// time, never under a lock of the serving layer; must not block.
class ServingObserver {
 public:
  virtual ~ServingObserver() = default;

  // Every frame is received once and finished once: at rest the number of the former is the sum of
  // the latter over all outcomes.
  virtual void OnFrameReceived(int64_t /*image_bytes*/) {}
  virtual void OnFrameFinished(const absl::Status& /*outcome*/, size_t /*feature_count*/) {}
  // Change of the number of frames that are admitted and not yet handed to the backend.
  virtual void OnQueueChanged(int /*change*/) {}
  // A frame of a finished batch had waited this long for it.
  virtual void OnFrameQueued(std::chrono::nanoseconds /*queued*/, const BatchCost& /*cost*/) {}
  // Both return an estimate of the joules that the whole batch took, which goes into the answers;
  // nothing where the power of its device is not known.
  virtual std::optional<double> OnFrameBatchFinished(int /*frames*/, const BatchCost& /*cost*/) {
    return std::nullopt;
  }
  virtual std::optional<double> OnMatchBatchFinished(int /*pairs*/, const BatchCost& /*cost*/) {
    return std::nullopt;
  }
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_OBSERVER_H_
