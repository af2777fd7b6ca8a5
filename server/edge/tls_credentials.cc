// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/tls_credentials.h"

#include <string>
#include <type_traits>
#include <utility>

#include "grpc/grpc.h"

namespace orbserve {
namespace {

// The C++ library has no function that makes server credentials of those of the C library. Its base
// class can be derived from. Up to gRPC 1.56 or so it is abstract and the derived class owns the
// credentials; later the base class takes and owns them. The class is a template so that only the
// form that fits is compiled.
template <typename Base, bool kIsAbstract = std::is_abstract_v<Base>>
class Wrapped final : public Base {
 public:
  explicit Wrapped(grpc_server_credentials* credentials) : credentials_(credentials) {}
  ~Wrapped() override { grpc_server_credentials_release(credentials_); }
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* const credentials_;
};

template <typename Base>
class Wrapped<Base, false> final : public Base {
 public:
  explicit Wrapped(grpc_server_credentials* credentials) : Base(credentials) {}
};

}  // namespace

TlsCredentials::TlsCredentials(TlsFiles files)
    : verifies_clients_(!files.client_ca.empty()), files_(std::move(files)) {}

std::shared_ptr<grpc::ServerCredentials> TlsCredentials::Make() {
  grpc_ssl_server_credentials_options* const options =
      grpc_ssl_server_credentials_create_options_using_config_fetcher(
          verifies_clients_ ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                            : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
          &TlsCredentials::Fetch, this);
  // Takes the options.
  return std::make_shared<Wrapped<grpc::ServerCredentials>>(
      grpc_ssl_server_credentials_create_with_options(options));
}

TlsSession TlsCredentials::BeginHandshake(int socket) const {
  const std::shared_ptr<ssl_ctx_st> context = [this] {
    absl::MutexLock lock(&mutex_);
    return files_.context;
  }();
  return orbserve::BeginHandshake(context.get(), socket);
}

void TlsCredentials::Set(TlsFiles files) {
  absl::MutexLock lock(&mutex_);
  files_ = std::move(files);
  is_fetched_ = false;
}

int64_t TlsCredentials::expiry_unix_s() const {
  absl::MutexLock lock(&mutex_);
  return files_.expiry_unix_s;
}

grpc_ssl_certificate_config_reload_status TlsCredentials::Fetch(
    void* credentials, grpc_ssl_server_certificate_config** config) {
  TlsCredentials& own = *static_cast<TlsCredentials*>(credentials);
  absl::MutexLock lock(&own.mutex_);
  if (own.is_fetched_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair = {own.files_.private_key.c_str(),
                                           own.files_.certificate_chain.c_str()};
  // gRPC ends the process for want of authorities that certify clients, also where no client is
  // asked for a certificate. Any certificate does then: nothing is verified with it.
  const std::string& client_ca =
      own.verifies_clients_ ? own.files_.client_ca : own.files_.certificate_chain;
  *config = grpc_ssl_server_certificate_config_create(client_ca.c_str(), &pair, 1);
  if (*config == nullptr) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
  own.is_fetched_ = true;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

}  // namespace orbserve
