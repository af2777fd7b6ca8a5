// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/first_bytes.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace orbserve {

FirstBytes LookAtFirstBytes(int socket, bool is_plain) {
  constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  constexpr size_t kSettingsHeaderBytes = 9;
  constexpr size_t kTlsHeaderBytes = 5;
  constexpr char kTlsHandshake = 22;
  std::array<char, kPreface.size() + kSettingsHeaderBytes> start;
  const ssize_t size = recv(socket, start.data(), start.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN ? FirstBytes::kIncomplete : FirstBytes::kEnded;
  if (size == 0) return FirstBytes::kEnded;
  const absl::string_view bytes(start.data(), static_cast<size_t>(size));
  if (is_plain) {
    const bool is_http2 = absl::StartsWith(kPreface, bytes.substr(0, kPreface.size()));
    return is_http2 && bytes.size() < start.size() ? FirstBytes::kIncomplete
                                                   : FirstBytes::kComplete;
  }
  if (bytes[0] != kTlsHandshake) return FirstBytes::kComplete;
  if (bytes.size() < kTlsHeaderBytes) return FirstBytes::kIncomplete;
  const int message_bytes = static_cast<uint8_t>(bytes[3]) << 8 | static_cast<uint8_t>(bytes[4]);
  int available = 0;
  if (ioctl(socket, FIONREAD, &available) != 0) return FirstBytes::kEnded;
  return available < message_bytes + static_cast<int>(kTlsHeaderBytes) ? FirstBytes::kIncomplete
                                                                       : FirstBytes::kComplete;
}

}  // namespace orbserve
