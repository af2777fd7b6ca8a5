// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/backends.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "cpu/cpu_backend.h"
#include "features/errors.h"
#include "gpu/gpu_backend.h"
#include "server/part_options.h"
#include "server/process/log.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

absl::StatusOr<std::unique_ptr<FeatureBackend>> MakePrimary(const server::Config& config,
                                                            const DerivedLimits& derived) {
  const absl::string_view name = config.backend().name();
  const gpu::GpuBackendOptions gpu_options = GpuBackendOptionsOf(config, derived);
  if (name == "cuda") return gpu::CreateGpuBackend(gpu_options);
  if (name == "auto" && gpu::IsBuiltIn()) {
    auto backend = gpu::CreateGpuBackend(gpu_options);
    if (backend.ok()) return backend;
    // The configuration names devices that this machine does not have.
    if (ReasonOf(backend.status()) == ErrorReason::kBadOptions) return backend.status();
    // A device that this program cannot use is a mistake of the installation; a machine without a
    // device is not.
    const bool mistake = backend.status().code() != absl::StatusCode::kUnavailable;
    spdlog::log(mistake ? spdlog::level::warn : spdlog::level::info,
                "event=no_cuda_device reason={}", LogValue(backend.status().message()));
  }
  return cpu::CreateCpuBackend(CpuBackendOptionsOf(config, derived));
}

}  // namespace

absl::StatusOr<Backends> MakeBackends(const server::Config& config, const DerivedLimits& derived,
                                      const BackendWrapper& wrap) {
  Backends backends;
  ORBSERVE_ASSIGN_OR_RETURN(backends.primary, MakePrimary(config, derived));
  if (wrap) {
    ORBSERVE_ASSIGN_OR_RETURN(backends.primary, wrap(std::move(backends.primary)));
  }
  if (!absl::StartsWith(backends.primary->name(), "cpu")) {
    ORBSERVE_ASSIGN_OR_RETURN(backends.fallback,
                              cpu::CreateCpuBackend(CpuBackendOptionsOf(config, derived)));
  }
  for (const FeatureBackend* backend : {backends.primary.get(), backends.fallback.get()}) {
    if (backend == nullptr) continue;
    for (const DeviceDescription& device : backend->devices()) {
      backends.devices.push_back({std::string(backend->name()), device.device});
    }
  }
  return backends;
}

}  // namespace orbserve
