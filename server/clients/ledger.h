// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The book of what clients hold of the server: places in queues, memory, streams.
//
// One rule says who may hold how much of a resource. All clients together are bounded. Beside that
// an owner may hold at most `times_free` times the free space, times its weight, and a name of the
// owner at most `times_free` times what the owner's part then leaves free. So something is free for
// a client that holds nothing, however greedy the others are; a lone owner is not held to a small
// part, and no part has to be configured.
// An owner that holds nothing may hold one thing of any size for which there is space, and so may a
// name in its owner's part. While nobody holds anything, a thing of any size fits.
// Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
// IEEE/ACM Transactions on Networking 6(2), 1998.
//
// A refusal says whose bound is reached. What follows from that is up to the user of the resource:
// a call is refused, a stream stops reading, a decoding waits, another stream is preempted.
//
// Threads. Amounts are atomic: to take and to free needs no lock. Bounds are never exceeded by
// those who ask. Of two who ask at the same moment both may be refused though one would fit.

#ifndef ORBSERVE_SERVER_CLIENTS_LEDGER_H_
#define ORBSERVE_SERVER_CLIENTS_LEDGER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"

namespace orbserve {

enum class Resource : uint8_t {
  kFrames,               // that wait
  kFrameBytes,           // of their messages
  kMatches,              // requests that wait
  kMatchBytes,           // of the states that they hold
  kTracks,               // frames whose search for tracks waits
  kTrackBytes,           // of their states and points
  kDecodeBytes,          // of frames that are decoded and not computed
  kLargeDecodeBytes,     // of large ones
  kUnaryResponseBytes,   // from the admission of a call
  kStreamResponseBytes,  // from the begin of a frame
  kStreams,              // open
  kReferences,
  kReferenceBytes,  // with the copies that the backend holds
};
inline constexpr size_t kResources = 13;

// Weights of owners (client_id.h), > 0. An owner without an entry has the weight 1.
using OwnerWeights = absl::flat_hash_map<std::string, double>;

// Of one resource.
struct ResourceBounds {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max() / 16;

  int64_t all = kNone;  // clients together, >= 1
  int64_t owner = kNone;
  int64_t name = kNone;
  // An owner and a name have at most so many times what is free; 0 = whoever comes first.
  double times_free = 1;
  // Of an owner, for names that hold nothing.
  double times_free_for_newcomers = times_free;
};

// Why a holding may not grow.
struct Refusal {
  enum class Full { kName, kOwner, kAll };

  Resource resource;
  Full full;          // whose bound is reached
  int64_t held = 0;   // by whom it belongs to
  int64_t added = 0;  // would be
  int64_t most = 0;   // that may be held beside what others hold now

  std::string text() const;
  // QUEUE_FULL with the text where all are full, else QUOTA_EXCEEDED.
  absl::Status status() const;
};

// Thread-safe. Keeps nothing about a client that has no account open.
class Ledger {
  using Key = std::pair<std::string, std::string>;  // owner and name
  using Amounts = std::array<std::atomic<int64_t>, kResources>;
  struct Owner {
    double weight = 1;
    Amounts held{};
  };

 public:
  // What one client holds. Open as long as somebody points to it.
  class Account : public std::enable_shared_from_this<Account> {
   public:
    Account(Ledger& ledger, Key key) : ledger_(ledger), key_(std::move(key)) {}
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;
    ~Account();

    double weight() const { return owner_->weight; }  // of the owner
    int64_t held(Resource resource) const { return Read(held_, resource); }
    int64_t held_by_owner(Resource resource) const { return Read(owner_->held, resource); }

   private:
    friend class Ledger;
    friend class Holding;

    Ledger& ledger_;
    const Key key_;
    std::shared_ptr<Owner> owner_;  // of all its names
    Amounts held_{};
  };
  using AccountPtr = std::shared_ptr<Account>;

  explicit Ledger(OwnerWeights weights = {}) : weights_(std::move(weights)) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Before anything of the resource is held.
  void Bound(Resource resource, const ResourceBounds& bounds) { bounds_[Index(resource)] = bounds; }
  const ResourceBounds& bounds(Resource resource) const { return bounds_[Index(resource)]; }
  // Of all clients.
  int64_t held(Resource resource) const { return Read(held_, resource); }

  // The ledger must outlive the account. May throw std::bad_alloc, and then has changed nothing.
  AccountPtr Open(const ClientId& client) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class Holding;

  // What a client, its owner and all hold.
  struct Sums {
    int64_t name = 0;
    int64_t owner = 0;
    int64_t all = 0;
  };

  static size_t Index(Resource resource) { return static_cast<size_t>(resource); }
  static int64_t Read(const Amounts& amounts, Resource resource) {
    return amounts[Index(resource)].load(std::memory_order_relaxed);
  }
  // Returns the new sums.
  Sums Add(Account& account, Resource resource, int64_t change);
  Sums Read(const Account& account, Resource resource) const;
  // Whether one holding may have grown by `added` to `amount`, which the sums contain.
  std::optional<Refusal> Check(const Account& account, Resource resource, const Sums& sums,
                               int64_t amount, int64_t added) const;

  const OwnerWeights weights_;
  std::array<ResourceBounds, kResources> bounds_;
  Amounts held_{};
  absl::Mutex mutex_;
  // An account leaves when it is about to be freed.
  absl::btree_map<Key, Account*> accounts_ ABSL_GUARDED_BY(mutex_);
};

// An amount of one resource, which is free again when the object is destroyed. Not thread-safe.
class Holding {
 public:
  // Holds nothing, and never will.
  Holding() = default;
  // Holds nothing yet.
  Holding(Ledger::AccountPtr account, Resource resource)
      : account_(std::move(account)), resource_(resource) {}
  Holding(Holding&& other) noexcept
      : account_(std::move(other.account_)),
        resource_(other.resource_),
        amount_(std::exchange(other.amount_, 0)) {}
  Holding& operator=(Holding other) noexcept {
    std::swap(account_, other.account_);
    std::swap(resource_, other.resource_);
    std::swap(amount_, other.amount_);
    return *this;
  }
  ~Holding() { Set(0); }

  int64_t amount() const { return amount_; }
  const Ledger::AccountPtr& account() const { return account_; }
  // Says why one more holding of the client could not have `amount`; nothing if it could.
  std::optional<Refusal> AskFurther(int64_t amount) const;
  // Holds `amount` from now on, unless that is more and not allowed.
  [[nodiscard]] std::optional<Refusal> Resize(int64_t amount);
  // Holds `amount` from now on, without asking.
  void Set(int64_t amount);

 private:
  Ledger::AccountPtr account_;
  Resource resource_{};
  int64_t amount_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_LEDGER_H_
