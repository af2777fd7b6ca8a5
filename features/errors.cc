// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/errors.h"

#include <string>

#include "absl/strings/cord.h"

namespace orbserve {
namespace {

// Names the reason among a status' payloads.
constexpr absl::string_view kReasonPayload = "orbserve.v1.reason";

constexpr bool TableFollowsEnum() {
  for (size_t i = 0; i < kErrorReasons.size(); ++i) {
    if (static_cast<size_t>(kErrorReasons[i].reason) != i) return false;
  }
  return static_cast<size_t>(ErrorReason::kInternal) + 1 == kErrorReasons.size();
}
static_assert(TableFollowsEnum());

}  // namespace

absl::Status MakeError(ErrorReason reason, absl::string_view message) {
  const ErrorReasonInfo& info = InfoOf(reason);
  absl::Status status(info.code, message);
  status.SetPayload(kReasonPayload, absl::Cord(info.name));
  return status;
}

ErrorReason ReasonOf(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kReasonPayload); payload.has_value()) {
    for (const ErrorReasonInfo& info : kErrorReasons) {
      if (*payload == info.name) return info.reason;
    }
  }
  for (const ErrorReasonInfo& info : kErrorReasons) {
    if (info.code == status.code()) return info.reason;
  }
  return ErrorReason::kInternal;
}

}  // namespace orbserve
