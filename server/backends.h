// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_BACKENDS_H_
#define ORBSERVE_SERVER_BACKENDS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"
#include "server/config/config.pb.h"
#include "server/config/derived_limits.h"
#include "server/failover/failover_backend.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// The backends that the server computes with.
struct Backends {
  std::unique_ptr<FeatureBackend> primary;
  std::unique_ptr<FeatureBackend> fallback;  // null: a processor is not lost
  std::vector<MetricDevice> devices;         // of both
};

// Makes the backends that a valid configuration asks for. `wrap`, which may be null, is applied to
// the primary. UNAVAILABLE: no device answers. BAD_OPTIONS, UNSUPPORTED: this machine or this build
// has not what was asked for.
absl::StatusOr<Backends> MakeBackends(const server::Config& config, const DerivedLimits& derived,
                                      const BackendWrapper& wrap);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_BACKENDS_H_
