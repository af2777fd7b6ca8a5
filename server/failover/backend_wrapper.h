// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_FAILOVER_BACKEND_WRAPPER_H_
#define ORBSERVE_SERVER_FAILOVER_BACKEND_WRAPPER_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "features/backend.h"

namespace orbserve {

// Puts another backend in front of, or in place of, the one that the configuration chose.
// orbserve-server itself uses none; tests put a backend with faults in front.
using BackendWrapper =
    std::function<absl::StatusOr<std::unique_ptr<FeatureBackend>>(std::unique_ptr<FeatureBackend>)>;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_BACKEND_WRAPPER_H_
