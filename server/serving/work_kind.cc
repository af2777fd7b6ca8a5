// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/work_kind.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// What messages and the ledger call a kind of work.
struct Words {
  absl::string_view late;
  absl::string_view items;
  Resource items_resource;
  Resource bytes_resource;
};

constexpr Words kKindWords[] = {
    {"the deadline passed before the answer",  // perhaps of a call without a frame
     "frames", Resource::kFrames, Resource::kFrameBytes},
    {"the deadline passed before the matches were", "requests", Resource::kMatches,
     Resource::kMatchBytes},
    {"the frame's deadline passed before its tracks were", "frames", Resource::kTracks,
     Resource::kTrackBytes},
};

const Words& WordsFor(WorkKind kind) { return kKindWords[static_cast<size_t>(kind)]; }

}  // namespace

Resource ItemsOf(WorkKind kind) { return WordsFor(kind).items_resource; }
Resource BytesOf(WorkKind kind) { return WordsFor(kind).bytes_resource; }

absl::Status LateStatus(WorkKind kind) {
  return MakeError(ErrorReason::kDeadlineExceeded, WordsFor(kind).late);
}

absl::Status CancelledStatus() {
  return MakeError(ErrorReason::kCancelled, "the client cancelled");
}

absl::Status GoneStatus(WorkKind kind, SteadyTime now, SteadyTime deadline) {
  return now >= deadline ? LateStatus(kind) : CancelledStatus();
}

absl::Status InTime(WorkKind kind, absl::Status status, SteadyTime now, SteadyTime deadline) {
  return status.ok() && now >= deadline ? LateStatus(kind) : status;
}

absl::Status DrainingStatus() {
  return MakeError(ErrorReason::kDraining, "this server is about to stop; send to another one");
}

absl::Status NoMemoryStatus(WorkKind kind) {
  return MakeError(ErrorReason::kOutOfMemory,
                   absl::StrCat("no memory left for a batch of ", WordsFor(kind).items));
}

}  // namespace orbserve
