// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/streams/stream_places.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {

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

uint64_t StreamPlaces::FirstOfLargest(const Owner& owner) const {
  const std::string& name = owner.by_count.rbegin()->second;
  const auto is_of_name = [&](uint64_t id) { return streams_.at(id).client.name == name; };
  const List& unused = owner.streams.unused;
  const auto found = std::find_if(unused.begin(), unused.end(), is_of_name);
  if (found != unused.end()) return *found;
  const List& used = owner.streams.used;
  return *std::find_if(used.begin(), used.end(), is_of_name);
}

uint64_t StreamPlaces::VictimInside(const Owner& owner, const ClientId& client,
                                    SteadyTime now) const {
  const auto own = owner.counts.find(client.name);
  const int count = own == owner.counts.end() ? 0 : own->second;
  if (owner.by_count.rbegin()->first - 1 >= count + 1) return FirstOfLargest(owner);
  const uint64_t first = owner.streams.front();
  return count == 0 && IsOfLittleUse(first, now) ? first : 0;
}

uint64_t StreamPlaces::Victim(const ClientId& client, SteadyTime now) const {
  const auto own = owners_.find(client.owner);
  const bool is_new = own == owners_.end();
  const Owner& largest = owners_.at(by_load_.rbegin()->second);
  const double load = is_new ? 1 / WeightOf(options_.weights, client.owner) : Load(own->second, 1);
  const bool is_largest = !is_new && &own->second == &largest;
  if (!is_largest && Load(largest, -1) >= load) return FirstOfLargest(largest);
  if (!is_new) return VictimInside(own->second, client, now);
  return IsOfLittleUse(all_.front(), now) ? all_.front() : 0;
}

absl::StatusOr<StreamPlaces::Admission> StreamPlaces::Add(const ClientId& client, SteadyTime now) {
  Admission admission;
  const auto own = owners_.find(client.owner);
  const size_t count = own == owners_.end() ? 0 : own->second.streams.size();
  const bool owner_is_full = count >= static_cast<size_t>(options_.max_streams_per_owner);
  if (owner_is_full) {
    admission.removed = VictimInside(own->second, client, now);
  } else if (streams_.size() >= static_cast<size_t>(options_.max_streams)) {
    admission.removed = Victim(client, now);
  } else {
    return Admission{.id = Enter(client)};
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
  admission.id = Enter(client);
  return admission;
}

uint64_t StreamPlaces::Enter(const ClientId& client) {
  const uint64_t id = next_id_++;
  const auto [entry, is_new] = owners_.try_emplace(client.owner);
  Owner& owner = entry->second;
  if (is_new) {
    owner.weight = WeightOf(options_.weights, client.owner);
  } else {
    by_load_.erase({Load(owner, 0), client.owner});
  }
  Stream stream{.client = client};
  stream.in_all = all_.unused.insert(all_.unused.end(), id);
  stream.in_owner = owner.streams.unused.insert(owner.streams.unused.end(), id);
  streams_.emplace(id, std::move(stream));
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
  const bool was_used = std::exchange(stream.is_used, true);
  all_.used.splice(all_.used.end(), all_.of(was_used), stream.in_all);
  Order& of_owner = owners_.at(stream.client.owner).streams;
  of_owner.used.splice(of_owner.used.end(), of_owner.of(was_used), stream.in_owner);
}

void StreamPlaces::Remove(uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const Stream& stream = found->second;
  const auto entry = owners_.find(stream.client.owner);
  Owner& owner = entry->second;
  by_load_.erase({Load(owner, 0), stream.client.owner});
  all_.of(stream.is_used).erase(stream.in_all);
  owner.streams.of(stream.is_used).erase(stream.in_owner);
  SetCount(owner, stream.client.name, owner.counts.at(stream.client.name) - 1);
  if (owner.streams.empty()) {
    owners_.erase(entry);
  } else {
    by_load_.insert({Load(owner, 0), stream.client.owner});
  }
  streams_.erase(found);
}

}  // namespace orbserve
