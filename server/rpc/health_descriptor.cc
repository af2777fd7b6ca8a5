// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/health_descriptor.h"

#include "google/protobuf/message.h"
#include "grpc/health/v1/health.pb.h"

namespace orbserve {

// The generated file registers itself when the program starts. The linker would leave it out of the
// program, as nothing else refers to it.
void AddHealthDescriptor() {
  google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
}

}  // namespace orbserve
