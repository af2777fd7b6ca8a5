// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_STREAM_CALL_H_
#define ORBSERVE_SERVER_RPC_STREAM_CALL_H_

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/call_services.h"
#include "server/rpc/drain_gate.h"

namespace orbserve {

// Begins the call of a robot's stream. The reactor deletes itself when gRPC is done with it.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStream(
    const CallServices& services, DrainGate& gate, StreamRegistry& registry,
    grpc::CallbackServerContext* context);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STREAM_CALL_H_
