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
// to 1 KiB, and unprintable bytes become '?'. The text of an INTERNAL error is replaced by a fixed
// one, because it may name files; it belongs into the log.
void StatusToProto(const absl::Status& status, v1::Status* proto);

// The status of a call. Its details are a serialised v1::CallStatus with the table entry. Adds
// `grpc-retry-pushback-ms` to the trailing metadata where a new try makes sense; `context` may be
// null.
grpc::Status StatusToGrpc(const absl::Status& status, grpc::ServerContextBase* context);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STATUS_H_
