// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/client_activity.h"

#include <algorithm>
#include <utility>

#include "features/errors.h"

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
    found->second.use.client = client;
    found->second.account = std::move(account);
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
  ++entry.use.received;
  entry.use.bytes += bytes;
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
    const bool is_dropped = !told.ok() && ReasonOf(told) == ErrorReason::kDropped;
    ++(told.ok() ? entry.use.ok : is_dropped ? entry.use.dropped : entry.use.failed);
  });
}

void ClientActivity::FrameComputed(const ClientId& client, const FrameOutcome& outcome) {
  Update(client, [&outcome](Entry& entry) {
    if (outcome.batch_frames > 0) {
      const std::chrono::duration<double> busy = outcome.cost.busy_end - outcome.cost.busy_begin;
      entry.seconds.Add(busy.count() / outcome.batch_frames, entry.last);
    }
    if (outcome.energy_joules.has_value()) {
      entry.use.joules = entry.use.joules.value_or(0) + *outcome.energy_joules;
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

std::vector<ClientUse> ClientActivity::Busiest(size_t most, size_t* known) const {
  const SteadyTime now = clock_.Now();
  std::vector<ClientUse> uses;
  {
    absl::MutexLock lock(&mutex_);
    *known = clients_.size();
    uses.reserve(clients_.size());
    for (const auto& [client, entry] : clients_) {
      ClientUse& use = uses.emplace_back(entry.use);
      use.streams = entry.account->held(Resource::kStreams);
      use.waiting = entry.account->held(Resource::kFrames);
      for (const Resource bytes : kHeldBytes) use.held_bytes += entry.account->held(bytes);
      use.frames_per_second = entry.frames.PerSecond(now);
      use.bytes_per_second = entry.bytes.PerSecond(now);
      use.device_share = entry.seconds.PerSecond(now);
      if (use.joules.has_value()) use.watts = entry.joules.PerSecond(now);
      use.idle = now - entry.last;
    }
  }
  const size_t count = std::min(most, uses.size());
  std::partial_sort(uses.begin(), uses.begin() + static_cast<ptrdiff_t>(count), uses.end(),
                    [](const ClientUse& a, const ClientUse& b) {
                      if (a.device_share != b.device_share) return a.device_share > b.device_share;
                      if (a.received != b.received) return a.received > b.received;
                      return a.client.name < b.client.name;
                    });
  uses.resize(count);
  return uses;
}

}  // namespace orbserve
