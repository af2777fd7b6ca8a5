// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_HTTP_HTTP_ENDPOINT_H_
#define ORBSERVE_SERVER_EDGE_HTTP_HTTP_ENDPOINT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

struct HttpEndpointOptions {
  // HOST:PORT or [IPV6]:PORT; port 0 = a free one; an empty host = every interface.
  std::string listen_address = "127.0.0.1:9464";
  // Connections at a time, >= 1. A new one beyond takes the place of one that has its answer, else
  // of the oldest, so nobody keeps others out.
  int max_connections = 256;
  // Time in which a client must have sent its request, and then taken the answer.
  std::chrono::milliseconds request_time{5'000};
};

// Content type of a page in Prometheus' text format.
inline constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

// A page of the endpoint. `render` makes its body; `query` is the text behind the "?" of the
// request, not decoded. An error is answered as text: INVALID_ARGUMENT by 400, NOT_FOUND by 404,
// any other by 503.
struct HttpPage {
  std::string path;  // "/metrics"
  std::string content_type;
  std::function<absl::StatusOr<std::string>(absl::string_view query)> render;
  std::string extra_headers = "";  // whole lines, each with its "\r\n"
};

// The operator's HTTP port: GET and HEAD of its pages and of
//   /healthz  200 while the process lives
//   /readyz   200 when `ready` says OK, else 503 with the reason
// Anything else is 404, any other method 405. One request a connection; requests over 16 KiB are
// refused.
class HttpEndpoint {
 public:
  // Binds and starts to serve, until the endpoint is destroyed. Pages are called
  // one at a time, and `ready` beside them. They may block: /healthz waits for neither, and /readyz
  // for no page. One call answers all requests that wait for the same when it begins.
  // UNAVAILABLE: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Create(const HttpEndpointOptions& options,
                                                              std::vector<HttpPage> pages,
                                                              std::function<absl::Status()> ready);

  // Closes all connections and waits for the callbacks in progress.
  virtual ~HttpEndpoint() = default;
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // The port that is bound.
  virtual int port() const = 0;

 protected:
  HttpEndpoint() = default;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_HTTP_HTTP_ENDPOINT_H_
