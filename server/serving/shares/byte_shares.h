// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A bounded amount of memory that clients share.
//
// An owner may hold as much as is still free of the whole, times its weight, and each name of the
// owner as much as is still free of the owner's part. A client that never gives anything back
// therefore stops at half of the whole if it is alone, two such owners at a third each, and there
// is always something free for an owner that holds nothing. No fixed part has to be configured: a
// lone owner is not held to a small one, and many owners do not exceed the whole.
// Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
// IEEE/ACM Transactions on Networking 6(2), 1998, with the factor 1.

#ifndef ORBSERVE_SERVER_SERVING_SHARES_BYTE_SHARES_H_
#define ORBSERVE_SERVER_SERVING_SHARES_BYTE_SHARES_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "server/serving/shares/client_id.h"
#include "server/serving/shares/owner_weights.h"

namespace orbserve {

// Thread-safe. Keeps nothing about a client that holds nothing.
class ByteShares {
 public:
  enum class Answer {
    kFits,
    kShareIsFull,  // the client holds too much already
    kAllIsFull,    // all clients together do
  };

  // `max_bytes` >= 1.
  explicit ByteShares(int64_t max_bytes, OwnerWeights weights = {})
      : max_bytes_(max_bytes), weights_(std::move(weights)) {}

  // Changes one holding of the client from `from` to `to` bytes, unless it grows and the answer is
  // not kFits. While nobody holds anything else, a holding of any size fits.
  Answer Change(const ClientId& client, int64_t from, int64_t to) ABSL_LOCKS_EXCLUDED(mutex_);
  // Changes what the client holds without asking.
  void Add(const ClientId& client, int64_t change) ABSL_LOCKS_EXCLUDED(mutex_);
  // True if Change() from 0 to `bytes` would be kFits.
  bool Fits(const ClientId& client, int64_t bytes) const ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t used_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t max_bytes() const { return max_bytes_; }

 private:
  struct Owner {
    int64_t bytes = 0;
    absl::btree_map<std::string, int64_t> names;  // none has 0 bytes
  };

  Answer Ask(const ClientId& client, int64_t from, int64_t to) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Apply(const ClientId& client, int64_t change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_bytes_;
  const OwnerWeights weights_;
  mutable absl::Mutex mutex_;
  int64_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::btree_map<std::string, Owner> owners_ ABSL_GUARDED_BY(mutex_);  // none is empty
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_SHARES_BYTE_SHARES_H_
