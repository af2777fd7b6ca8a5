// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Certificates of a running server that can be replaced: process/reloader.h notices new files, and
// server.cc sets them here.

#ifndef ORBSERVE_SERVER_EDGE_TLS_CREDENTIALS_H_
#define ORBSERVE_SERVER_EDGE_TLS_CREDENTIALS_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/server_credentials.h"
#include "server/edge/tls_files.h"
#include "server/edge/tls_handshake.h"

namespace orbserve {

// A connection uses the certificates that were set last when its handshake began, and keeps them.
// Clients are verified exactly as grpc::SslServerCredentials() does it: these are the same
// credentials of gRPC, which ask for their certificates before each handshake. Thread-safe.
class TlsCredentials {
 public:
  // `files` are those of ReadTlsFiles(), and not empty.
  explicit TlsCredentials(TlsFiles files);
  TlsCredentials(const TlsCredentials&) = delete;
  TlsCredentials& operator=(const TlsCredentials&) = delete;

  // Credentials for the port, once. The object must outlive the gRPC server.
  std::shared_ptr<grpc::ServerCredentials> Make();

  // A handshake on `socket` before gRPC gets it (tls_handshake.h). Null where there is no memory.
  TlsSession BeginHandshake(int socket) const ABSL_LOCKS_EXCLUDED(mutex_);

  // `files` must have certificates for clients if and only if the first ones had.
  void Set(TlsFiles files) ABSL_LOCKS_EXCLUDED(mutex_);
  // When the first certificate of the server's chain expires.
  int64_t expiry_unix_s() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* credentials, grpc_ssl_server_certificate_config** config);

  const bool verifies_clients_;
  mutable absl::Mutex mutex_;
  TlsFiles files_ ABSL_GUARDED_BY(mutex_);
  bool is_fetched_ ABSL_GUARDED_BY(mutex_) = false;  // gRPC has these files
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_TLS_CREDENTIALS_H_
