// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match/reference_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// Bytes of a reference beside its columns: names, list and map nodes, control blocks.
constexpr size_t kOverheadBytes = 512;

template <typename T>
size_t Bytes(const std::vector<T>& column) {
  return column.size() * sizeof(T);
}

size_t SizeOf(const std::string& name, const Features& features) {
  return kOverheadBytes + name.size() + Bytes(features.x) + Bytes(features.y) +
         Bytes(features.size) + Bytes(features.angle_deg) + Bytes(features.response) +
         Bytes(features.octave) + Bytes(features.source_index) + Bytes(features.descriptors);
}

ReferenceStoreOptions WithShares(ReferenceStoreOptions options) {
  if (options.max_bytes_per_owner == 0) options.max_bytes_per_owner = options.max_bytes;
  if (options.max_references_per_owner == 0) {
    options.max_references_per_owner = options.max_references;
  }
  return options;
}

absl::Status NotFound(const std::string& name) {
  return MakeError(ErrorReason::kReferenceNotFound,
                   absl::StrCat("this client has no reference \"", name,
                                "\"; it was never put, deleted, or forgotten to make room"));
}

// Gives an element of a ByLoad another load. Never allocates.
template <typename Map>
void MoveTo(Map& map, uint64_t number, size_t load, size_t new_load) {
  auto node = map.extract(std::pair(load, number));
  node.key().first = new_load;
  map.insert(std::move(node));
}

}  // namespace

Reference::Reference(std::string name, uint64_t version, std::shared_ptr<const Features> features)
    : name_(std::move(name)),
      version_(version),
      features_(std::move(features)),
      own_bytes_(SizeOf(name_, *features_)) {}

size_t Reference::size_bytes() const {
  absl::MutexLock lock(&mutex_);
  return own_bytes_ + (state_ != nullptr ? state_->copy_bytes() : 0);
}

absl::StatusOr<std::shared_ptr<const FrameState>> Reference::State(FeatureBackend& backend,
                                                                   size_t* imported_bytes) const {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != nullptr) return state_;
  }
  // Two threads may import at the same time; the first one's result is kept.
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<const FrameState> state,
                            backend.ImportState(features_));
  absl::MutexLock lock(&mutex_);
  if (state_ == nullptr) {
    state_ = std::move(state);
    *imported_bytes = state_->copy_bytes();
  }
  return state_;
}

ReferenceStore::ReferenceStore(const ReferenceStoreOptions& options)
    : options_(WithShares(options)),
      ledger_(options.ledger),
      load_of_one_(
          std::max<size_t>(1, options.max_bytes / static_cast<size_t>(options.max_references))) {
  ledger_->Bound(Resource::kReferences,
                 {.all = options_.max_references, .owner = options_.max_references_per_owner});
  ledger_->Bound(Resource::kReferenceBytes,
                 {.all = static_cast<int64_t>(options_.max_bytes),
                  .owner = static_cast<int64_t>(options_.max_bytes_per_owner)});
}

absl::StatusOr<ReferenceStore::PutResult> ReferenceStore::Put(
    const ClientId& id, const std::string& name, std::shared_ptr<const Features> features) {
  // Everything that the lock need not protect is allocated before it.
  auto reference = std::make_shared<Reference>(name, 0, std::move(features));
  const size_t bytes = reference->own_bytes();
  const size_t most_bytes = std::min(options_.max_bytes, options_.max_bytes_per_owner);
  if (bytes > most_bytes) {
    return MakeError(ErrorReason::kTooLarge,
                     absl::StrCat("the reference takes ", bytes, " bytes; all references ",
                                  most_bytes < options_.max_bytes ? "of this client" : "together",
                                  " may take ", most_bytes));
  }
  const Ledger::AccountPtr account = ledger_->Open(id);
  Entries made;
  made.emplace(absl::string_view(reference->name()),
               Entry{.reference = reference,
                     .place = Holding(account, Resource::kReferences),
                     .bytes = Holding(account, Resource::kReferenceBytes)});
  ByUse use(1);
  PutResult result;
  result.reference = reference;

  std::shared_ptr<const Reference> replaced;  // freed after the lock
  {
    absl::MutexLock lock(&mutex_);
    reference->version_ = next_version_++;
    Client& client = MakeClient(id, account);
    if (const auto old = client.entries.find(name); old != client.entries.end()) {
      replaced = Remove(client, old);
    }
    Entry& entry = client.entries.insert(made.extract(made.begin())).position->second;
    entry.place.Set(1);
    entry.bytes.Set(static_cast<int64_t>(bytes));
    Sort(client);
  }
  MakeRoom(id, &result.evicted);

  absl::MutexLock lock(&mutex_);
  // Another call may have replaced or deleted it.
  Entry* const entry = FindEntry(id, *reference);
  if (entry == nullptr) return result;
  Client& client = *FindClient(id);
  use.front() = client.entries.find(name);
  entry->use = use.begin();
  entry->is_evictable = true;
  client.by_use.splice(client.by_use.end(), use);
  return result;
}

absl::StatusOr<std::shared_ptr<const Reference>> ReferenceStore::Get(const ClientId& id,
                                                                     const std::string& name) {
  absl::MutexLock lock(&mutex_);
  Client* const client = FindClient(id);
  if (client == nullptr) return NotFound(name);
  const auto found = client->entries.find(name);
  if (found == client->entries.end()) return NotFound(name);
  const Entry& entry = found->second;
  ByUse& by_use = client->by_use;
  if (entry.is_evictable) by_use.splice(by_use.end(), by_use, entry.use);
  return entry.reference;
}

absl::StatusOr<std::shared_ptr<const FrameState>> ReferenceStore::State(const ClientId& id,
                                                                        const Reference& reference,
                                                                        FeatureBackend& backend) {
  size_t imported_bytes = 0;
  auto state = reference.State(backend, &imported_bytes);
  if (imported_bytes == 0) return state;
  {
    absl::MutexLock lock(&mutex_);
    // Holders of a reference that left the store keep it, but the store does not count it.
    Entry* const entry = FindEntry(id, reference);
    if (entry == nullptr) return state;
    entry->bytes.Set(entry->bytes.amount() + static_cast<int64_t>(imported_bytes));
    copy_bytes_ += imported_bytes;
    Sort(*FindClient(id));
  }
  MakeRoom(id, nullptr);
  return state;
}

absl::StatusOr<uint64_t> ReferenceStore::Delete(const ClientId& id, const std::string& name) {
  std::shared_ptr<const Reference> removed;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  Client* const client = FindClient(id);
  if (client == nullptr) return NotFound(name);
  const auto entry = client->entries.find(name);
  if (entry == client->entries.end()) return NotFound(name);
  removed = Remove(*client, entry);
  DropIfEmpty(*client);
  return removed->version();
}

ReferenceStore::Page ReferenceStore::List(const ClientId& id, absl::string_view after,
                                          size_t max_references) const {
  Page page;
  page.references.reserve(max_references);
  absl::MutexLock lock(&mutex_);
  const Client* const client = FindClient(id);
  if (client == nullptr) return page;
  for (auto entry = client->entries.upper_bound(after); entry != client->entries.end(); ++entry) {
    if (page.references.size() == max_references) {
      page.is_last = false;
      break;
    }
    page.references.push_back(entry->second.reference);
  }
  return page;
}

ReferenceStoreUse ReferenceStore::use() const {
  absl::MutexLock lock(&mutex_);
  return {.references = ledger_->held(Resource::kReferences),
          .bytes = ledger_->held(Resource::kReferenceBytes),
          .copy_bytes = static_cast<int64_t>(copy_bytes_),
          .max_references = options_.max_references,
          .max_bytes = static_cast<int64_t>(options_.max_bytes),
          .max_references_per_owner = options_.max_references_per_owner,
          .max_bytes_per_owner = static_cast<int64_t>(options_.max_bytes_per_owner),
          .evictions = evictions_};
}

ReferenceStore::Client* ReferenceStore::FindClient(const ClientId& id) const {
  const auto owner = owners_.find(id.owner);
  if (owner == owners_.end()) return nullptr;
  const auto client = owner->second.clients.find(id.name);
  // Constness is that of the store, not of its parts.
  return client == owner->second.clients.end() ? nullptr : const_cast<Client*>(&client->second);
}

ReferenceStore::Entry* ReferenceStore::FindEntry(const ClientId& id,
                                                 const Reference& reference) const {
  Client* const client = FindClient(id);
  if (client == nullptr) return nullptr;
  const auto entry = client->entries.find(reference.name());
  if (entry == client->entries.end() || entry->second.reference.get() != &reference) return nullptr;
  return &entry->second;
}

ReferenceStore::Client& ReferenceStore::MakeClient(const ClientId& id,
                                                   const Ledger::AccountPtr& account) {
  const auto [owner_at, is_new_owner] = owners_.try_emplace(id.owner);
  Owner& owner = owner_at->second;
  if (is_new_owner) {
    owner.name = owner_at->first;
    owner.number = next_number_++;
    by_load_.emplace(std::pair(owner.load, owner.number), &owner);
  }
  const auto [client_at, is_new_client] = owner.clients.try_emplace(id.name);
  Client& client = client_at->second;
  if (is_new_client) {
    client.name = client_at->first;
    client.account = account;
    client.owner = &owner;
    client.number = next_number_++;
    owner.by_load.emplace(std::pair(client.load, client.number), &client);
  }
  return client;
}

void ReferenceStore::Sort(Client& client) {
  Owner& owner = *client.owner;
  const Ledger::Account& account = *client.account;
  const size_t load =
      LoadOf(account.held(Resource::kReferences), account.held(Resource::kReferenceBytes));
  MoveTo(owner.by_load, client.number, std::exchange(client.load, load), load);
  const size_t of_owner = LoadOf(account.held_by_owner(Resource::kReferences),
                                 account.held_by_owner(Resource::kReferenceBytes));
  const auto owner_load = static_cast<size_t>(static_cast<double>(of_owner) / account.weight());
  MoveTo(by_load_, owner.number, std::exchange(owner.load, owner_load), owner_load);
}

std::shared_ptr<const Reference> ReferenceStore::Remove(Client& client, Entries::iterator at) {
  Entry& entry = at->second;
  std::shared_ptr<const Reference> reference = std::move(entry.reference);
  copy_bytes_ -= static_cast<size_t>(entry.bytes.amount()) - reference->own_bytes();
  if (entry.is_evictable) client.by_use.erase(entry.use);
  client.entries.erase(at);
  Sort(client);
  return reference;
}

void ReferenceStore::DropIfEmpty(Client& client) {
  if (!client.entries.empty()) return;
  Owner& owner = *client.owner;
  owner.by_load.erase({client.load, client.number});
  owner.clients.erase(owner.clients.find(client.name));
  if (!owner.clients.empty()) return;
  by_load_.erase({owner.load, owner.number});
  owners_.erase(owners_.find(owner.name));
}

ReferenceStore::Client* ReferenceStore::LargestOf(const Owner& owner) {
  // Those skipped have nothing but what is being put this moment.
  for (auto client = owner.by_load.rbegin(); client != owner.by_load.rend(); ++client) {
    if (!client->second->by_use.empty()) return client->second;
  }
  return nullptr;
}

ReferenceStore::Client* ReferenceStore::NextToMakeRoom(absl::string_view owner_name) const {
  if (const auto at = owners_.find(owner_name); at != owners_.end()) {
    const Owner& owner = at->second;
    const Ledger::Account& account = *owner.clients.begin()->second.account;
    if (account.held_by_owner(Resource::kReferenceBytes) >
            ledger_->bounds(Resource::kReferenceBytes).owner ||
        account.held_by_owner(Resource::kReferences) >
            ledger_->bounds(Resource::kReferences).owner) {
      if (Client* const client = LargestOf(owner); client != nullptr) return client;
    }
  }
  if (ledger_->held(Resource::kReferenceBytes) <= ledger_->bounds(Resource::kReferenceBytes).all &&
      ledger_->held(Resource::kReferences) <= ledger_->bounds(Resource::kReferences).all) {
    return nullptr;
  }
  for (auto owner = by_load_.rbegin(); owner != by_load_.rend(); ++owner) {
    if (Client* const client = LargestOf(*owner->second); client != nullptr) return client;
  }
  return nullptr;
}

void ReferenceStore::MakeRoom(const ClientId& id, std::vector<std::string>* evicted) {
  for (bool has_room = false; !has_room;) {
    Removed removed;  // freed after the lock
    removed.reserve(kEvictionsPerStep);
    absl::MutexLock lock(&mutex_);
    while (removed.size() < kEvictionsPerStep) {
      Client* const client = NextToMakeRoom(id.owner);
      if (client == nullptr) {
        has_room = true;
        break;
      }
      const bool is_own = client->name == id.name && client->owner->name == id.owner;
      removed.push_back(Remove(*client, client->by_use.front()));
      ++evictions_;
      if (is_own && evicted != nullptr) evicted->push_back(removed.back()->name());
      DropIfEmpty(*client);
    }
  }
}

}  // namespace orbserve
