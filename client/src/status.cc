// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/status.h"

#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "orbserve/client.h"

namespace orbserve::client {
namespace {

// Payload of a status: the serialised orbserve.v1.Status that it was made from.
constexpr absl::string_view kWirePayload = "orbserve.v1.Status";

// The server's table entry in the details of a failed call. Absent where there is none, or where
// its code differs from the call's: then it is about something else.
std::optional<v1::Status> EntryIn(const grpc::Status& status) {
  const int code = static_cast<int>(status.error_code());
  v1::CallStatus call;
  v1::Status entry;
  if (call.ParseFromString(status.error_details())) {
    for (const auto& detail : call.details()) {
      if (detail.Is<v1::Status>() && detail.UnpackTo(&entry) && entry.code() == code) return entry;
    }
  }
  // Servers before 0.1.0 sent the entry bare. A CallStatus of any other service parses as one, too,
  // but never with the call's text as the message of an entry.
  if (entry.ParseFromString(status.error_details()) && entry.code() == code &&
      !entry.reason().empty() && entry.message() == status.error_message()) {
    return entry;
  }
  return std::nullopt;
}

// Says what to do about a connection that the server, or the client, refuses for its credentials:
// gRPC only says how the connection ended. The text is empty for other errors.
absl::string_view AdviceFor(const std::string& text) {
  if (!absl::StrContains(text, "failed to connect to all addresses")) return "";
  // OpenSSL writes spaces, BoringSSL capitals and underscores.
  const std::string cause = absl::StrReplaceAll(absl::AsciiStrToLower(text), {{"_", " "}});
  if (absl::StrContains(cause, "certificate verify failed")) {
    return "; the certificate of the server is for another host, has expired, or is not signed by "
           "those that were given to check it with (tls_ca_file, --tls-ca)";
  }
  if (absl::StrContains(cause, "wrong version number")) {
    return "; the server speaks plain text there: connect without certificates (tls_ca_file, "
           "--tls-ca)";
  }
  if (absl::StrContains(cause, "http1.x server")) {
    return "; a server of HTTP/1 answers there, such as the pages of an orbserve-server "
           "(--http-listen): give the port of its service (--listen)";
  }
  for (const absl::string_view closed :
       {"socket closed", "connection reset", "endpoint read failed", "unwrap failed"}) {
    if (!absl::StrContains(cause, closed)) continue;
    return "; something there takes the connection and closes it: maybe the server wants TLS "
           "(tls_ca_file, --tls-ca), or a certificate of the client that it accepts "
           "(tls_cert_file, --tls-cert)";
  }
  return "";
}

}  // namespace

absl::Status StatusFromWire(const v1::Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  const std::string message =
      absl::StrCat(status.reason(), status.reason().empty() ? "" : ": ",
                   status.message().empty() ? "the server gives no reason" : status.message());
  absl::Status result(static_cast<absl::StatusCode>(status.code()), message);
  result.SetPayload(kWirePayload, absl::Cord(status.SerializeAsString()));
  return result;
}

absl::Status FromGrpc(const grpc::Status& status, bool caller_cancelled) {
  if (status.ok()) return absl::OkStatus();
  if (const auto entry = EntryIn(status); entry.has_value()) return StatusFromWire(*entry);
  if (status.error_code() == grpc::StatusCode::CANCELLED && !caller_cancelled) {
    return absl::UnavailableError(
        absl::StrCat("the server is going away: ", status.error_message()));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(status.error_message(), AdviceFor(status.error_message())));
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
