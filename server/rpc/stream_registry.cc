// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/stream_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/rpc/stream_call.h"

namespace orbserve {

absl::StatusOr<uint64_t> StreamRegistry::Add(const std::shared_ptr<StreamCall>& stream,
                                             int max_streams) {
  absl::MutexLock lock(&mutex_);
  if (streams_.size() >= static_cast<size_t>(max_streams)) {
    return MakeError(
        ErrorReason::kQuotaExceeded,
        absl::StrCat(streams_.size(), " streams are open; at most ", max_streams, " may be"));
  }
  streams_.emplace(next_id_, stream);
  return next_id_++;
}

void StreamRegistry::Remove(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(id);
}

std::vector<std::shared_ptr<StreamCall>> StreamRegistry::All() {
  std::vector<std::shared_ptr<StreamCall>> all;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, stream] : streams_) {
    if (auto alive = stream.lock()) all.push_back(std::move(alive));
  }
  return all;
}

void StreamRegistry::AnnounceGoingAway() {
  for (const auto& stream : All()) stream->AnnounceGoingAway();
}

void StreamRegistry::StopAll() {
  for (const auto& stream : All()) stream->Stop();
}

}  // namespace orbserve
