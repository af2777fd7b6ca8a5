// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_REGISTRY_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/clients/client_id.h"
#include "server/process/clock.h"
#include "server/serving/stream/stream_places.h"
#include "server/serving/stream/stream_use.h"

namespace orbserve {

class Stream;

// The open streams. Thread-safe.
class StreamRegistry {
 public:
  // The ledger must outlive the registry.
  StreamRegistry(Ledger* ledger, const StreamPlacesOptions& options) : places_(ledger, options) {}

  // Gives the stream its number, from 1. Another stream may have to end for it. `connection` is as
  // in StreamPlaces::Add(). QUOTA_EXCEEDED when there is no place for it.
  absl::StatusOr<uint64_t> Add(const std::shared_ptr<Stream>& stream, const ClientId& client,
                               const std::string& connection, SteadyTime now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream has sent a frame.
  void Touch(uint64_t id, SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream is about to end: another one may have its place.
  void GiveUpPlace(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells every stream that the server is about to stop for this reason.
  void AnnounceGoingAway(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the streams whose clients are not known any more.
  void CutUnknown(absl::FunctionRef<bool(const ClientId&)> is_known) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends every stream with this reason when the frames that it has read are answered.
  void StopAll(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<StreamUse> uses() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<std::shared_ptr<Stream>> All() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  StreamPlaces places_ ABSL_GUARDED_BY(mutex_);
  // Until Remove(), which for a stream that lost its place or gave it up comes later.
  std::map<uint64_t, std::weak_ptr<Stream>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_REGISTRY_H_
