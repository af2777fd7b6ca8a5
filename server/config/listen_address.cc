// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/un.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/clients/peer.h"
#include "server/config/config.h"

namespace orbserve {
namespace {

struct HostAndPort {
  std::string host;
  int port = 0;
};

// Of HOST:PORT or [IPV6]:PORT, where HOST is an IPv4 address, a name that a resolver may know, or
// empty; nothing for a text of another form.
std::optional<HostAndPort> Parse(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  const absl::string_view port = address.substr(colon + 1);
  HostAndPort parsed;
  if (port.size() > 5 || port.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(port, &parsed.port) || parsed.port > 65535) {
    return std::nullopt;
  }
  absl::string_view host = address.substr(0, colon);
  bool is_good = true;
  if (absl::ConsumePrefix(&host, "[")) {
    is_good = absl::ConsumeSuffix(&host, "]") && absl::StrContains(host, ":") &&
              !OwnerOfAddress(host).empty();
  } else if (host.find_first_not_of("0123456789.") == absl::string_view::npos) {
    is_good = host.empty() || !OwnerOfAddress(host).empty();
  } else {
    for (const char c : host) {
      is_good = is_good && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
                            c == '-' || c == '_');
    }
  }
  parsed.host = std::string(host);
  return is_good ? std::optional(parsed) : std::nullopt;
}

// True for addresses that only this machine reaches: a Unix socket, localhost, 127.0.0.0/8, [::1].
bool IsLocalAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:")) {
    return true;
  }
  const std::string host = Parse(address).value_or(HostAndPort()).host;
  const std::string owner = OwnerOfAddress(host);
  return host == "localhost" || owner == "addr:::1" || absl::StartsWith(owner, "addr:127.");
}

// The folder of a Unix socket must be there: the server makes no folders.
void CheckSocketFolder(absl::string_view path, Mistakes* mistakes) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos || slash == 0) return;
  const std::string folder(path.substr(0, slash));
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  if (error == std::errc::permission_denied) return;  // another user may see it
  mistakes->Add(error
                    ? absl::StrCat("listen: the folder ", folder,
                                   " of the Unix socket cannot be used: ", error.message())
                    : absl::StrCat("listen: ", folder, " must be a folder, to have a Unix socket"));
}

// A server takes the place of a socket that another process has left behind, and of nothing else.
void CheckSocketPath(const std::string& path, Mistakes* mistakes) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_socket(status)) return;
  mistakes->Add(absl::StrCat("listen: ", path, " is there, and is no Unix socket"));
}

// `name`: a path or a name in the abstract namespace.
void CheckSocketName(absl::string_view name, bool is_path, Mistakes* mistakes) {
  constexpr size_t kMaxBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (name.empty() || name.size() > kMaxBytes) {
    mistakes->Add(absl::StrCat("listen: the name of a Unix socket must have 1 to ", kMaxBytes,
                               " bytes; got ", name.size()));
  } else if (is_path) {
    CheckSocketFolder(name, mistakes);
    CheckSocketPath(std::string(name), mistakes);
  }
}

// Certificates of clients cannot be seen, and tokens can be read by others, without TLS.
void CheckPlainText(const server::Config& config, Mistakes* mistakes) {
  if (!config.tls().cert_file().empty() || IsLocalAddress(config.listen())) return;
  if (!config.token_file().empty()) {
    mistakes->Add(absl::StrCat("token_file needs tls.cert_file and tls.key_file on ",
                               config.listen(),
                               ": tokens are sent over TLS, Unix sockets and the loopback only"));
  } else if (!config.insecure()) {
    mistakes->Add(absl::StrCat("listen ", config.listen(),
                               " would serve plain text to other machines; use TLS (--tls-cert, "
                               "--tls-key), an address of this machine only, or --insecure"));
  }
}

// True if two sockets want one port of one interface.
bool Collide(const HostAndPort& a, const HostAndPort& b) {
  const auto is_every = [](const std::string& host) {
    return host.empty() || host == "::" || host == "0.0.0.0";
  };
  const auto normal = [](const std::string& host) {
    return host == "localhost" ? "127.0.0.1" : host;
  };
  return a.port == b.port && a.port != 0 &&
         (normal(a.host) == normal(b.host) || is_every(a.host) || is_every(b.host));
}

}  // namespace

bool HttpIsOpenToOthers(const server::Config& config) {
  return !config.http_listen().empty() && !IsLocalAddress(config.http_listen());
}

absl::Status CheckListenAddresses(const server::Config& config) {
  Mistakes mistakes;
  absl::string_view name = config.listen();
  const bool is_path = absl::ConsumePrefix(&name, "unix:");
  const bool is_unix = is_path || absl::ConsumePrefix(&name, "unix-abstract:");
  const auto listen = Parse(config.listen());
  const auto http_listen = Parse(config.http_listen());
  const bool is_good = is_unix || (listen.has_value() && !listen->host.empty());
  if (is_unix) CheckSocketName(name, is_path, &mistakes);
  if (!is_good) {
    mistakes.Add(
        absl::StrCat("listen must be HOST:PORT or [IPV6]:PORT with a port of 0..65535, "
                     "unix:PATH or unix-abstract:NAME; got \"",
                     config.listen(), "\""));
  }
  if (!config.http_listen().empty() && !http_listen.has_value()) {
    mistakes.Add(
        absl::StrCat("http_listen must be HOST:PORT, [IPV6]:PORT or :PORT with a port of "
                     "0..65535, or empty for none; got \"",
                     config.http_listen(), "\""));
  }
  if (is_good) CheckPlainText(config, &mistakes);
  if (is_good && !is_unix && http_listen.has_value() && Collide(*listen, *http_listen)) {
    mistakes.Add(absl::StrCat("listen and http_listen must differ; got ", config.listen(), " and ",
                              config.http_listen()));
  }
  return mistakes.status();
}

}  // namespace orbserve
