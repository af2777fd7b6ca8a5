// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Named sets of features that clients keep on the server to match against.
//
// The name of a reference belongs to a client, which ClientId::name tells: two clients may use the
// same name for different references, and neither sees the other's. A reference never changes.
// Putting one under a name that exists makes a new version, and holders of the old version keep it.
// Versions only grow, also over a deletion.
//
// The store holds at most `max_bytes` and `max_references`. When a new reference does not fit, the
// client with the most bytes makes room; the new reference counts as held already. That client
// loses its least recently used reference first. A client that fills the store therefore loses its
// own references first, and cannot push out those of a client that keeps little.

#ifndef ORBSERVE_SERVER_SERVING_REFERENCE_STORE_H_
#define ORBSERVE_SERVER_SERVING_REFERENCE_STORE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/serving/client_id.h"

namespace orbserve {

// One version of a reference. Immutable except for the backend's form of it, which is made when a
// match first needs it. Thread-safe.
class Reference {
 public:
  Reference(std::string name, uint64_t version, std::shared_ptr<const Features> features);

  const std::string& name() const { return name_; }
  uint64_t version() const { return version_; }
  const Features& features() const { return *features_; }
  size_t size_bytes() const { return size_bytes_; }

  // Returns the form in which `backend` can match against the reference. The first call imports it.
  // A reference is used with one backend only.
  absl::StatusOr<std::shared_ptr<const FrameState>> State(FeatureBackend& backend) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::string name_;
  const uint64_t version_;
  const std::shared_ptr<const Features> features_;
  const size_t size_bytes_;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const FrameState> state_ ABSL_GUARDED_BY(mutex_);
};

struct ReferenceStoreOptions {
  size_t max_bytes = size_t{1} << 30;  // >= 1
  int max_references = 100'000;        // >= 1
};

// Use of a ReferenceStore at one moment.
struct ReferenceStoreUse {
  int64_t references = 0;
  int64_t bytes = 0;
  int64_t max_bytes = 0;
};

// Thread-safe.
class ReferenceStore {
 public:
  struct PutResult {
    std::shared_ptr<const Reference> reference;
    std::vector<std::string> evicted;  // names of the same client, least recently used first
  };

  explicit ReferenceStore(const ReferenceStoreOptions& options);

  // TOO_LARGE when the features alone exceed the store.
  absl::StatusOr<PutResult> Put(const ClientId& client, const std::string& name,
                                std::shared_ptr<const Features> features)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks the reference as used. REFERENCE_NOT_FOUND.
  absl::StatusOr<std::shared_ptr<const Reference>> Get(const ClientId& client,
                                                       const std::string& name)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // REFERENCE_NOT_FOUND.
  absl::Status Delete(const ClientId& client, const std::string& name) ABSL_LOCKS_EXCLUDED(mutex_);
  // References of the client, sorted by name.
  std::vector<std::shared_ptr<const Reference>> List(const ClientId& client) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  ReferenceStoreUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<const Reference> reference;
    std::list<std::string>::iterator use;  // into Client::by_use
  };
  struct Client {
    std::map<std::string, Entry> entries;
    std::list<std::string> by_use;  // names, least recently used first
    size_t bytes = 0;
  };

  // Both leave an empty client in place.
  std::shared_ptr<const Reference> Remove(Client& client, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::map<std::string, Client>::iterator LargestClient() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReferenceStoreOptions options_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Client> clients_ ABSL_GUARDED_BY(mutex_);  // none is empty
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_version_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_REFERENCE_STORE_H_
