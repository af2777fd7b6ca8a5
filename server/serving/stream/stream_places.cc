// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_places.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "features/errors.h"

namespace orbserve {

void StreamPlaces::Unused::Add(const std::string& connection, uint64_t id) {
  const auto [entry, is_new] = of_connections_.try_emplace(connection);
  Ids& ids = entry->second;
  if (!is_new) Leave(ids);
  ids.insert(id);
  Enter(ids);
}

void StreamPlaces::Unused::Remove(const std::string& connection, uint64_t id) {
  const auto entry = of_connections_.find(connection);
  Ids& ids = entry->second;
  Leave(ids);
  ids.erase(id);
  if (ids.empty()) {
    of_connections_.erase(entry);
  } else {
    Enter(ids);
  }
}

StreamPlaces::StreamPlaces(Ledger* ledger, const StreamPlacesOptions& options)
    : ledger_(*ledger), options_(options) {
  ledger_.Bound(
      Resource::kStreams,
      {.all = options_.max_streams, .owner = options_.max_streams_per_owner, .times_free = 0});
}

void StreamPlaces::Sort(const Ledger::Account& account, const ClientId& client, int64_t change) {
  by_load_.erase({Load(account, -change), client.owner});
  if (account.held_by_owner(Resource::kStreams) == 0) {
    owners_.erase(client.owner);
    return;
  }
  by_load_.insert({Load(account, 0), client.owner});
  std::set<std::pair<int64_t, std::string>>& by_count = owners_[client.owner].by_count;
  by_count.erase({CountOf(account) - change, client.name});
  if (CountOf(account) > 0) by_count.insert({CountOf(account), client.name});
}

uint64_t StreamPlaces::FirstOfLargest(const std::string& owner) const {
  const Owner& of_owner = owners_.at(owner);
  const auto& largest = *of_owner.by_count.rbegin();
  const int64_t most = largest.first;
  const std::string& name = largest.second;
  const uint64_t front = of_owner.streams.front();
  if (CountOf(AccountOf(front)) == most) return front;
  for (const auto& [id, stream] : streams_) {
    if (!stream.is_used && stream.client.name == name && stream.client.owner == owner) return id;
  }
  const List& used = of_owner.streams.used;
  return *std::find_if(used.begin(), used.end(),
                       [&](uint64_t id) { return streams_.at(id).client.name == name; });
}

uint64_t StreamPlaces::VictimInside(const ClientId& client, const Ledger::Account& account,
                                    SteadyTime now) const {
  const Owner& owner = owners_.at(client.owner);
  const int64_t count = CountOf(account);
  if (owner.by_count.rbegin()->first - 1 >= count + 1) return FirstOfLargest(client.owner);
  const uint64_t first = owner.streams.front();
  return count == 0 && IsOfLittleUse(first, now) ? first : 0;
}

uint64_t StreamPlaces::Victim(const ClientId& client, const Ledger::Account& account,
                              SteadyTime now) const {
  const std::string& largest = by_load_.rbegin()->second;
  const Ledger::Account& of_largest = AccountOf(owners_.at(largest).streams.front());
  if (client.owner != largest && Load(of_largest, -1) >= Load(account, 1)) {
    return FirstOfLargest(largest);
  }
  if (account.held_by_owner(Resource::kStreams) > 0) return VictimInside(client, account, now);
  return IsOfLittleUse(all_.front(), now) ? all_.front() : 0;
}

absl::StatusOr<StreamPlaces::Admission> StreamPlaces::Add(const ClientId& client,
                                                          const std::string& connection,
                                                          SteadyTime now) {
  Admission admission;
  Holding place(ledger_.Open(client), Resource::kStreams);
  if (const std::optional<Refusal> full = place.Resize(1)) {
    const Ledger::Account& account = *place.account();
    admission.removed = full->full == Refusal::Full::kAll ? Victim(client, account, now)
                                                          : VictimInside(client, account, now);
    if (admission.removed == 0) return MakeError(ErrorReason::kQuotaExceeded, full->text());
    Remove(admission.removed);
    place.Set(1);
  }
  admission.id = Enter(client, connection, std::move(place));
  return admission;
}

uint64_t StreamPlaces::Enter(const ClientId& client, const std::string& connection, Holding place) {
  const uint64_t id = next_id_++;
  const Ledger::Account& account = *place.account();
  all_.unused.Add(connection, id);
  owners_[client.owner].streams.unused.Add(connection, id);
  streams_.emplace(id,
                   Stream{.client = client, .connection = connection, .place = std::move(place)});
  Sort(account, client, 1);
  return id;
}

void StreamPlaces::Touch(uint64_t id, SteadyTime now) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  stream.last = now;
  Order& of_owner = owners_.at(stream.client.owner).streams;
  if (stream.is_used) {
    all_.used.splice(all_.used.end(), all_.used, stream.in_all);
    of_owner.used.splice(of_owner.used.end(), of_owner.used, stream.in_owner);
    return;
  }
  stream.is_used = true;
  all_.unused.Remove(stream.connection, id);
  of_owner.unused.Remove(stream.connection, id);
  stream.in_all = all_.used.insert(all_.used.end(), id);
  stream.in_owner = of_owner.used.insert(of_owner.used.end(), id);
}

void StreamPlaces::Remove(uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  Order& of_owner = owners_.at(stream.client.owner).streams;
  if (stream.is_used) {
    all_.used.erase(stream.in_all);
    of_owner.used.erase(stream.in_owner);
  } else {
    all_.unused.Remove(stream.connection, id);
    of_owner.unused.Remove(stream.connection, id);
  }
  stream.place.Set(0);
  Sort(*stream.place.account(), stream.client, -1);
  streams_.erase(found);
}

}  // namespace orbserve
