// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A queue that is first in, first out for each client and serves clients by their shares
// (fair_shares.h). Several queues may stand on the same shares: what a client takes from one of
// them counts in all.

#ifndef ORBSERVE_SERVER_CLIENTS_FAIR_QUEUE_H_
#define ORBSERVE_SERVER_CLIENTS_FAIR_QUEUE_H_

#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <utility>

#include "server/clients/fair_shares.h"

namespace orbserve {

// Not thread-safe. Keeps nothing about a client that has no items. Whoever pops an item charges its
// cost to the client's account, or the client stays in front.
template <typename T>
class FairQueue {
 private:
  using Place = FairShares::Place;
  struct Owner final : Place {
    using Place::Place;
    Place::Set clients;  // never empty
  };
  struct Client final : Place {
    Client(FairShares::Account* a, Owner& o) : Place(a->share(), o.clients), account(a), owner(o) {}
    FairShares::Account* const account;
    Owner& owner;
    std::list<T> items;  // never empty
  };

 public:
  // Names one item until it is popped or removed.
  struct Handle {
    Client* client = nullptr;
    typename std::list<T>::iterator item;
  };

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // Appends to the items of a client, whose account must stay open while the item is here.
  Handle Push(FairShares::Account* account, T value) {
    FairShares::Share& share = account->owner_share();
    Owner& owner = owners_.try_emplace(&share, share, by_rank_).first->second;
    Client& client = clients_.try_emplace(account, account, owner).first->second;
    client.items.push_back(std::move(value));
    ++size_;
    return {&client, std::prev(client.items.end())};
  }

  // The client that is served next. The queue must not be empty.
  FairShares::Account* front_account() const { return FrontClient().account; }
  // The item that Pop() would take. The queue must not be empty.
  const T& front() const { return FrontClient().items.front(); }

  // Takes the oldest item of the client that is served next. The queue must not be empty.
  T Pop() {
    Client& client = FrontClient();
    return Remove({&client, client.items.begin()});
  }

  // Names the oldest item of the first client, in the order in which they are served, whose oldest
  // item `fits`. The handle's client is null when there is none.
  template <typename Fits>
  Handle FirstThat(const Fits& fits) const {
    for (Place* const owner : by_rank_) {
      for (Place* const client_place : static_cast<Owner*>(owner)->clients) {
        Client& client = static_cast<Client&>(*client_place);
        if (fits(client.items.front())) return {&client, client.items.begin()};
      }
    }
    return {};
  }

  // Names the oldest item of the client that is served next among those of the account's owner. The
  // handle's client is null when there is none.
  Handle FrontOfOwner(const FairShares::Account& account) const {
    const auto owner = owners_.find(&account.owner_share());
    if (owner == owners_.end()) return {};
    Client& client = static_cast<Client&>(**owner->second.clients.begin());
    return {&client, client.items.begin()};
  }

  // Makes the item the newest of its client.
  void MoveToBack(const Handle& handle) {
    std::list<T>& items = handle.client->items;
    items.splice(items.end(), items, handle.item);
  }

  // Takes the item out of the middle.
  T Remove(const Handle& handle) {
    Client& client = *handle.client;
    T value = std::move(*handle.item);
    client.items.erase(handle.item);
    --size_;
    if (client.items.empty()) {
      Owner& owner = client.owner;
      clients_.erase(client.account);
      if (owner.clients.empty()) owners_.erase(&owner.share);
    }
    return value;
  }

 private:
  Client& FrontClient() const {
    Owner& owner = static_cast<Owner&>(**by_rank_.begin());
    return static_cast<Client&>(**owner.clients.begin());
  }

  // In this order: entries leave the set when they are destroyed.
  Place::Set by_rank_;  // owners
  std::map<const FairShares::Share*, Owner> owners_;
  std::map<const FairShares::Account*, Client> clients_;
  size_t size_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_FAIR_QUEUE_H_
