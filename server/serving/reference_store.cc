// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/reference_store.h"

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
      size_bytes_(SizeOf(name_, *features_)) {}

absl::StatusOr<std::shared_ptr<const FrameState>> Reference::State(FeatureBackend& backend) const {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != nullptr) return state_;
  }
  // Two threads may import at the same time; the first one's result is kept.
  ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<const FrameState> state,
                            backend.ImportState(features_));
  absl::MutexLock lock(&mutex_);
  if (state_ == nullptr) state_ = std::move(state);
  return state_;
}

ReferenceStore::ReferenceStore(const ReferenceStoreOptions& options) : options_(options) {}

absl::StatusOr<ReferenceStore::PutResult> ReferenceStore::Put(
    const ClientId& client_id, const std::string& name, std::shared_ptr<const Features> features) {
  const size_t bytes = SizeOf(name, *features);
  if (bytes > options_.max_bytes) {
    return MakeError(ErrorReason::kTooLarge, absl::StrCat("the reference takes ", bytes,
                                                          " bytes; all references together "
                                                          "may take ",
                                                          options_.max_bytes));
  }
  PutResult result;
  // Freed after the lock: the last holder of a reference may free device memory.
  std::vector<std::shared_ptr<const Reference>> removed;
  absl::MutexLock lock(&mutex_);
  Client& client = clients_[client_id.name];
  if (client.entries.contains(name)) removed.push_back(Remove(client, name));

  result.reference = std::make_shared<Reference>(name, next_version_++, std::move(features));
  client.by_use.push_back(name);
  client.entries.emplace(name, Entry{result.reference, std::prev(client.by_use.end())});
  client.bytes += bytes;
  used_bytes_ += bytes;
  ++count_;

  while (used_bytes_ > options_.max_bytes || count_ > options_.max_references) {
    auto largest = LargestClient();
    // The newcomer is its client's most recently used and stays; with nothing else of its client
    // left, the others make room.
    if (&largest->second == &client && client.entries.size() == 1) {
      auto other = clients_.begin();
      for (auto it = clients_.begin(); it != clients_.end(); ++it) {
        if (&it->second == &client) continue;
        if (&other->second == &client || it->second.bytes > other->second.bytes) other = it;
      }
      largest = other;
    }
    const std::string oldest = largest->second.by_use.front();
    removed.push_back(Remove(largest->second, oldest));
    if (&largest->second == &client) result.evicted.push_back(oldest);
    if (largest->second.entries.empty()) clients_.erase(largest);
  }
  return result;
}

absl::StatusOr<std::shared_ptr<const Reference>> ReferenceStore::Get(const ClientId& client_id,
                                                                     const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const auto client = clients_.find(client_id.name);
  if (client == clients_.end()) return NotFound(name);
  const auto entry = client->second.entries.find(name);
  if (entry == client->second.entries.end()) return NotFound(name);
  std::list<std::string>& by_use = client->second.by_use;
  by_use.splice(by_use.end(), by_use, entry->second.use);
  return entry->second.reference;
}

absl::Status ReferenceStore::Delete(const ClientId& client_id, const std::string& name) {
  std::shared_ptr<const Reference> removed;
  absl::MutexLock lock(&mutex_);
  const auto client = clients_.find(client_id.name);
  if (client == clients_.end() || !client->second.entries.contains(name)) return NotFound(name);
  removed = Remove(client->second, name);
  if (client->second.entries.empty()) clients_.erase(client);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<const Reference>> ReferenceStore::List(
    const ClientId& client_id) const {
  std::vector<std::shared_ptr<const Reference>> list;
  absl::MutexLock lock(&mutex_);
  const auto client = clients_.find(client_id.name);
  if (client == clients_.end()) return list;
  for (const auto& [name, entry] : client->second.entries) list.push_back(entry.reference);
  return list;
}

ReferenceStoreUse ReferenceStore::use() const {
  absl::MutexLock lock(&mutex_);
  return {.references = count_,
          .bytes = static_cast<int64_t>(used_bytes_),
          .max_bytes = static_cast<int64_t>(options_.max_bytes)};
}

std::shared_ptr<const Reference> ReferenceStore::Remove(Client& client, const std::string& name) {
  const auto entry = client.entries.find(name);
  std::shared_ptr<const Reference> reference = std::move(entry->second.reference);
  client.by_use.erase(entry->second.use);
  client.entries.erase(entry);
  client.bytes -= reference->size_bytes();
  used_bytes_ -= reference->size_bytes();
  --count_;
  return reference;
}

std::map<std::string, ReferenceStore::Client>::iterator ReferenceStore::LargestClient() {
  auto largest = clients_.begin();
  for (auto it = clients_.begin(); it != clients_.end(); ++it) {
    if (it->second.bytes > largest->second.bytes) largest = it;
  }
  return largest;
}

}  // namespace orbserve
