// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/server_address.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace orbserve::cli {
namespace {

constexpr char kDefaultPort[] = "50051";

absl::Status Wrong(absl::string_view address, absl::string_view why, absl::string_view instead) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--server ", std::string(address), ": ", std::string(why), "; write ", std::string(instead)));
}

// Address without scheme, path and user: what somebody meant who gave a URL.
std::string FromUrl(absl::string_view rest) {
  rest = rest.substr(0, rest.find_first_of("/?#"));
  const bool has_port =
      rest.rfind(':') != absl::string_view::npos && rest.rfind(':') > rest.rfind(']') + 1;
  return absl::StrCat(std::string(rest), has_port ? "" : absl::StrCat(":", kDefaultPort));
}

}  // namespace

absl::Status CheckServerAddress(absl::string_view address) {
  absl::string_view rest = address;
  for (const absl::string_view scheme : {"http://", "https://", "grpc://", "grpcs://"}) {
    if (!absl::ConsumePrefix(&rest, scheme)) continue;
    const bool tls = absl::StrContains(scheme, "s://");
    return Wrong(address, absl::StrCat("an address has no ", std::string(scheme)),
                 absl::StrCat("--server ", FromUrl(rest), tls ? " --tls-ca FILE" : ""));
  }
  for (const absl::string_view scheme :
       {"unix:", "unix-abstract:", "dns:", "ipv4:", "ipv6:", "vsock:", "xds:", "passthrough:"}) {
    if (absl::StartsWith(address, scheme)) return absl::OkStatus();
  }
  if (absl::StartsWith(address, "/")) {
    return Wrong(address, "a socket is given with unix:",
                 absl::StrCat("--server unix:", std::string(address)));
  }
  // Colons outside brackets divide host and port; an IPv6 address has more than one.
  const size_t bracket = address.rfind(']');
  const size_t from = bracket == absl::string_view::npos ? 0 : bracket + 1;
  const auto colons =
      std::count(address.begin() + static_cast<ptrdiff_t>(from), address.end(), ':');
  if (colons > 1) {
    return Wrong(address, "an IPv6 address stands in brackets",
                 absl::StrCat("--server [", std::string(address), "]:", kDefaultPort));
  }
  if (colons == 0) {
    return Wrong(address, "the port is missing",
                 absl::StrCat("--server ", std::string(address), ":", kDefaultPort));
  }
  const absl::string_view host = address.substr(0, address.rfind(':'));
  const absl::string_view port = address.substr(address.rfind(':') + 1);
  if (host.empty()) {
    return Wrong(address, "the host is missing",
                 absl::StrCat("--server localhost:", std::string(port)));
  }
  int number = 0;
  if (!absl::SimpleAtoi(port, &number) || number < 1 || number > 65535) {
    return Wrong(address, "the port is a number from 1 to 65535",
                 absl::StrCat("--server ", std::string(host), ":", kDefaultPort));
  }
  return absl::OkStatus();
}

}  // namespace orbserve::cli
