// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_TLS_FILES_H_
#define ORBSERVE_SERVER_EDGE_TLS_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct ssl_ctx_st;  // SSL_CTX

namespace orbserve {

// The files that server::Config::Tls names; empty where it names none.
struct TlsPaths {
  std::string cert_file;
  std::string key_file;
  std::string client_ca_file;
};

// Contents of these files, as PEM text; empty where no file is named.
struct TlsFiles {
  std::string certificate_chain;  // the server's own certificate first
  std::string private_key;        // belongs to the server's own certificate
  std::string client_ca;
  int64_t expiry_unix_s = 0;      // when the first of the chain's certificates expires
  int64_t valid_from_unix_s = 0;  // when the last of them becomes valid
  // Handshakes with these files (tls_handshake.h). They verify certificates of clients as gRPC 1.51
  // does. Null where no file is named.
  std::shared_ptr<ssl_ctx_st> context;
};

// Reads the files, and checks that OpenSSL, and therefore gRPC, can serve with them: gRPC itself
// only reports that it could not start. BAD_OPTIONS, with one line for each mistake that has the
// field, the file and the reason: a file cannot be read, holds no usable certificate or key (a key
// with a pass phrase is not usable), the key belongs to another certificate, or the server's own
// certificate has expired. The client judges whether it is valid for this host. One that is valid
// only later is accepted: the clock of a robot may be behind when it starts.
absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsPaths& paths);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_TLS_FILES_H_
