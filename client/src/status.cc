// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "orbserve/client.h"

namespace orbserve::client {
namespace {

// Where a status keeps the serialised orbserve.v1.Status it was made from.
constexpr absl::string_view kWirePayload = "orbserve.v1.Status";

}  // namespace

absl::Status StatusFromWire(const v1::Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  const std::string message = status.reason().empty()
                                  ? status.message()
                                  : absl::StrCat(status.reason(), ": ", status.message());
  absl::Status result(static_cast<absl::StatusCode>(status.code()), message);
  result.SetPayload(kWirePayload, absl::Cord(status.SerializeAsString()));
  return result;
}

absl::Status FromGrpc(const grpc::Status& status, bool caller_cancelled) {
  if (status.ok()) return absl::OkStatus();
  v1::Status wire;
  if (!status.error_details().empty() && wire.ParseFromString(status.error_details()) &&
      wire.code() == static_cast<int>(status.error_code())) {
    return StatusFromWire(wire);
  }
  if (status.error_code() == grpc::StatusCode::CANCELLED && !caller_cancelled) {
    return absl::UnavailableError(
        absl::StrCat("the server is going away: ", status.error_message()));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

v1::Status WireStatusOf(const absl::Status& status) {
  v1::Status wire;
  if (const auto payload = status.GetPayload(kWirePayload); payload.has_value()) {
    if (wire.ParseFromString(std::string(*payload))) return wire;
    wire.Clear();
  }
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(std::string(status.message()));
  return wire;
}

}  // namespace orbserve::client
