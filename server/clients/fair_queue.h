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
#include <set>
#include <utility>

#include "server/clients/fair_shares.h"

namespace orbserve {

// Not thread-safe. Keeps nothing about a client that has no items. Whoever pops an item charges its
// cost to the client's account, or the client stays in front.
template <typename T>
class FairQueue {
 private:
  // Entry in a set that is ordered by the rank of shares.
  struct Ranked : FairShares::Place {
    struct Before {
      bool operator()(const Ranked* a, const Ranked* b) const {
        return a->share.rank() < b->share.rank();
      }
    };
    using Set = std::set<Ranked*, Before>;

    Ranked(FairShares::Share& s, Set& all) : share(s), set(all) {
      position = set.insert(this).first;
      share.AddPlace(this);
    }
    Ranked(const Ranked&) = delete;
    Ranked& operator=(const Ranked&) = delete;
    ~Ranked() override {
      share.RemovePlace(this);
      set.erase(position);
    }
    void TakeOut() override { node = set.extract(position); }
    void PutBack() override { position = set.insert(std::move(node)).position; }

    FairShares::Share& share;
    Set& set;
    typename Set::iterator position;
    typename Set::node_type node;  // while it is taken out
  };
  struct Owner final : Ranked {
    using Ranked::Ranked;
    typename Ranked::Set clients;  // never empty
  };
  struct Client final : Ranked {
    Client(FairShares::Account* a, Owner& o)
        : Ranked(a->share(), o.clients), account(a), owner(o) {}
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
  size_t client_count() const { return clients_.size(); }

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
    for (Ranked* const owner : by_rank_) {
      for (Ranked* const ranked : static_cast<Owner*>(owner)->clients) {
        Client& client = static_cast<Client&>(*ranked);
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
  typename Ranked::Set by_rank_;  // owners
  std::map<const FairShares::Share*, Owner> owners_;
  std::map<const FairShares::Account*, Client> clients_;
  size_t size_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_FAIR_QUEUE_H_
