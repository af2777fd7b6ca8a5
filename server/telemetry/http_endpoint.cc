// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/http_endpoint.h"

#include <civetweb.h>

#include <array>
#include <atomic>
#include <exception>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {
namespace {

constexpr char kMaxRequestBytes[] = "16384";
constexpr char kRequestTimeoutMs[] = "1000";  // silence; a thread waits
constexpr int kMaxThreads = 64;

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

struct Response {
  int code = 200;
  absl::string_view content_type = kPlainText;
  absl::string_view extra_headers;  // whole lines
  std::string body;
};

// The address as civetweb takes it, which also knows lists and suffixes that are not for us.
absl::StatusOr<std::string> ListeningPorts(const std::string& address) {
  const auto bad = [&] {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("HTTP address must be HOST:PORT or [IPV6]:PORT with a port of "
                                  "0..65535; got \"",
                                  address, "\""));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return bad();
  const std::string host = address.substr(0, colon);
  const std::string port_text = address.substr(colon + 1);
  int port = 0;
  if (port_text.empty() || port_text.size() > 5 ||
      port_text.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port_text, &port) || port > 65535) {
    return bad();
  }
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  for (const char c : in_brackets ? host.substr(1, host.size() - 2) : host) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && !(in_brackets && c == ':')) return bad();
  }
  if (in_brackets && mg_check_feature(MG_FEATURES_IPV6) == 0) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("HTTP address \"", address, "\": the installed civetweb library has no IPv6"));
  }
  // '+': IPv4, and IPv6 where the library has it.
  return host.empty() ? absl::StrCat("+", port) : absl::StrCat(host, ":", port);
}

void Send(mg_connection* connection, const Response& response, bool with_body) {
  const std::string head = absl::StrCat(
      "HTTP/1.1 ", response.code, " ", mg_get_response_code_text(connection, response.code),
      "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
      "\r\n", response.extra_headers,
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  // A peer that has gone away is not an error of ours.
  mg_write(connection, head.data(), head.size());
  if (with_body) mg_write(connection, response.body.data(), response.body.size());
}

// civetweb 1.15 takes a pointer to the error code, 1.16 has the code itself in `error`.
template <typename ErrorData>
void PointToCode(ErrorData& error, unsigned* code) {
  if constexpr (std::is_pointer_v<decltype(error.code)>) error.code = code;
}

}  // namespace

class HttpEndpoint::Impl {
 public:
  Impl(std::function<std::string()> render_metrics, std::function<absl::Status()> ready)
      : render_metrics_(std::move(render_metrics)), ready_(std::move(ready)) {
    mg_init_library(MG_FEATURES_DEFAULT);
  }

  ~Impl() {
    if (context_ != nullptr) mg_stop(context_);
    mg_exit_library();
  }

  absl::Status Start(const HttpEndpointOptions& options) {
    ORBSERVE_ASSIGN_OR_RETURN(const std::string ports, ListeningPorts(options.listen_address));
    if (options.threads < 1 || options.threads > kMaxThreads) {
      return MakeError(
          ErrorReason::kBadOptions,
          absl::StrCat("HTTP threads must be in [1, ", kMaxThreads, "]; got ", options.threads));
    }
    const std::string threads = absl::StrCat(options.threads);
    // No keep-alive: an idle connection would hold a thread, and probes come seconds apart.
    const char* settings[] = {"listening_ports",
                              ports.c_str(),
                              "num_threads",
                              threads.c_str(),
                              "max_request_size",
                              kMaxRequestBytes,
                              "request_timeout_ms",
                              kRequestTimeoutMs,
                              "enable_keep_alive",
                              "no",
                              nullptr};
    mg_callbacks callbacks = {};
    callbacks.begin_request = &Impl::OnRequest;
    callbacks.http_error = &Impl::OnError;
    callbacks.log_message = &Impl::OnLog;
    mg_init_data init = {&callbacks, this, settings};
    std::array<char, 256> text = {};
    unsigned code = 0;
    mg_error_data error = {};
    PointToCode(error, &code);
    error.text = text.data();
    error.text_buffer_size = text.size();
    context_ = mg_start2(&init, &error);
    if (context_ == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("cannot serve HTTP on ", options.listen_address, ": ",
                       start_log_.empty() ? std::string(text.data()) : start_log_));
    }
    started_ = true;
    mg_server_port port = {};
    if (mg_get_server_ports(context_, 1, &port) < 1) {
      return absl::InternalError("the HTTP server does not tell its port");
    }
    port_ = port.port;
    return absl::OkStatus();
  }

  int port() const { return port_; }

 private:
  // Before the start is done the messages say what went wrong; later ones tell of peers that went
  // away, which is no news.
  static int OnLog(const mg_connection* connection, const char* message) {
    auto* self = static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
    if (self != nullptr && !self->started_) {
      absl::StrAppend(&self->start_log_, self->start_log_.empty() ? "" : "; ", message);
    }
    return 1;  // handled: nothing on stderr
  }

  static int OnRequest(mg_connection* connection) {
    const auto* self = static_cast<const Impl*>(mg_get_user_data(mg_get_context(connection)));
    const mg_request_info* request = mg_get_request_info(connection);
    const absl::string_view method = request->request_method;
    Response response;
    try {  // the caller is C
      response = self->Answer(method, request->local_uri);
    } catch (const std::exception& error) {
      response = {500, kPlainText, "", absl::StrCat(error.what(), "\n")};
    }
    Send(connection, response, method != "HEAD");
    // Else the library reads the request's body to its end, as long as the peer likes to send.
    mg_disable_connection_keep_alive(connection);
    return response.code;
  }

  // Requests that the library cannot read. Its own page needs gmtime(), which is not thread-safe.
  static int OnError(mg_connection* connection, int code, const char* /*text*/) {
    Send(connection, {code, kPlainText, "", "the request cannot be served\n"}, true);
    mg_disable_connection_keep_alive(connection);
    return 0;  // handled
  }

  Response Answer(absl::string_view method, const char* path_or_null) const {
    const absl::string_view path = path_or_null == nullptr ? "" : path_or_null;
    const bool known = path == "/metrics" || path == "/healthz" || path == "/readyz";
    if (!known) return {404, kPlainText, "", "not found; there are /metrics, /healthz, /readyz\n"};
    if (method != "GET" && method != "HEAD") {
      return {405, kPlainText, "Allow: GET, HEAD\r\n", "only GET and HEAD\n"};
    }
    if (path == "/metrics") return {200, kMetricsText, "", render_metrics_()};
    if (path == "/healthz") return {200, kPlainText, "", "ok\n"};
    const absl::Status ready = ready_();
    if (ready.ok()) return {200, kPlainText, "", "ready\n"};
    return {503, kPlainText, "", absl::StrCat("not ready: ", ready.message(), "\n")};
  }

  const std::function<std::string()> render_metrics_;
  const std::function<absl::Status()> ready_;
  mg_context* context_ = nullptr;
  std::atomic<bool> started_ = false;
  std::string start_log_;
  int port_ = 0;
};

HttpEndpoint::HttpEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpEndpoint::~HttpEndpoint() = default;

absl::Status HttpEndpoint::CheckAddress(const std::string& listen_address) {
  return ListeningPorts(listen_address).status();
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Create(
    const HttpEndpointOptions& options, std::function<std::string()> render_metrics,
    std::function<absl::Status()> ready) {
  auto impl = std::make_unique<Impl>(std::move(render_metrics), std::move(ready));
  ORBSERVE_RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(impl)));
}

int HttpEndpoint::port() const { return impl_->port(); }

}  // namespace orbserve
