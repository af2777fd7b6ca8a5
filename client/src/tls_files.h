// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_SRC_TLS_FILES_H_
#define ORBSERVE_CLIENT_SRC_TLS_FILES_H_

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"
#include "orbserve/client.h"

namespace orbserve::client {

// What the files of `options` hold, as PEM text; `tls_ca_file` is not empty. Looks whether OpenSSL,
// and so gRPC, can use them: gRPC itself only says that the server cannot be reached. NOT_FOUND: a
// file cannot be read. INVALID_ARGUMENT: it holds no certificate, or no key (one with a pass phrase
// cannot be used), or the key is that of another certificate, or only one of the two is given.
absl::StatusOr<grpc::SslCredentialsOptions> ReadTlsFiles(const ClientOptions& options);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_TLS_FILES_H_
