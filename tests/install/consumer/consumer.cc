// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// consumer VERSION: exit 0 when the installed client library is of this version and behaves as a
// client does without a server.

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "orbserve/client.h"
#include "orbserve/v1/orbserve.pb.h"
#include "orbserve/version.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::string(argv[1]) != orbserve::kVersion) {
    std::fprintf(stderr, "the installed headers are of version %s\n", orbserve::kVersion);
    return 1;
  }
  orbserve::client::ClientOptions options;
  options.timeout = absl::Milliseconds(500);
  // Port 9 is "discard": nobody listens there.
  absl::StatusOr<std::unique_ptr<orbserve::client::Client>> client =
      orbserve::client::Client::Connect("127.0.0.1:9", options);
  if (!client.ok()) {
    std::fprintf(stderr, "Connect: %s\n", client.status().ToString().c_str());
    return 1;
  }
  orbserve::v1::ExtractRequest request;
  request.mutable_pipeline()->set_preset("orb");
  const absl::StatusOr<orbserve::v1::ExtractResponse> response = (*client)->Extract(request);
  if (response.ok()) {
    std::fprintf(stderr, "Extract succeeded where no server is\n");
    return 1;
  }
  return 0;
}
