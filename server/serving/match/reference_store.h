// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Named sets of features that clients keep on the server to match against.
//
// A name belongs to a client (ClientId::name): two clients may use the same name for different
// references, and neither sees the other's. A reference never changes. Putting one under a name
// that exists makes a new version, and holders of the old version keep it. Versions only grow, also
// over a deletion.
//
// Memory. A reference takes its columns, its name and a fixed number of bytes, and from its first
// match on the copies that the backend may hold of it (FrameState::copy_bytes). The store holds at
// most `max_bytes` and `max_references`, and of one owner (ClientId::owner) at most its share of
// both. Beyond a share its owner makes room; beyond the store the owner with the largest load does,
// and the new reference counts as held already. The load of a reference is its part of the store's
// bytes plus its part of the store's number, so that many tiny references weigh as much as a few
// large ones; that of an owner is divided by its weight. Of an owner the client with the largest
// load makes room, and its least recently used reference goes first. An owner that fills the store
// therefore loses its own references first, and cannot push out those of an owner that keeps
// little.
//
// Time. Clients and owners stand in the order of their loads (fair_queue.h), and each operation
// takes O(log n). Room is made in steps of kEvictionsPerStep references. Between two steps other
// calls get the lock. References are allocated and freed outside the lock.

#ifndef ORBSERVE_SERVER_SERVING_MATCH_REFERENCE_STORE_H_
#define ORBSERVE_SERVER_SERVING_MATCH_REFERENCE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_queue.h"
#include "server/clients/fair_shares.h"
#include "server/clients/ledger.h"

namespace orbserve {

// One version of a reference. Immutable except for the backend's form of it, which is made when a
// match first needs it. Thread-safe.
class Reference {
 public:
  Reference(std::string name, uint64_t version, std::shared_ptr<const Features> features);

  const std::string& name() const { return name_; }
  uint64_t version() const { return version_; }
  const Features& features() const { return *features_; }
  // Bytes of the features and of the objects that hold them, without copies of the backend.
  size_t own_bytes() const { return own_bytes_; }
  // Bytes that the store counts: own_bytes() and the copies that the backend may hold.
  size_t size_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class ReferenceStore;

  const std::string name_;
  uint64_t version_;  // set by the store before others see the reference
  const std::shared_ptr<const Features> features_;
  const size_t own_bytes_;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const FrameState> state_ ABSL_GUARDED_BY(mutex_);
};

struct ReferenceStoreOptions {
  size_t max_bytes = size_t{1} << 30;  // >= 1
  int max_references = 100'000;        // >= 1
  // Share of one owner; 0 = as much as the store holds.
  size_t max_bytes_per_owner = 0;
  int max_references_per_owner = 0;
  Ledger* ledger = nullptr;  // which must outlive the store; null = one of its own
};

// Use of a ReferenceStore at one moment, beside its bounds, and its events since it was made.
struct ReferenceStoreUse {
  int64_t references = 0;
  int64_t bytes = 0;
  int64_t copy_bytes = 0;  // part of `bytes` that the backend may hold
  int64_t max_references = 0;
  int64_t max_bytes = 0;
  int64_t max_references_per_owner = 0;
  int64_t max_bytes_per_owner = 0;
  int64_t evictions = 0;  // references that were removed to make room
};

// Thread-safe.
class ReferenceStore {
 public:
  // References that are removed to make room while other calls wait for the lock.
  static constexpr int kEvictionsPerStep = 64;

  struct PutResult {
    std::shared_ptr<const Reference> reference;
    std::vector<std::string> evicted;  // names of the same client, least recently used first
  };
  struct Page {
    std::vector<std::shared_ptr<const Reference>> references;  // sorted by name
    bool is_last = true;
  };

  explicit ReferenceStore(const ReferenceStoreOptions& options);

  // TOO_LARGE when the features alone exceed the store or the share of their owner.
  absl::StatusOr<PutResult> Put(const ClientId& client, const std::string& name,
                                std::shared_ptr<const Features> features)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks the reference as used. REFERENCE_NOT_FOUND.
  absl::StatusOr<std::shared_ptr<const Reference>> Get(const ClientId& client,
                                                       const std::string& name)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the form in which `backend` can match against a reference of the client. The first call
  // for a reference imports it, and counts the copies that the backend may make. A store is used
  // with one backend only.
  absl::StatusOr<std::shared_ptr<const FrameState>> State(const ClientId& client,
                                                          const Reference& reference,
                                                          FeatureBackend& backend)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the version that was removed. REFERENCE_NOT_FOUND.
  absl::StatusOr<uint64_t> Delete(const ClientId& client, const std::string& name)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The first `max_references` (>= 1) references of the client whose names come after `after`.
  Page List(const ClientId& client, absl::string_view after, size_t max_references) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  ReferenceStoreUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry;
  // By owner, name of the client and name of the reference.
  using Entries = std::map<std::tuple<std::string, std::string, std::string>, Entry, std::less<>>;
  using Order = FairQueue<Entries::iterator>;

  struct Entry {
    std::shared_ptr<const Reference> reference;
    FairShares::Account* account = nullptr;
    Holding place;
    Holding bytes;
    Order::Handle use;  // of no client while the reference is being put, and makes no room
  };

  Entries::iterator Find(const ClientId& client, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return entries_.find(std::tie(client.owner, client.name, name));
  }
  // The client, which holds more or less now, and its owner get their places.
  void Rank(FairShares::Account* account) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const Reference> Remove(Entries::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The reference that makes room next; of no client when there is room, or nothing to remove.
  Order::Handle NextToMakeRoom(const FairShares::Account& account) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes room in steps after something was added for `id`. Names of references of that client are
  // appended to `evicted` unless it is null.
  void MakeRoom(const ClientId& id, std::vector<std::string>* evicted) ABSL_LOCKS_EXCLUDED(mutex_);

  const ReferenceStoreOptions options_;
  const int64_t load_of_one_;  // of a reference beside its bytes
  mutable absl::Mutex mutex_;
  FairShares shares_ ABSL_GUARDED_BY(mutex_);  // ranked by load, the largest first
  Ledger& ledger_;                             // of the shares
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  Order order_ ABSL_GUARDED_BY(mutex_);            // in which references make room
  size_t copy_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // part of what the ledger says
  int64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_version_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_MATCH_REFERENCE_STORE_H_
