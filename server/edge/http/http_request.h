// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_HTTP_HTTP_REQUEST_H_
#define ORBSERVE_SERVER_EDGE_HTTP_HTTP_REQUEST_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace orbserve {

inline constexpr size_t kMaxHttpRequestBytes = 16384;  // request line and headers

// The first line of a request of HTTP/1.0 or 1.1 (RFC 9112, section 3).
struct HttpRequest {
  enum class State {
    kIncomplete,  // more bytes are wanted
    kComplete,
    kBad,                 // 400
    kTooLarge,            // 431
    kVersionUnsupported,  // 505
  };
  State state = State::kIncomplete;
  std::string method;
  std::string path;   // without the query, not decoded
  std::string query;  // behind the "?", not decoded

  bool operator==(const HttpRequest&) const = default;
};

// Reads the request that `bytes` begins with. Header fields are not looked at.
HttpRequest ReadHttpRequest(absl::string_view bytes);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_HTTP_HTTP_REQUEST_H_
