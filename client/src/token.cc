// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/token.h"

#include <algorithm>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace orbserve::client {
namespace {

// More than any token has; metadata is limited to 16 KiB.
constexpr size_t kMaxTokenBytes = 4096;

bool StaysOnThisMachine(absl::string_view target) {
  if (absl::StartsWith(target, "unix:") || absl::StartsWith(target, "unix-abstract:")) return true;
  for (const absl::string_view scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&target, scheme)) break;
  }
  return absl::StartsWith(target, "localhost:") || absl::StartsWith(target, "127.") ||
         absl::StartsWith(target, "[::1]:");
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
