// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_STREAM_REGISTRY_H_
#define ORBSERVE_SERVER_RPC_STREAM_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace orbserve {

class StreamCall;

// The open streams. Thread-safe.
class StreamRegistry {
 public:
  // Gives the stream its number, from 1. QUOTA_EXCEEDED when `max_streams` are open.
  absl::StatusOr<uint64_t> Add(const std::shared_ptr<StreamCall>& stream, int max_streams)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells every stream that the server is about to stop.
  void AnnounceGoingAway() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends every stream when the frames that it has read are answered.
  void StopAll() ABSL_LOCKS_EXCLUDED(mutex_);

  // Bytes that all streams have reserved for answers.
  int64_t answer_bytes() const { return answer_bytes_.load(std::memory_order_relaxed); }
  void AddAnswerBytes(int64_t change) {
    answer_bytes_.fetch_add(change, std::memory_order_relaxed);
  }

 private:
  std::vector<std::shared_ptr<StreamCall>> All() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::weak_ptr<StreamCall>> streams_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int64_t> answer_bytes_{0};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STREAM_REGISTRY_H_
