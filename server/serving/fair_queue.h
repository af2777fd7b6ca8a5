// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A queue that is first in, first out for each client and takes turns between clients. The oldest
// item of a client behind N other clients waits for N items, however many items one of them has.

#ifndef ORBSERVE_SERVER_SERVING_FAIR_QUEUE_H_
#define ORBSERVE_SERVER_SERVING_FAIR_QUEUE_H_

#include <cstddef>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/serving/client_id.h"

namespace orbserve {

// Not thread-safe. Keeps nothing about a client that has no items.
template <typename T>
class FairQueue {
 private:
  struct Client {
    ClientId id;
    std::list<T> items;  // never empty
  };

 public:
  // Names one item until it is popped or removed.
  struct Handle {
    typename std::list<Client>::iterator client;
    typename std::list<T>::iterator item;
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t client_count() const { return rotation_.size(); }

  // Appends to the items of `client`. A client without items takes its turn after all others.
  Handle Push(const ClientId& client, T value) {
    auto [entry, is_new] = clients_.try_emplace(client);
    if (is_new) {
      entry->second = rotation_.insert(rotation_.end(), Client{client, {}});
    }
    const auto turn = entry->second;
    turn->items.push_back(std::move(value));
    ++size_;
    return {turn, std::prev(turn->items.end())};
  }

  // The client whose turn it is. The queue must not be empty.
  const ClientId& front_client() const { return rotation_.front().id; }

  // The item that Pop() would take. The queue must not be empty.
  const T& front() const { return rotation_.front().items.front(); }

  // Takes the oldest item of the client whose turn it is; its next turn comes after all others. The
  // queue must not be empty.
  T Pop() {
    const auto turn = rotation_.begin();
    T value = std::move(turn->items.front());
    turn->items.pop_front();
    --size_;
    if (turn->items.empty()) {
      Forget(turn);
    } else {
      rotation_.splice(rotation_.end(), rotation_, turn);
    }
    return value;
  }

  // Takes the item out of the middle. Turns stay as they are.
  T Remove(const Handle& handle) {
    T value = std::move(*handle.item);
    handle.client->items.erase(handle.item);
    --size_;
    if (handle.client->items.empty()) Forget(handle.client);
    return value;
  }

 private:
  void Forget(typename std::list<Client>::iterator turn) {
    clients_.erase(turn->id);
    rotation_.erase(turn);
  }

  std::list<Client> rotation_;  // front = next turn
  absl::flat_hash_map<ClientId, typename std::list<Client>::iterator> clients_;
  size_t size_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_FAIR_QUEUE_H_
