// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/message_room.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orbserve {
void MessageRoom::SetBounds(int64_t shared_bytes, TakesMore takes_more) {
  const std::scoped_lock lock(mutex_);
  shared_bytes_ = shared_bytes;
  takes_more_ = std::move(takes_more);
}

void MessageRoom::Set(int connection, size_t address, int64_t held, int64_t missing) {
  const std::scoped_lock lock(mutex_);
  if (missing == 0) {
    const auto found = members_.find(connection);
    if (found == members_.end()) return;
    EndWait(found->second);
    if (connection == first_) {
      first_ = -1;
    } else {
      shared_held_ -= found->second.held;
    }
    members_.erase(found);
    return;
  }
  Member& member = members_[connection];
  member.address = address;
  if (connection != first_) shared_held_ += held - member.held;
  member.held = held;
}

size_t MessageRoom::MayRead(int connection, size_t most, int64_t now_ms) {
  const std::scoped_lock lock(mutex_);
  const auto found = members_.find(connection);
  if (found == members_.end()) return most;
  Member& member = found->second;
  if (takes_more_ == nullptr || takes_more_()) {
    if (first_ < 0 && waiting() == 0) MakeFirst(connection, member, now_ms);
    if (connection == first_) return most;
    const int64_t left = shared_bytes_ - shared_held_;
    if (left > 0) return std::min(most, static_cast<size_t>(std::max(left, int64_t{kLeastBytes})));
  }
  if (!std::exchange(member.waits, true)) {
    member.since = ++waits_begun_;
    if (waiting_++ == 0) BeginTerm(now_ms);
  }
  return 0;
}

MessageRoom::Decision MessageRoom::GoOn(int64_t now_ms) {
  const std::scoped_lock lock(mutex_);
  Decision decision;
  if (takes_more_ != nullptr && !takes_more_()) {
    BeginTerm(now_ms);  // the first waits, too
    return decision;
  }
  if (first_ >= 0 && waiting() > 0 && IsLate(now_ms)) {
    const int64_t held = members_[first_].held;
    // It counts among the others from now on, which may borrow what small messages have.
    if (shared_held_ + held > 2 * shared_bytes_) {
      decision.late = first_;
      return decision;
    }
    shared_held_ += held;
    first_ = -1;
  }
  if (first_ < 0) ChooseFirst(now_ms);
  const bool has_room = shared_held_ < shared_bytes_;
  for (auto& [connection, member] : members_) {
    if (!member.waits || (connection != first_ && !has_room)) continue;
    EndWait(member);
    decision.go_on.push_back(connection);
  }
  return decision;
}

void MessageRoom::ChooseFirst(int64_t now_ms) {
  absl::flat_hash_map<size_t, int> of_addresses;
  for (const auto& [connection, member] : members_) ++of_addresses[member.address];
  const auto rank = [&](const Member& member) {
    return std::tuple(!member.waits, of_addresses[member.address], member.since);
  };
  const auto chosen = std::min_element(
      members_.begin(), members_.end(),
      [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
  if (chosen != members_.end()) MakeFirst(chosen->first, chosen->second, now_ms);
}

void MessageRoom::MakeFirst(int connection, Member& member, int64_t now_ms) {
  first_ = connection;
  shared_held_ -= member.held;
  BeginTerm(now_ms);
}

void MessageRoom::BeginTerm(int64_t now_ms) {
  first_since_ms_ = looked_ms_ = now_ms;
  held_then_ = first_ < 0 ? 0 : members_[first_].held;
}

bool MessageRoom::IsLate(int64_t now_ms) {
  if (now_ms - looked_ms_ < kStallMs) return false;
  const int64_t held = members_[first_].held;
  const int64_t brought = held - std::exchange(held_then_, held);
  looked_ms_ = now_ms;
  return brought < kLeastBytes || now_ms - first_since_ms_ >= kFirstMs;
}

void MessageRoom::EndWait(Member& member) {
  if (std::exchange(member.waits, false)) --waiting_;
}

}  // namespace orbserve
