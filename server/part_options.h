// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Turns a complete and valid configuration (ValidateConfig), with what was derived from it, into
// the options of the server's parts.

#ifndef ORBSERVE_SERVER_PART_OPTIONS_H_
#define ORBSERVE_SERVER_PART_OPTIONS_H_

#include <cstddef>

#include "cpu/cpu_backend.h"
#include "decode/image_decoder.h"
#include "gpu/gpu_backend.h"
#include "grpcpp/server_builder.h"
#include "server/clients/identity.h"
#include "server/clients/ledger.h"
#include "server/config/config.pb.h"
#include "server/config/derived_limits.h"
#include "server/edge/http/http_endpoint.h"
#include "server/edge/listener.h"
#include "server/edge/tls_files.h"
#include "server/rpc/call_services.h"
#include "server/serving/batcher.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/plan_cache.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

// `devices`: number of devices that the backend computes with, >= 1; each has its own batches in
// flight.
BatcherOptions BatcherOptionsOf(const server::Config& config, const DerivedLimits& derived,
                                size_t devices);
// The threads that decode and build plans.
// `on_cpu`: the backend computes there, and frames reserve the workspaces that they will need.
WorkerPoolOptions DecodePoolOptionsOf(const DerivedLimits& derived, bool on_cpu);
// Memory limit, deadline, batching and stage sampling of the CUDA backend, whose batches have
// kMaxFramesInBatch frames at most.
gpu::GpuBackendOptions GpuBackendOptionsOf(const server::Config& config,
                                           const DerivedLimits& derived);
// Threads and budgets of the CPU backend.
cpu::CpuBackendOptions CpuBackendOptionsOf(const server::Config& config,
                                           const DerivedLimits& derived);
PlanCacheOptions PlanCacheOptionsOf(const server::Config& config, const DerivedLimits& derived,
                                    bool on_cpu);
ReferenceStoreOptions ReferenceStoreOptionsOf(const server::Config::Limits& config,
                                              const DerivedLimits& derived);
ImageLimits ImageLimitsOf(const server::Config::Limits& config);
StreamLimits StreamLimitsOf(const server::Config::Limits& config, const DerivedLimits& derived);
// Without tokens, which are read from their file.
IdentityOptions IdentityOptionsOf(const server::Config& config);
// Takes weights from the configuration and, where it says nothing of an owner, from the token file.
OwnerWeights OwnerWeightsOf(const server::Config& config);
TlsPaths TlsPathsOf(const server::Config& config);
// Both leave descriptors to each other.
HttpEndpointOptions HttpEndpointOptionsOf(const server::Config& config);
ListenerOptions ListenerOptionsOf(const server::Config& config, const DerivedLimits& derived);

// Bounds the messages, calls, buffers and dead connections that clients can make gRPC itself hold.
void SetChannelLimits(const server::Config& config, const DerivedLimits& derived,
                      grpc::ServerBuilder& builder);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PART_OPTIONS_H_
