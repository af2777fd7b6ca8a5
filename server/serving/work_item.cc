// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/work_item.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace orbserve {
namespace {

// Names of a kind of work in messages.
struct Words {
  absl::string_view late;
  absl::string_view queue;
  absl::string_view items;
  absl::string_view items_of_client;
};

const Words& WordsFor(WorkKind kind) {
  static constexpr Words kFrames = {
      .late = "the frame's deadline passed before its answer",
      .queue = "the queue",
      .items = "frames",
      .items_of_client = "frames",
  };
  static constexpr Words kMatches = {
      .late = "the deadline passed before the matches were",
      .queue = "the queue for matching",
      .items = "requests",
      .items_of_client = "requests for matching",
  };
  static constexpr Words kTracks = {
      .late = "the frame's deadline passed before its tracks were",
      .queue = "the queue for tracks",
      .items = "frames",
      .items_of_client = "frames for tracks",
  };
  switch (kind) {
    case WorkKind::kFrames:
      break;
    case WorkKind::kMatches:
      return kMatches;
    case WorkKind::kTracks:
      return kTracks;
  }
  return kFrames;
}

}  // namespace

absl::Status LateStatus(WorkKind kind) {
  return MakeError(ErrorReason::kDeadlineExceeded, WordsFor(kind).late);
}

absl::Status CancelledStatus() {
  return MakeError(ErrorReason::kCancelled, "the client cancelled");
}

absl::Status DrainingStatus() {
  return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
}

absl::Status NoMemoryStatus(WorkKind kind) {
  return MakeError(ErrorReason::kOutOfMemory,
                   absl::StrCat("no memory left for a batch of ", WordsFor(kind).items));
}

int64_t TakenNs(const BatchCost& cost) {
  if (cost.work_ns > 0) return cost.work_ns;
  return std::max<int64_t>(0, std::chrono::nanoseconds(cost.busy_end - cost.busy_begin).count());
}

absl::Status QueueFullStatus(const WorkQueueOptions& options, size_t waiting, int64_t bytes) {
  const Words& words = WordsFor(options.kind);
  return MakeError(ErrorReason::kQueueFull,
                   absl::StrCat(words.queue, " is full: ", waiting, " ", words.items, " with ",
                                bytes, " bytes wait; at most ", options.max_items, " ", words.items,
                                " and ", options.max_bytes, " bytes may"));
}

absl::Status QuotaExceededStatus(const WorkQueueOptions& options, int waiting) {
  return MakeError(
      ErrorReason::kQuotaExceeded,
      absl::StrCat("this client has ", waiting, " ", WordsFor(options.kind).items_of_client,
                   " waiting; at most ", options.max_items_per_client, " may"));
}

absl::Status ShareExceededStatus(const WorkQueueOptions& options, absl::string_view who,
                                 int waiting, int64_t bytes) {
  const Words& words = WordsFor(options.kind);
  return MakeError(
      ErrorReason::kQuotaExceeded,
      absl::StrCat(who, " has ", waiting, " ", words.items_of_client, " with ", bytes,
                   " bytes waiting, its share of ", options.max_items, " ", words.items, " and ",
                   options.max_bytes, " bytes beside those of other clients"));
}

}  // namespace orbserve
