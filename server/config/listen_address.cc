// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config/listen_address.h"

#include <arpa/inet.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/errors.h"
#include "server/edge/http/http_endpoint.h"
#include "server/process/mistakes.h"

namespace orbserve {
namespace {

bool IsPort(absl::string_view text) {
  int port = 0;
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, &port) && port <= 65535;
}

bool IsIpv6(absl::string_view text) {
  in6_addr address = {};
  // The part behind % is a zone, the name of an interface.
  return inet_pton(AF_INET6, std::string(text.substr(0, text.find('%'))).c_str(), &address) == 1;
}

// An IPv4 address, or a name that a resolver may know.
bool IsHost(absl::string_view text) {
  if (text.empty()) return false;
  if (text.find_first_not_of("0123456789.") == absl::string_view::npos) {
    in_addr address = {};
    return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
  }
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') {
      return false;
    }
  }
  return true;
}

bool IsHostAndPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || !IsPort(address.substr(colon + 1))) return false;
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) return absl::ConsumeSuffix(&host, "]") && IsIpv6(host);
  return IsHost(host);
}

// True for addresses that only this machine reaches: a Unix socket, localhost, 127.0.0.0/8, [::1].
bool IsLocalAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:")) {
    return true;
  }
  absl::string_view host = address.substr(0, address.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  if (host == "localhost") return true;
  in6_addr ipv6 = {};
  if (inet_pton(AF_INET6, std::string(host).c_str(), &ipv6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&ipv6) != 0;
  }
  in_addr ipv4 = {};
  return inet_pton(AF_INET, std::string(host).c_str(), &ipv4) == 1 &&
         (ntohl(ipv4.s_addr) >> 24) == 127;
}

// The folder of a Unix socket must be there: the server makes no folders.
absl::Status CheckSocketFolder(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos || slash == 0) return absl::OkStatus();
  const std::string folder(path.substr(0, slash));
  struct stat info = {};
  if (stat(folder.c_str(), &info) != 0) {
    if (errno == EACCES) return absl::OkStatus();  // another user may see it
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("listen: the folder ", folder,
                                  " of the Unix socket cannot be used: ", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("listen: ", folder, " must be a folder, to have a Unix socket"));
}

// HOST:PORT or [IPV6]:PORT with a port of 0..65535, unix:PATH or unix-abstract:NAME.
absl::Status CheckListenAddress(absl::string_view address) {
  absl::string_view name = address;
  const bool is_path = absl::ConsumePrefix(&name, "unix:");
  if (is_path || absl::ConsumePrefix(&name, "unix-abstract:")) {
    constexpr size_t kMaxBytes = sizeof(sockaddr_un::sun_path) - 1;
    if (!name.empty() && name.size() <= kMaxBytes) {
      return is_path ? CheckSocketFolder(name) : absl::OkStatus();
    }
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("listen: the name of a Unix socket must have 1 to ", kMaxBytes,
                                  " bytes; got ", name.size()));
  }
  if (IsHostAndPort(address)) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("listen must be HOST:PORT or [IPV6]:PORT with a port of 0..65535, "
                                "unix:PATH or unix-abstract:NAME; got \"",
                                address, "\""));
}

absl::Status CheckHttpAddress(const std::string& address) {
  ORBSERVE_RETURN_IF_ERROR(HttpEndpoint::CheckAddress(address));
  // An empty host means every interface here.
  if (absl::StartsWith(address, ":") || IsHostAndPort(address)) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("http_listen must be HOST:PORT or [IPV6]:PORT with a port of "
                                "0..65535, or empty; got \"",
                                address, "\""));
}

// Two sockets cannot have one port of one interface. Both addresses are good ones.
absl::Status CheckTheyDiffer(absl::string_view listen, absl::string_view http_listen) {
  if (absl::StartsWith(listen, "unix") || http_listen.empty()) return absl::OkStatus();
  const auto port = [](absl::string_view address) {
    int number = 0;
    return absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &number) ? number : 0;
  };
  const auto host = [](absl::string_view address) {
    const absl::string_view name = address.substr(0, address.rfind(':'));
    return name.empty() ? "[::]" : name == "localhost" ? "127.0.0.1" : name;
  };
  const absl::string_view a = host(listen);
  const absl::string_view b = host(http_listen);
  const auto is_every = [](absl::string_view name) { return name == "[::]" || name == "0.0.0.0"; };
  if (port(listen) != port(http_listen) || port(listen) == 0 ||
      (a != b && !is_every(a) && !is_every(b))) {
    return absl::OkStatus();
  }
  return MakeError(
      ErrorReason::kBadOptions,
      absl::StrCat("listen and http_listen must differ; got ", listen, " and ", http_listen));
}

// Certificates of clients cannot be seen, and tokens can be read by others, without TLS.
absl::Status CheckPlainText(const server::Config& config) {
  if (!config.tls().cert_file().empty() || IsLocalAddress(config.listen())) return absl::OkStatus();
  if (!config.token_file().empty()) {
    return MakeError(
        ErrorReason::kBadOptions,
        absl::StrCat("token_file needs tls.cert_file and tls.key_file on ", config.listen(),
                     ": tokens are sent over TLS, Unix sockets and the loopback only"));
  }
  if (config.insecure()) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("listen ", config.listen(),
                                " would serve plain text to other machines; use TLS (--tls-cert, "
                                "--tls-key), an address of this machine only, or --insecure"));
}

}  // namespace

bool HttpIsOpenToOthers(const server::Config& config) {
  return !config.http_listen().empty() && !IsLocalAddress(config.http_listen());
}

absl::Status CheckListenAddresses(const server::Config& config) {
  Mistakes mistakes;
  const absl::Status listen = CheckListenAddress(config.listen());
  const absl::Status http_listen =
      config.http_listen().empty() ? absl::OkStatus() : CheckHttpAddress(config.http_listen());
  mistakes.Add(listen);
  mistakes.Add(http_listen);
  if (listen.ok()) mistakes.Add(CheckPlainText(config));
  if (listen.ok() && http_listen.ok()) {
    mistakes.Add(CheckTheyDiffer(config.listen(), config.http_listen()));
  }
  return mistakes.status();
}

}  // namespace orbserve
