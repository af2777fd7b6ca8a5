// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/fair_shares.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace orbserve {

FairShares::Place::~Place() {
  share.places_.erase(std::find(share.places_.begin(), share.places_.end(), this));
  set_.erase(position_);
}

void FairShares::Share::Move(int64_t difference_ns, uint64_t turn) {
  for (Place* const place : places_) place->node_ = place->set_.extract(place->position_);
  rank_.virtual_ns += difference_ns;
  if (turn != 0) rank_.turn = turn;
  for (Place* const place : places_) {
    place->position_ = place->set_.insert(std::move(place->node_)).position;
  }
}

bool Before(const FairShares::Account& a, const FairShares::Account& b) {
  return std::tie(a.owner_share().rank(), a.share_.rank()) <
         std::tie(b.owner_share().rank(), b.share_.rank());
}

FairShares::~FairShares() = default;

void FairShares::Begin(Level& level, Share& share) {
  int64_t begin_ns = level.virtual_ns;
  if (!share.is_known_) begin_ns += std::min(level.last_ns, kMaxEntryNs);
  share.is_known_ = true;
  share.Move(std::max<int64_t>(0, begin_ns - share.rank_.virtual_ns), next_turn_++);
  level.Note(share);
}

FairShares::Account* FairShares::Open(const ClientId& client) {
  std::unique_ptr<Owner>& owner = owners_[client.owner];
  if (owner == nullptr) {
    owner = std::make_unique<Owner>();
    owner->name = client.owner;
  }
  std::unique_ptr<Account>& account = owner->accounts[client.name];
  if (account == nullptr) {
    account.reset(new Account(owner.get(), client.name, ledger_.Open(client)));
    owner->weight = account->holds()->weight();
    ++clients_;
  } else if (account->open_ == 0) {
    idle_.erase(account->idle_);
  }
  ++level_.open;
  if (owner->level.open++ == 0) Begin(level_, owner->share);
  if (account->open_++ == 0) Begin(owner->level, account->share_);
  return account.get();
}

void FairShares::Close(Account* account) {
  Level& names = account->owner_->level;
  if (--level_.open == 0) level_.EndBusyTime();
  if (--names.open == 0) names.EndBusyTime();
  if (--account->open_ > 0) return;
  account->idle_ = idle_.insert(idle_.end(), account);
  if (idle_.size() > kMaxIdle) Forget(idle_.front());
}

void FairShares::Forget(Account* account) {
  Owner* const owner = account->owner_;
  idle_.erase(account->idle_);
  --clients_;
  owner->accounts.erase(std::string(account->name_));
  if (owner->accounts.empty()) owners_.erase(std::string(owner->name));
}

int64_t FairShares::ShareOf(const Owner& owner, int64_t cost_ns) {
  return std::llround(static_cast<double>(cost_ns) / owner.weight);
}

void FairShares::Charge(Level& level, Share& share, int64_t share_ns, uint64_t turn) {
  level.virtual_ns = std::max(level.virtual_ns, share.rank_.virtual_ns);
  level.last_ns = share_ns;
  share.Move(share_ns, turn);
  level.Note(share);
}

void FairShares::Charge(Account* account, int64_t cost_ns) {
  Owner& owner = *account->owner_;
  const uint64_t turn = next_turn_++;
  Charge(level_, owner.share, ShareOf(owner, cost_ns), turn);
  Charge(owner.level, account->share_, cost_ns, turn);
}

void FairShares::SetRank(Account* account, int64_t of_owner, int64_t of_name) {
  Share& owner = account->owner_->share;
  owner.Move(of_owner - owner.rank_.virtual_ns, 0);
  account->share_.Move(of_name - account->share_.rank_.virtual_ns, 0);
}

void FairShares::Correct(Account* account, int64_t difference_ns) {
  if (difference_ns == 0) return;
  Owner& owner = *account->owner_;
  owner.share.Move(ShareOf(owner, difference_ns), 0);
  account->share_.Move(difference_ns, 0);
  level_.Note(owner.share);
  owner.level.Note(account->share_);
}

}  // namespace orbserve
