// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/close_heaviest.h"

#include <sys/socket.h>

#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "server/edge/guard/guard_table.h"

namespace orbserve {

void CloseUnfinished(const ConnectionTable& table, int64_t max_bytes) {
  while (GuardTable::Get().unfinished_bytes() > max_bytes) {
    absl::flat_hash_map<absl::string_view, int64_t> of_addresses;
    for (const auto& [number, connection] : table.all()) {
      of_addresses[connection.peer.address] +=
          GuardTable::Get().View(connection.descriptor).unfinished_bytes;
    }
    const TrackedConnection* largest = nullptr;
    std::pair<int64_t, int64_t> most = {0, 0};  // bytes of the address, bytes of the connection
    for (const auto& [number, connection] : table.all()) {
      const std::pair<int64_t, int64_t> held = {
          of_addresses[connection.peer.address],
          GuardTable::Get().View(connection.descriptor).unfinished_bytes};
      if (held.second > 0 && held > most) {
        most = held;
        largest = &connection;
      }
    }
    if (largest == nullptr) return;  // another server of this process holds them
    GuardTable::Get().Close(largest->descriptor, CloseReason::kUnfinished);
    shutdown(largest->duplicate.get(), SHUT_RDWR);
  }
}

void CloseUnproven(const ConnectionTable& table, int64_t max_calls) {
  while (GuardTable::Get().unproven_calls() > max_calls) {
    absl::flat_hash_map<absl::string_view, int64_t> of_networks;
    absl::flat_hash_map<absl::string_view, int64_t> of_addresses;
    for (const auto& [number, connection] : table.all()) {
      const int64_t calls = GuardTable::Get().View(connection.descriptor).unproven_calls;
      of_networks[connection.peer.network] += calls;
      of_addresses[connection.peer.address] += calls;
    }
    const TrackedConnection* largest = nullptr;
    std::array<int64_t, 3> most = {0, 0, 0};
    for (const auto& [number, connection] : table.all()) {
      const std::array<int64_t, 3> open = {
          of_networks[connection.peer.network], of_addresses[connection.peer.address],
          GuardTable::Get().View(connection.descriptor).unproven_calls};
      if (open[2] > 0 && open > most) {
        most = open;
        largest = &connection;
      }
    }
    if (largest == nullptr) return;  // another server of this process has them
    GuardTable::Get().Close(largest->descriptor, CloseReason::kUnproven);
    shutdown(largest->duplicate.get(), SHUT_RDWR);
  }
}

}  // namespace orbserve
