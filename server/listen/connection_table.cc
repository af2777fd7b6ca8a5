// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/listen/connection_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <utility>

namespace orbserve {

std::string AddressKeyOf(const SocketAddress& peer) {
  char text[INET6_ADDRSTRLEN] = {};
  if (peer.family() == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(peer.storage);
    inet_ntop(AF_INET, &ipv4.sin_addr, text, sizeof(text));
    return text;
  }
  if (peer.family() != AF_INET6) return "unix";
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(peer.storage);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {
    inet_ntop(AF_INET, ipv6.sin6_addr.s6_addr + 12, text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, &ipv6.sin6_addr, text, sizeof(text));
  }
  return text;
}

ConnectionTable::Room ConnectionTable::RoomFor(const std::string& address) const {
  const auto of_address = by_address_.find(address);
  if (of_address != by_address_.end() &&
      of_address->second >= bounds_.max_connections_per_address) {
    return Room::kAddressFull;
  }
  return clients_ >= bounds_.max_connections ? Room::kFull : Room::kFree;
}

ConnectionTable::Idle ConnectionTable::IdleFor(const std::string& address, Room room, int queued,
                                               int64_t now_ms) const {
  // So many connections pass in this time as there are places.
  const int64_t no_call_ms =
      std::clamp(bounds_.max_queue_ms * bounds_.max_connections / std::max(queued, 1),
                 bounds_.least_no_call_ms, bounds_.no_call_ms);
  uint64_t oldest = 0;  // of those that are idle although they made calls
  int64_t oldest_ms = now_ms - bounds_.idle_ms;
  for (const auto& [number, connection] : connections_) {
    if (connection.is_own) continue;
    if (room == Room::kAddressFull && connection.address != address) continue;
    const GuardView view = look_(connection);
    if (view.calls == 0) {
      // The rest is younger.
      if (now_ms - connection.opened_ms >= no_call_ms) return {number, false};
      const auto of_address = by_address_.find(address);
      const bool has_most = of_address != by_address_.end() && of_address->second > clients_ / 2;
      return {0, room == Room::kFull || has_most};
    }
    if (view.last_call_ms <= oldest_ms) {
      oldest = number;
      oldest_ms = view.last_call_ms;
    }
  }
  return {oldest, false};
}

uint64_t ConnectionTable::Add(TrackedConnection connection) {
  const uint64_t number = ++last_number_;
  by_descriptor_[connection.descriptor] = number;
  if (!connection.is_own) {
    ++by_address_[connection.address];
    ++clients_;
  }
  connections_.emplace(number, std::move(connection));
  return number;
}

TrackedConnection* ConnectionTable::Find(uint64_t number) {
  const auto found = connections_.find(number);
  return found == connections_.end() ? nullptr : &found->second;
}

uint64_t ConnectionTable::NumberOf(int descriptor) const {
  const auto found = by_descriptor_.find(descriptor);
  return found == by_descriptor_.end() ? 0 : found->second;
}

void ConnectionTable::Remove(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  const TrackedConnection& connection = found->second;
  const auto named = by_descriptor_.find(connection.descriptor);
  if (named != by_descriptor_.end() && named->second == number) by_descriptor_.erase(named);
  if (!connection.is_own) {
    const auto of_address = by_address_.find(connection.address);
    if (--of_address->second == 0) by_address_.erase(of_address);
    --clients_;
  }
  connections_.erase(found);
}

}  // namespace orbserve
