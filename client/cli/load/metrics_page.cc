// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/metrics_page.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace orbserve::cli {
namespace {

int Connect(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &addresses) != 0) return -1;
  int connected = -1;
  for (const addrinfo* a = addresses; a != nullptr && connected < 0; a = a->ai_next) {
    connected = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (connected >= 0 && connect(connected, a->ai_addr, a->ai_addrlen) != 0) {
      close(connected);
      connected = -1;
    }
  }
  freeaddrinfo(addresses);
  return connected;
}

}  // namespace

MetricsPage FetchMetrics(const std::string& host, const std::string& port) {
  MetricsPage page;
  const int connection = Connect(host, port);
  if (connection < 0) return page;
  const std::string request =
      "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  std::string answer;
  if (send(connection, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[65536];
    for (ssize_t n = 0; (n = recv(connection, buffer, sizeof(buffer), 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(connection);
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    const bool is_sample = line.rfind("orbserve_", 0) == 0 || line.rfind("process_", 0) == 0;
    if (!is_sample || space == std::string::npos) continue;
    page[line.substr(0, space)] = std::strtod(line.c_str() + space + 1, nullptr);
  }
  return page;
}

}  // namespace orbserve::cli
