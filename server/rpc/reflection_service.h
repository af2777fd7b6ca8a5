// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// gRPC's server reflection (grpc.reflection.v1alpha), by which tools such as grpcurl learn the
// services. It stands in for gRPC's own service, which parses requests of any size before it looks
// at them, and gives each caller a thread.

#ifndef ORBSERVE_SERVER_RPC_REFLECTION_SERVICE_H_
#define ORBSERVE_SERVER_RPC_REFLECTION_SERVICE_H_

#include "orbserve/v1/orbserve.grpc.pb.h"  // knows where gRPC has its base class
#include "server/rpc/send_timeouts.h"

namespace orbserve {

// Answers from the generated descriptors of this program. Requests have at most 4 KiB. A stream
// reads the next request when the answer to the last one is sent.
class ReflectionService final : public grpc::Service {
 public:
  // `send_timeouts` ends streams whose answers are not read; it must outlive the gRPC server.
  explicit ReflectionService(SendTimeouts* send_timeouts);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_REFLECTION_SERVICE_H_
