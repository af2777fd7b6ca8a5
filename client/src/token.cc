// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/token.h"

#include <arpa/inet.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace orbserve::client {
namespace {

// More than any token has; metadata is limited to 16 KiB.
constexpr size_t kMaxTokenBytes = 4096;

// True for the loopback's addresses and its name. A host such as 127.example.org is another one.
bool IsLoopback(absl::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address = {};
  return absl::StartsWith(host, "127.") &&
         inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

bool StaysOnThisMachine(absl::string_view target) {
  if (absl::StartsWith(target, "unix:") || absl::StartsWith(target, "unix-abstract:")) return true;
  for (const absl::string_view scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&target, scheme)) break;
  }
  // Targets with a scheme may name several addresses.
  const std::vector<absl::string_view> addresses = absl::StrSplit(target, ',');
  return std::all_of(addresses.begin(), addresses.end(), [](absl::string_view address) {
    const size_t colon = address.rfind(':');
    return colon != absl::string_view::npos && IsLoopback(address.substr(0, colon));
  });
}

}  // namespace

absl::StatusOr<std::string> ReadToken(const std::string& path, absl::string_view address,
                                      bool has_tls) {
  if (!has_tls && !StaysOnThisMachine(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a token is sent over TLS, Unix sockets and the loopback only; got ", address,
                     " without certificates to check the server with"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!file) return absl::NotFoundError(absl::StrCat("token file cannot be read: ", path));
  std::getline(file, line);
  const absl::string_view token = absl::StripAsciiWhitespace(line);
  if (token.empty() || token.size() > kMaxTokenBytes ||
      !std::all_of(token.begin(), token.end(),
                   [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("the first line of a token file must be a token, 1 to ", kMaxTokenBytes,
                     " bytes of printable ASCII without spaces: ", path));
  }
  return std::string(token);
}

}  // namespace orbserve::client
