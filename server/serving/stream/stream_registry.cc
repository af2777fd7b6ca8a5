// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_registry.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/serving/stream/stream.h"

namespace orbserve {
namespace {

// Streams of the owner, if there were `change` more, by its weight.
double Load(const Ledger::Account& account, int64_t change) {
  return static_cast<double>(account.held_by_owner(Resource::kStreams) + change) / account.weight();
}

}  // namespace

StreamRegistry::StreamRegistry(Ledger* ledger, const StreamRegistryOptions& options)
    : ledger_(*ledger), options_(options) {
  ledger_.Bound(
      Resource::kStreams,
      {.all = options_.max_streams, .owner = options_.max_streams_per_owner, .times_free = 0});
}

uint64_t StreamRegistry::First(absl::FunctionRef<bool(const Entry&)> meant) const {
  struct Unused {
    int64_t count = 0;
    uint64_t oldest = 0;
  };
  absl::flat_hash_map<absl::string_view, Unused> unused;  // by connection
  uint64_t silent = 0;
  SteadyTime since = kNever;
  for (const auto& [id, entry] : streams_) {  // in the order in which they were opened
    if (entry.place.amount() == 0 || !meant(entry)) continue;
    if (!entry.last_frame.has_value()) {
      Unused& same = unused[entry.connection];
      if (same.count++ == 0) same.oldest = id;
    } else if (*entry.last_frame < since) {
      silent = id;
      since = *entry.last_frame;
    }
  }
  Unused most;
  for (const auto& [connection, same] : unused) {
    if (std::pair(-same.count, same.oldest) < std::pair(-most.count, most.oldest)) most = same;
  }
  return most.count > 0 ? most.oldest : silent;
}

uint64_t StreamRegistry::Victim(const ClientId& client, const Ledger::Account& account,
                                Refusal::Full full, SteadyTime now) const {
  std::string owner = client.owner;
  if (full == Refusal::Full::kAll) {
    const Entry* largest = nullptr;
    for (const auto& [id, entry] : streams_) {
      if (entry.place.amount() == 0) continue;
      if (largest == nullptr ||
          Load(*entry.place.account(), 0) > Load(*largest->place.account(), 0)) {
        largest = &entry;
      }
    }
    if (Load(*largest->place.account(), -1) >= Load(account, 1)) {
      owner = largest->client.owner;
    } else if (account.held_by_owner(Resource::kStreams) == 0) {
      const uint64_t first = First([](const Entry&) { return true; });
      return IsOfLittleUse(first, now) ? first : 0;
    }
  }
  int64_t most = 0;  // streams of a name of the owner
  const auto count = [](const Entry& entry) {
    return entry.place.account()->held(Resource::kStreams);
  };
  for (const auto& [id, entry] : streams_) {
    if (entry.client.owner == owner) most = std::max(most, count(entry));
  }
  const int64_t own = account.held(Resource::kStreams);
  if (owner != client.owner || most >= own + 2) {
    return First(
        [&](const Entry& entry) { return entry.client.owner == owner && count(entry) == most; });
  }
  const uint64_t first = First([&](const Entry& entry) { return entry.client.owner == owner; });
  return own == 0 && IsOfLittleUse(first, now) ? first : 0;
}

absl::StatusOr<StreamRegistry::Admission> StreamRegistry::Add(const std::shared_ptr<Stream>& stream,
                                                              const ClientId& client,
                                                              const std::string& connection,
                                                              SteadyTime now) {
  Admission admission;
  std::shared_ptr<Stream> removed;
  {
    absl::MutexLock lock(&mutex_);
    Holding place(ledger_.Open(client), Resource::kStreams);
    if (const std::optional<Refusal> refusal = place.Resize(1)) {
      admission.removed = Victim(client, *place.account(), refusal->full, now);
      if (admission.removed == 0) return MakeError(ErrorReason::kQuotaExceeded, refusal->text());
      Entry& loser = streams_.at(admission.removed);
      loser.place.Set(0);
      removed = loser.stream.lock();
      place.Set(1);
    }
    admission.id = next_id_++;
    streams_.emplace(admission.id, Entry{.stream = stream,
                                         .client = client,
                                         .connection = connection,
                                         .place = std::move(place)});
  }
  if (removed != nullptr) {
    removed->Preempt(
        AbortCause::kPreempted,
        MakeError(ErrorReason::kQuotaExceeded,
                  absl::StrCat("all ", options_.max_streams,
                               " streams were open; this one made room for a client with fewer")));
  }
  return admission;
}

void StreamRegistry::Touch(uint64_t id, SteadyTime now) {
  absl::MutexLock lock(&mutex_);
  if (const auto found = streams_.find(id); found != streams_.end()) found->second.last_frame = now;
}

void StreamRegistry::GiveUpPlace(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  if (const auto found = streams_.find(id); found != streams_.end()) found->second.place.Set(0);
}

void StreamRegistry::Remove(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(id);
}

std::vector<std::shared_ptr<Stream>> StreamRegistry::streams() {
  std::vector<std::shared_ptr<Stream>> streams;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, entry] : streams_) {
    if (auto alive = entry.stream.lock()) streams.push_back(std::move(alive));
  }
  return streams;
}

std::vector<server::StreamRow> StreamRegistry::uses() {
  std::vector<server::StreamRow> uses;
  for (const auto& stream : streams()) {
    server::StreamRow use = stream->use();
    if (use.id() != 0) uses.push_back(std::move(use));  // else it has just been added
  }
  return uses;
}

}  // namespace orbserve
