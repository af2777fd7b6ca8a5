// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/shares/byte_shares.h"

namespace orbserve {

ByteShares::Answer ByteShares::Ask(const ClientId& client, int64_t from, int64_t to) const {
  const int64_t change = to - from;
  if (change <= 0 || used_bytes_ == from) return Answer::kFits;
  if (used_bytes_ + change > max_bytes_) return Answer::kAllIsFull;
  int64_t owner_bytes = 0;
  int64_t name_bytes = 0;
  if (const auto owner = owners_.find(client.owner); owner != owners_.end()) {
    owner_bytes = owner->second.bytes;
    const auto name = owner->second.names.find(client.name);
    if (name != owner->second.names.end()) name_bytes = name->second;
  }
  // The most that the owner may hold beside the others, from own <= weight * (max - others - own).
  const double weight = WeightOf(weights_, client.owner);
  const auto others = static_cast<double>(used_bytes_ - owner_bytes);
  const double most = weight / (1 + weight) * (static_cast<double>(max_bytes_) - others);
  const auto name_after = static_cast<double>(name_bytes + change);
  const auto owner_after = static_cast<double>(owner_bytes + change);
  return name_after <= most - owner_after ? Answer::kFits : Answer::kShareIsFull;
}

void ByteShares::Apply(const ClientId& client, int64_t change) {
  if (change == 0) return;
  used_bytes_ += change;
  const auto owner = owners_.try_emplace(client.owner).first;
  owner->second.bytes += change;
  const auto name = owner->second.names.try_emplace(client.name).first;
  name->second += change;
  if (name->second == 0) owner->second.names.erase(name);
  if (owner->second.names.empty()) owners_.erase(owner);
}

ByteShares::Answer ByteShares::Change(const ClientId& client, int64_t from, int64_t to) {
  absl::MutexLock lock(&mutex_);
  const Answer answer = Ask(client, from, to);
  if (answer == Answer::kFits) Apply(client, to - from);
  return answer;
}

void ByteShares::Add(const ClientId& client, int64_t change) {
  absl::MutexLock lock(&mutex_);
  Apply(client, change);
}

bool ByteShares::Fits(const ClientId& client, int64_t bytes) const {
  absl::MutexLock lock(&mutex_);
  return Ask(client, 0, bytes) == Answer::kFits;
}

int64_t ByteShares::used_bytes() const {
  absl::MutexLock lock(&mutex_);
  return used_bytes_;
}

}  // namespace orbserve
