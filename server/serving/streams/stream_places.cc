// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/streams/stream_places.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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

void StreamPlaces::SetCount(Owner& owner, const std::string& name, int count) {
  const auto entry = owner.counts.try_emplace(name, 0).first;
  owner.by_count.erase({entry->second, name});
  entry->second = count;
  if (count == 0) {
    owner.counts.erase(entry);
  } else {
    owner.by_count.insert({count, name});
  }
}

uint64_t StreamPlaces::FirstOfLargest(const std::string& owner) const {
  const Owner& of_owner = owners_.at(owner);
  const auto& [most, name] = *of_owner.by_count.rbegin();
  const uint64_t front = of_owner.streams.front();
  if (of_owner.counts.at(streams_.at(front).client.name) == most) return front;
  for (const auto& [id, stream] : streams_) {
    if (!stream.is_used && stream.client.name == name && stream.client.owner == owner) return id;
  }
  const List& used = of_owner.streams.used;
  return *std::find_if(used.begin(), used.end(),
                       [&](uint64_t id) { return streams_.at(id).client.name == name; });
}

uint64_t StreamPlaces::VictimInside(const ClientId& client, SteadyTime now) const {
  const Owner& owner = owners_.at(client.owner);
  const auto own = owner.counts.find(client.name);
  const int count = own == owner.counts.end() ? 0 : own->second;
  if (owner.by_count.rbegin()->first - 1 >= count + 1) return FirstOfLargest(client.owner);
  const uint64_t first = owner.streams.front();
  return count == 0 && IsOfLittleUse(first, now) ? first : 0;
}

uint64_t StreamPlaces::Victim(const ClientId& client, SteadyTime now) const {
  const auto own = owners_.find(client.owner);
  const bool is_new = own == owners_.end();
  const std::string& largest = by_load_.rbegin()->second;
  const double load = is_new ? 1 / WeightOf(options_.weights, client.owner) : Load(own->second, 1);
  if (client.owner != largest && Load(owners_.at(largest), -1) >= load) {
    return FirstOfLargest(largest);
  }
  if (!is_new) return VictimInside(client, now);
  return IsOfLittleUse(all_.front(), now) ? all_.front() : 0;
}

absl::StatusOr<StreamPlaces::Admission> StreamPlaces::Add(const ClientId& client,
                                                          const std::string& connection,
                                                          SteadyTime now) {
  Admission admission;
  const auto own = owners_.find(client.owner);
  const size_t count = own == owners_.end() ? 0 : own->second.size;
  const bool owner_is_full = count >= static_cast<size_t>(options_.max_streams_per_owner);
  if (owner_is_full) {
    admission.removed = VictimInside(client, now);
  } else if (streams_.size() >= static_cast<size_t>(options_.max_streams)) {
    admission.removed = Victim(client, now);
  } else {
    return Admission{.id = Enter(client, connection)};
  }
  if (admission.removed == 0) {
    return MakeError(
        ErrorReason::kQuotaExceeded,
        owner_is_full
            ? absl::StrCat("this client has ", count, " streams open; at most ",
                           options_.max_streams_per_owner, " may be")
            : absl::StrCat(streams_.size(), " streams are open, ", count,
                           " of them of this client; at most ", options_.max_streams, " may be"));
  }
  Remove(admission.removed);
  admission.id = Enter(client, connection);
  return admission;
}

uint64_t StreamPlaces::Enter(const ClientId& client, const std::string& connection) {
  const uint64_t id = next_id_++;
  const auto [entry, is_new] = owners_.try_emplace(client.owner);
  Owner& owner = entry->second;
  if (is_new) {
    owner.weight = WeightOf(options_.weights, client.owner);
  } else {
    by_load_.erase({Load(owner, 0), client.owner});
  }
  ++owner.size;
  all_.unused.Add(connection, id);
  owner.streams.unused.Add(connection, id);
  streams_.emplace(id, Stream{.client = client, .connection = connection});
  const auto count = owner.counts.find(client.name);
  SetCount(owner, client.name, count == owner.counts.end() ? 1 : count->second + 1);
  by_load_.insert({Load(owner, 0), client.owner});
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
  const Stream& stream = found->second;
  const auto entry = owners_.find(stream.client.owner);
  Owner& owner = entry->second;
  by_load_.erase({Load(owner, 0), stream.client.owner});
  --owner.size;
  if (stream.is_used) {
    all_.used.erase(stream.in_all);
    owner.streams.used.erase(stream.in_owner);
  } else {
    all_.unused.Remove(stream.connection, id);
    owner.streams.unused.Remove(stream.connection, id);
  }
  SetCount(owner, stream.client.name, owner.counts.at(stream.client.name) - 1);
  if (owner.size == 0) {
    owners_.erase(entry);
  } else {
    by_load_.insert({Load(owner, 0), stream.client.owner});
  }
  streams_.erase(found);
}

}  // namespace orbserve
