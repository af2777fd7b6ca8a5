// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_SRC_TLS_FILES_H_
#define ORBSERVE_CLIENT_SRC_TLS_FILES_H_

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"
#include "orbserve/client.h"

namespace orbserve::client {

// Reads the PEM files of `options`, whose `tls_ca_file` must not be empty, and checks that OpenSSL
// and therefore gRPC can use them: gRPC itself would only say that the server cannot be reached.
// NOT_FOUND when a file cannot be read. INVALID_ARGUMENT when it holds no certificate or no key
// (keys with a pass phrase cannot be used), when the key belongs to another certificate, or when
// only one of the two is given.
absl::StatusOr<grpc::SslCredentialsOptions> ReadTlsFiles(const ClientOptions& options);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_TLS_FILES_H_
