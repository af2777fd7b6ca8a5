// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_HEALTH_DESCRIPTOR_H_
#define ORBSERVE_SERVER_RPC_HEALTH_DESCRIPTOR_H_

namespace orbserve {

// Makes the reflection service know grpc.health.v1. Reflection answers from protobuf's generated
// pool, where gRPC's built-in health service has no entry: it parses its messages by other means.
void AddHealthDescriptor();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_HEALTH_DESCRIPTOR_H_
