// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/match/reference_store.h"

#include <algorithm>
#include <cmath>
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

ReferenceStore::ReferenceStore(const ReferenceStoreOptions& options)
    : options_(WithShares(options)),
      load_of_one_(
          std::max<int64_t>(1, static_cast<int64_t>(options.max_bytes) / options.max_references)),
      shares_(options.ledger),
      ledger_(shares_.ledger()) {
  ledger_.Bound(Resource::kReferences,
                {.all = options_.max_references, .owner = options_.max_references_per_owner});
  ledger_.Bound(Resource::kReferenceBytes,
                {.all = static_cast<int64_t>(options_.max_bytes),
                 .owner = static_cast<int64_t>(options_.max_bytes_per_owner)});
}

absl::StatusOr<ReferenceStore::PutResult> ReferenceStore::Put(
    const ClientId& id, const std::string& name, std::shared_ptr<const Features> features) {
  auto reference = std::make_shared<Reference>(name, 0, std::move(features));
  const size_t bytes = reference->own_bytes();
  const size_t most_bytes = std::min(options_.max_bytes, options_.max_bytes_per_owner);
  if (bytes > most_bytes) {
    return MakeError(ErrorReason::kTooLarge,
                     absl::StrCat("the reference takes ", bytes, " bytes; all references ",
                                  most_bytes < options_.max_bytes ? "of this client" : "together",
                                  " may take ", most_bytes));
  }
  Entries made;
  made.try_emplace({id.owner, id.name, name}).first->second.reference = reference;
  PutResult result;
  result.reference = reference;

  std::shared_ptr<const Reference> replaced;  // freed after the lock
  {
    absl::MutexLock lock(&mutex_);
    FairShares::Account* const account = shares_.Open(id);
    reference->version_ = next_version_++;
    if (const auto old = Find(id, name); old != entries_.end()) replaced = Remove(old);
    Entry& entry = entries_.insert(made.extract(made.begin())).position->second;
    entry.account = account;
    entry.place = Holding(account->holds(), Resource::kReferences);
    entry.place.Set(1);
    entry.bytes = Holding(account->holds(), Resource::kReferenceBytes);
    entry.bytes.Set(static_cast<int64_t>(bytes));
    Rank(account);
  }
  MakeRoom(id, &result.evicted);

  absl::MutexLock lock(&mutex_);
  // Another call may have replaced or deleted it.
  const auto entry = Find(id, name);
  if (entry != entries_.end() && entry->second.reference == reference) {
    entry->second.use = order_.Push(entry->second.account, entry);
  }
  return result;
}

absl::StatusOr<std::shared_ptr<const Reference>> ReferenceStore::Get(const ClientId& id,
                                                                     const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const auto entry = Find(id, name);
  if (entry == entries_.end()) return NotFound(name);
  if (entry->second.use.client != nullptr) order_.MoveToBack(entry->second.use);
  return entry->second.reference;
}

absl::StatusOr<std::shared_ptr<const FrameState>> ReferenceStore::State(const ClientId& id,
                                                                        const Reference& reference,
                                                                        FeatureBackend& backend) {
  {
    absl::MutexLock lock(&reference.mutex_);
    if (reference.state_ != nullptr) return reference.state_;
  }
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<const FrameState> state,
                            backend.ImportState(reference.features_));
  {
    absl::MutexLock lock(&reference.mutex_);
    // Two threads may import at the same time; the first one's result is kept.
    if (reference.state_ != nullptr) return reference.state_;
    reference.state_ = state;
  }
  const size_t imported_bytes = state->copy_bytes();
  if (imported_bytes == 0) return state;
  {
    absl::MutexLock lock(&mutex_);
    // Holders of a reference that left the store keep it, but the store does not count it.
    const auto found = Find(id, reference.name());
    if (found == entries_.end() || found->second.reference.get() != &reference) return state;
    Entry& entry = found->second;
    entry.bytes.Set(entry.bytes.amount() + static_cast<int64_t>(imported_bytes));
    copy_bytes_ += imported_bytes;
    Rank(entry.account);
  }
  MakeRoom(id, nullptr);
  return state;
}

absl::StatusOr<uint64_t> ReferenceStore::Delete(const ClientId& id, const std::string& name) {
  std::shared_ptr<const Reference> removed;  // freed after the lock
  absl::MutexLock lock(&mutex_);
  const auto entry = Find(id, name);
  if (entry == entries_.end()) return NotFound(name);
  removed = Remove(entry);
  return removed->version();
}

ReferenceStore::Page ReferenceStore::List(const ClientId& id, absl::string_view after,
                                          size_t max_references) const {
  Page page;
  page.references.reserve(max_references);
  absl::MutexLock lock(&mutex_);
  for (auto entry = entries_.upper_bound(std::tie(id.owner, id.name, after));
       entry != entries_.end(); ++entry) {
    const auto& [owner, client, name] = entry->first;
    if (owner != id.owner || client != id.name) break;
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
  return {.references = ledger_.held(Resource::kReferences),
          .bytes = ledger_.held(Resource::kReferenceBytes),
          .copy_bytes = static_cast<int64_t>(copy_bytes_),
          .max_references = options_.max_references,
          .max_bytes = static_cast<int64_t>(options_.max_bytes),
          .max_references_per_owner = options_.max_references_per_owner,
          .max_bytes_per_owner = static_cast<int64_t>(options_.max_bytes_per_owner),
          .evictions = evictions_};
}

void ReferenceStore::Rank(FairShares::Account* account) {
  const auto load = [this](int64_t references, int64_t bytes) {
    return bytes + references * load_of_one_;
  };
  const Ledger::Account& holds = *account->holds();
  const int64_t of_owner = load(holds.held_by_owner(Resource::kReferences),
                                holds.held_by_owner(Resource::kReferenceBytes));
  shares_.SetRank(account, -std::llround(static_cast<double>(of_owner) / holds.weight()),
                  -load(holds.held(Resource::kReferences), holds.held(Resource::kReferenceBytes)));
}

std::shared_ptr<const Reference> ReferenceStore::Remove(Entries::iterator at) {
  Entry& entry = at->second;
  FairShares::Account* const account = entry.account;
  std::shared_ptr<const Reference> reference = std::move(entry.reference);
  copy_bytes_ -= static_cast<size_t>(entry.bytes.amount()) - reference->own_bytes();
  if (entry.use.client != nullptr) order_.Remove(entry.use);
  entries_.erase(at);
  Rank(account);
  shares_.Close(account);
  return reference;
}

ReferenceStore::Order::Handle ReferenceStore::NextToMakeRoom(
    const FairShares::Account& account) const {
  bool is_full = false;
  for (const Resource resource : {Resource::kReferences, Resource::kReferenceBytes}) {
    const ResourceBounds& bounds = ledger_.bounds(resource);
    if (account.holds()->held_by_owner(resource) > bounds.owner) {
      const Order::Handle of_owner = order_.FrontOfOwner(account);
      if (of_owner.client != nullptr) return of_owner;
    }
    is_full = is_full || ledger_.held(resource) > bounds.all;
  }
  return is_full ? order_.FirstThat([](Entries::iterator) { return true; }) : Order::Handle();
}

void ReferenceStore::MakeRoom(const ClientId& id, std::vector<std::string>* evicted) {
  for (bool has_room = false; !has_room;) {
    std::vector<std::shared_ptr<const Reference>> removed;  // freed after the lock
    removed.reserve(kEvictionsPerStep);
    absl::MutexLock lock(&mutex_);
    FairShares::Account* const account = shares_.Open(id);
    while (removed.size() < kEvictionsPerStep) {
      const Order::Handle next = NextToMakeRoom(*account);
      has_room = next.client == nullptr;
      if (has_room) break;
      const Entries::iterator entry = *next.item;
      const bool is_own = entry->second.account == account;
      removed.push_back(Remove(entry));
      ++evictions_;
      if (is_own && evicted != nullptr) evicted->push_back(removed.back()->name());
    }
    shares_.Close(account);
  }
}

}  // namespace orbserve
