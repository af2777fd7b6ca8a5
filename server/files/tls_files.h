// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_FILES_TLS_FILES_H_
#define ORBSERVE_SERVER_FILES_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/config.pb.h"

namespace orbserve {

// What the files of server::Config::Tls hold, as PEM text; empty where none is named.
struct TlsFiles {
  std::string certificate_chain;  // the server's own first
  std::string private_key;        // of the server's own certificate
  std::string client_ca;
};

// Reads the files of a valid configuration, and looks whether OpenSSL, and so gRPC, can serve with
// them: gRPC itself only says that it could not start. BAD_OPTIONS, with the field, the file and
// why: a file cannot be read, holds no certificate or key that can be used (a key with a pass
// phrase cannot), or the key is that of another certificate. Whether a certificate is valid today,
// and for this host, is the client's to judge.
absl::StatusOr<TlsFiles> ReadTlsFiles(const server::Config::Tls& config);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FILES_TLS_FILES_H_
