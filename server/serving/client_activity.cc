// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/client_activity.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "server/clients/identity.h"

namespace orbserve {
namespace {

// What counts as memory that a client holds.
constexpr Resource kHeldBytes[] = {Resource::kFrameBytes,         Resource::kMatchBytes,
                                   Resource::kTrackBytes,         Resource::kDecodeBytes,
                                   Resource::kLargeDecodeBytes,   Resource::kUnaryResponseBytes,
                                   Resource::kStreamResponseBytes};

}  // namespace

ClientActivity::Entry& ClientActivity::FindOrAdd(const ClientId& client, SteadyTime now) {
  auto found = clients_.find(client);
  if (found == clients_.end()) {
    if (clients_.size() >= kMaxClients) MakeRoom();
    Ledger::AccountPtr account = ledger_.Open(client);
    found = clients_.try_emplace(client).first;
    found->second.account = std::move(account);
    found->second.row.set_client(DisplayName(client));
  }
  found->second.last = now;
  return found->second;
}

// Forgets a quarter of the clients, so that this is done seldom. Clients with open streams stay.
void ClientActivity::MakeRoom() {
  std::vector<std::pair<SteadyTime, ClientId>> idle;
  for (const auto& [client, entry] : clients_) {
    if (entry.account->held(Resource::kStreams) == 0) idle.emplace_back(entry.last, client);
  }
  const size_t count = std::min(idle.size(), kMaxClients / 4);
  const auto end = idle.begin() + static_cast<ptrdiff_t>(count);
  std::nth_element(idle.begin(), end, idle.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto entry = idle.begin(); entry != end; ++entry) clients_.erase(entry->second);
}

void ClientActivity::FrameReceived(const ClientId& client, int64_t bytes) {
  const SteadyTime now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  Entry& entry = FindOrAdd(client, now);
  entry.row.set_received(entry.row.received() + 1);
  entry.row.set_bytes(entry.row.bytes() + static_cast<double>(bytes));
  entry.frames.Add(1, now);
  entry.bytes.Add(static_cast<double>(bytes), now);
}

template <typename Change>
void ClientActivity::Update(const ClientId& client, const Change& change) {
  const SteadyTime now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  found->second.last = now;
  change(found->second);
}

void ClientActivity::FrameEnded(const ClientId& client, const absl::Status& told) {
  Update(client, [&told](Entry& entry) {
    server::ClientRow& row = entry.row;
    if (told.ok()) return row.set_ok(row.ok() + 1);
    if (ReasonOf(told) == ErrorReason::kDropped) return row.set_dropped(row.dropped() + 1);
    row.set_failed(row.failed() + 1);
  });
}

void ClientActivity::FrameComputed(const ClientId& client, const FrameOutcome& outcome) {
  Update(client, [&outcome](Entry& entry) {
    if (outcome.batch_frames > 0) {
      const std::chrono::duration<double> busy = outcome.cost.busy_end - outcome.cost.busy_begin;
      entry.seconds.Add(busy.count() / outcome.batch_frames, entry.last);
    }
    if (outcome.energy_joules.has_value()) {
      entry.row.set_joules(entry.row.joules() + *outcome.energy_joules);
      entry.joules.Add(*outcome.energy_joules, entry.last);
    }
  });
}

void ClientActivity::StreamOpened(const ClientId& client) {
  absl::MutexLock lock(&mutex_);
  FindOrAdd(client, clock_.Now());
}

void ClientActivity::StreamClosed(const ClientId& client) {
  Update(client, [](Entry&) {});
}

server::ClientTable ClientActivity::Busiest(size_t most) const {
  const SteadyTime now = clock_.Now();
  server::ClientTable table;
  auto& rows = *table.mutable_clients();
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [client, entry] : clients_) {
      server::ClientRow& row = *rows.Add();
      row = entry.row;
      row.set_streams(static_cast<uint32_t>(entry.account->held(Resource::kStreams)));
      row.set_waiting(static_cast<double>(entry.account->held(Resource::kFrames)));
      int64_t held_bytes = 0;
      for (const Resource bytes : kHeldBytes) held_bytes += entry.account->held(bytes);
      row.set_held_bytes(static_cast<double>(held_bytes));
      row.set_frames_per_second(entry.frames.PerSecond(now));
      row.set_bytes_per_second(entry.bytes.PerSecond(now));
      row.set_device_share(entry.seconds.PerSecond(now));
      if (row.has_joules()) row.set_watts(entry.joules.PerSecond(now));
      row.set_idle_seconds(std::chrono::duration<double>(now - entry.last).count());
    }
  }
  const int known = rows.size();
  table.set_known(static_cast<uint32_t>(known));
  const int count = std::min(static_cast<int>(most), known);
  std::partial_sort(rows.pointer_begin(), rows.pointer_begin() + count, rows.pointer_end(),
                    [](const server::ClientRow* a, const server::ClientRow* b) {
                      if (a->device_share() != b->device_share()) {
                        return a->device_share() > b->device_share();
                      }
                      if (a->received() != b->received()) return a->received() > b->received();
                      return a->client() < b->client();
                    });
  rows.DeleteSubrange(count, known - count);
  return table;
}

}  // namespace orbserve
