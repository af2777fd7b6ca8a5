// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The one place where an error of ours becomes an error on the wire.

#ifndef ORBSERVE_SERVER_RPC_STATUS_H_
#define ORBSERVE_SERVER_RPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve {

// Fills the wire's table entry for `status`: code, reason, text and advice to retry. Texts are cut
// to 1 KiB, unprintable bytes become '?', and errors of our own (INTERNAL) say no more than that,
// because their texts may name files; they belong into the log.
void StatusToProto(const absl::Status& status, v1::Status* proto);

// The status of a call, with the wire's message as its details. Adds `grpc-retry-pushback-ms` to
// the trailing metadata where a new try makes sense; `context` may be null.
grpc::Status StatusToGrpc(const absl::Status& status, grpc::ServerContextBase* context);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STATUS_H_
