// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// Names of the resources in messages.
constexpr std::array<absl::string_view, kResources> kWords = {
    "frames that wait",
    "bytes of frames that wait",
    "requests for matching that wait",
    "bytes of requests for matching that wait",
    "frames that wait for tracks",
    "bytes of frames that wait for tracks",
    "bytes of frames that are decoded",
    "bytes of large frames that are decoded",
    "bytes of answers that are not sent yet",
    "bytes of answers of streams that are not sent yet",
    "open streams",
    "references",
    "bytes of references",
};

}  // namespace

std::string Refusal::text() const {
  const absl::string_view words = kWords[static_cast<size_t>(resource)];
  const absl::string_view who = full == Full::kAll    ? "all clients together hold "
                                : full == Full::kName ? "this client holds "
                                                      : "the owner of this client holds ";
  return absl::StrCat(who, held, " ", words, "; ", added, " more ",
                      added == 1 ? "exceeds " : "exceed ",
                      full == Full::kAll ? "the limit of " : "its present share of ", most);
}

absl::Status Refusal::status() const {
  return MakeError(full == Full::kAll ? ErrorReason::kQueueFull : ErrorReason::kQuotaExceeded,
                   text());
}

Ledger::Account::~Account() {
  absl::MutexLock lock(&ledger_.mutex_);
  const auto entry = ledger_.accounts_.find(key_);
  if (entry != ledger_.accounts_.end() && entry->second == this) ledger_.accounts_.erase(entry);
}

Ledger::AccountPtr Ledger::Open(const ClientId& client) {
  const Key key(client.owner, client.name);
  AccountPtr account;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  // An account that is about to be freed is replaced.
  const auto entry = accounts_.find(key);
  if (entry != accounts_.end()) account = entry->second->weak_from_this().lock();
  if (account != nullptr) return account;
  account = std::make_shared<Account>(*this, key);
  const auto near = accounts_.lower_bound(Key(client.owner, ""));
  if (near != accounts_.end() && near->first.first == client.owner) {
    account->owner_ = near->second->owner_;
  } else {
    account->owner_ = std::make_shared<Owner>();
    const auto weight = weights_.find(client.owner);
    if (weight != weights_.end()) account->owner_->weight = weight->second;
  }
  accounts_[key] = account.get();
  return account;
}

Ledger::Sums Ledger::Add(Account& account, Resource resource, int64_t change) {
  const auto add = [&](Amounts& amounts) {
    return amounts[Index(resource)].fetch_add(change, std::memory_order_relaxed) + change;
  };
  return {.name = add(account.held_), .owner = add(account.owner_->held), .all = add(held_)};
}

Ledger::Sums Ledger::Read(const Account& account, Resource resource) const {
  return {.name = account.held(resource),
          .owner = account.held_by_owner(resource),
          .all = held(resource)};
}

std::optional<Refusal> Ledger::Check(const Account& account, Resource resource, const Sums& sums,
                                     int64_t amount, int64_t added) const {
  const ResourceBounds& bounds = bounds_[Index(resource)];
  const auto refuse = [&](Refusal::Full full, int64_t sum, int64_t most) {
    return Refusal{resource, full, sum - added, added, most};
  };
  if (sums.name > bounds.name) return refuse(Refusal::Full::kName, sums.name, bounds.name);
  if (sums.owner > bounds.owner) return refuse(Refusal::Full::kOwner, sums.owner, bounds.owner);
  if (sums.all > bounds.all && sums.all != amount) {
    return refuse(Refusal::Full::kAll, sums.all, bounds.all);
  }
  if (bounds.times_free == 0) return std::nullopt;
  const bool is_newcomer = sums.name == amount;
  const double times = bounds.times_free * account.weight();
  const auto without_owner = static_cast<double>(bounds.all - (sums.all - sums.owner));
  if (sums.owner != amount) {
    // owner <= now * (without_owner - owner)
    const double now = is_newcomer ? bounds.times_free_for_newcomers * account.weight() : times;
    if (static_cast<double>(sums.owner) * (1 + now) > now * without_owner) {
      return refuse(Refusal::Full::kOwner, sums.owner,
                    static_cast<int64_t>(now / (1 + now) * without_owner));
    }
  }
  if (is_newcomer) return std::nullopt;
  // name <= times_free * (times * (without_owner - other_names - name) - other_names - name)
  const auto other_names = static_cast<double>(sums.owner - sums.name);
  const double part = bounds.times_free * (times * (without_owner - other_names) - other_names);
  const double factor = 1 + bounds.times_free * (1 + times);
  if (static_cast<double>(sums.name) * factor > part) {
    return refuse(Refusal::Full::kName, sums.name,
                  static_cast<int64_t>(std::max(0.0, part / factor)));
  }
  return std::nullopt;
}

std::optional<Refusal> Holding::AskFurther(int64_t amount) const {
  if (amount <= 0) return std::nullopt;
  Ledger::Sums sums = account_->ledger_.Read(*account_, resource_);
  for (int64_t* const sum : {&sums.name, &sums.owner, &sums.all}) *sum += amount;
  return account_->ledger_.Check(*account_, resource_, sums, amount, amount);
}

std::optional<Refusal> Holding::Resize(int64_t amount) {
  const int64_t added = amount - amount_;
  if (added <= 0) {
    Set(amount);
    return std::nullopt;
  }
  const Ledger::Sums sums = account_->ledger_.Add(*account_, resource_, added);
  std::optional<Refusal> refusal =
      account_->ledger_.Check(*account_, resource_, sums, amount, added);
  if (refusal.has_value()) {
    account_->ledger_.Add(*account_, resource_, -added);
  } else {
    amount_ = amount;
  }
  return refusal;
}

void Holding::Set(int64_t amount) {
  if (amount == amount_) return;
  account_->ledger_.Add(*account_, resource_, amount - amount_);
  amount_ = amount;
}

}  // namespace orbserve
