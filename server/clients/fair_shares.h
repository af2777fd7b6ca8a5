// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Shares of clients in work that has a cost, over two levels: owners share by their weights, and
// the names of an owner divide its share equally. This says whose turn is next; how much a client
// may have waiting says ledger.h.
//
// Start-time fair queueing. Every share has a virtual time: the cost that was charged to it,
// divided by its weight. The share with the smallest virtual time is served next. The virtual time
// of a level is that of the share it served last. A share that had no work begins at the virtual
// time of its level, so that time without work earns no credit. Work is charged by its estimated
// cost when it begins and corrected when it has ended.
//
// What a client owes beyond the virtual time of its level is remembered while others have work, or
// a client with one expensive request at a time would begin anew with each. A client that is not
// known begins one turn later, or ever new names would always go first.
// Source: Goyal, Vin, Cheng, "Start-time fair queueing", SIGCOMM 1996, sec. 2 and 3.

#ifndef ORBSERVE_SERVER_CLIENTS_FAIR_SHARES_H_
#define ORBSERVE_SERVER_CLIENTS_FAIR_SHARES_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"

namespace orbserve {

// Not thread-safe.
class FairShares {
 public:
  // Order in which shares of one level are served: smaller first.
  struct Rank {
    int64_t virtual_ns = 0;
    uint64_t turn = 0;  // among equals the share that was served longest ago
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };

  class Place;

  // Share of an owner, or of a name in its owner's.
  class Share {
   public:
    const Rank& rank() const { return rank_; }

   private:
    friend class FairShares;
    friend class Place;
    // Changes the virtual time, and the turn unless it is 0.
    void Move(int64_t difference_ns, uint64_t turn);

    Rank rank_;
    bool is_known_ = false;  // it had work before
    absl::InlinedVector<Place*, 2> places_;
  };

  // A place of a share in an ordered set, which it keeps in order while its rank changes.
  class Place {
   public:
    struct Before {
      bool operator()(const Place* a, const Place* b) const {
        return a->share.rank() < b->share.rank();
      }
    };
    using Set = std::set<Place*, Before>;

    Place(Share& s, Set& set) : share(s), set_(set), position_(set.insert(this).first) {
      share.places_.push_back(this);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    Share& share;

   private:
    friend class Share;

    Set& set_;
    Set::iterator position_;
    Set::node_type node_;  // while the rank changes
  };

  // Account of a client while it has open work.
  class Account;

  // Most clients without work that are remembered.
  static constexpr size_t kMaxIdle = 4096;
  // Longest turn after which an unknown client begins.
  static constexpr int64_t kMaxEntryNs = 5'000'000;

  // The ledger, which has the weights, must outlive the shares. Null = they have one of their own.
  explicit FairShares(Ledger* ledger = nullptr)
      : own_ledger_(ledger == nullptr ? std::make_unique<Ledger>() : nullptr),
        ledger_(ledger == nullptr ? *own_ledger_ : *ledger) {}
  FairShares(const FairShares&) = delete;
  FairShares& operator=(const FairShares&) = delete;
  ~FairShares();

  // The client has one more piece of open work. The account stays valid until it is closed as often
  // as it was opened.
  Account* Open(const ClientId& client);
  void Close(Account* account);

  // Work of this cost begins; `cost_ns` >= 0.
  void Charge(Account* account, int64_t cost_ns);
  // The work cost so much more, or less, than was charged.
  void Correct(Account* account, int64_t difference_ns);

  // Ranks a client with open work, and its owner, by something else than cost: smaller first. Only
  // for shares to which nothing is charged.
  void SetRank(Account* account, int64_t of_owner, int64_t of_name);

  // Clients that have open work, or are remembered.
  size_t clients() const { return clients_; }
  Ledger& ledger() const { return ledger_; }

 private:
  struct Owner;

  // Owners, or the names of an owner.
  struct Level {
    int64_t virtual_ns = 0;
    int64_t most_ns = 0;  // largest virtual time of a share
    int64_t last_ns = 0;  // by which the share that was served last has moved
    size_t open = 0;      // pieces of work

    void Note(const Share& share) { most_ns = std::max(most_ns, share.rank_.virtual_ns); }
    // Nobody waits for what was taken before.
    void EndBusyTime() { virtual_ns = std::max(virtual_ns, most_ns); }
  };

  // A share has work from now on.
  void Begin(Level& level, Share& share);
  void Charge(Level& level, Share& share, int64_t share_ns, uint64_t turn);
  void Forget(Account* account);
  static int64_t ShareOf(const Owner& owner, int64_t cost_ns);

  const std::unique_ptr<Ledger> own_ledger_;
  Ledger& ledger_;
  Level level_;  // of the owners
  uint64_t next_turn_ = 1;
  size_t clients_ = 0;
  absl::btree_map<std::string, std::unique_ptr<Owner>> owners_;
  std::list<Account*> idle_;  // without open work, longest first
};

class FairShares::Account {
 public:
  Share& share() { return share_; }
  // Names of one owner have the same.
  Share& owner_share();
  const Share& owner_share() const;

  // What the client holds of the server, on which it may hold more.
  const Ledger::AccountPtr& holds() const { return holds_; }

  // True if `a` is served before `b`.
  friend bool Before(const Account& a, const Account& b);

 private:
  friend class FairShares;
  Account(Owner* owner, std::string name, Ledger::AccountPtr holds)
      : owner_(owner), name_(std::move(name)), holds_(std::move(holds)) {}

  Owner* const owner_;
  const std::string name_;
  const Ledger::AccountPtr holds_;
  Share share_;
  int open_ = 0;
  std::list<Account*>::iterator idle_;  // when open_ == 0
};

struct FairShares::Owner {
  std::string name;
  double weight = 1.0;
  Share share;
  Level level;  // of its names
  absl::btree_map<std::string, std::unique_ptr<Account>> accounts;
};

inline FairShares::Share& FairShares::Account::owner_share() { return owner_->share; }
inline const FairShares::Share& FairShares::Account::owner_share() const { return owner_->share; }

bool Before(const FairShares::Account& a, const FairShares::Account& b);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_FAIR_SHARES_H_
