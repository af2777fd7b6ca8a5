// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/stream_registry.h"

#include <utility>

#include "features/errors.h"
#include "server/rpc/stream_call.h"

namespace orbserve {

absl::StatusOr<uint64_t> StreamRegistry::Add(const std::shared_ptr<StreamCall>& stream,
                                             const ClientId& client, const std::string& connection,
                                             SteadyTime now) {
  std::shared_ptr<StreamCall> removed;
  uint64_t id = 0;
  {
    absl::MutexLock lock(&mutex_);
    ORBSERVE_ASSIGN_OR_RETURN(const StreamPlaces::Admission admission,
                              places_.Add(client, connection, now));
    id = admission.id;
    streams_.emplace(id, stream);
    const auto found = streams_.find(admission.removed);
    if (found != streams_.end()) removed = found->second.lock();
  }
  if (removed != nullptr) removed->MakeRoom();
  return id;
}

void StreamRegistry::Touch(uint64_t id, SteadyTime now) {
  absl::MutexLock lock(&mutex_);
  places_.Touch(id, now);
}

void StreamRegistry::GiveUpPlace(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  places_.Remove(id);
}

void StreamRegistry::Remove(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  places_.Remove(id);
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

void StreamRegistry::CutUnknown() {
  for (const auto& stream : All()) stream->AbortIfUnknown();
}

void StreamRegistry::StopAll() {
  for (const auto& stream : All()) stream->Stop();
}

std::vector<StreamUse> StreamRegistry::uses() {
  std::vector<std::pair<uint64_t, std::shared_ptr<StreamCall>>> alive;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, stream] : streams_) alive.emplace_back(id, stream.lock());
  }
  std::vector<StreamUse> uses;
  for (const auto& [id, stream] : alive) {
    if (stream == nullptr) continue;
    uses.push_back(stream->use());
    uses.back().id = id;
  }
  return uses;
}

}  // namespace orbserve
