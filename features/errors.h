// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The one table of error reasons. Inside the program an error is an absl::Status that carries its
// reason; the edge turns it into the wire's Status message and into a metric label.

#ifndef ORBSERVE_FEATURES_ERRORS_H_
#define ORBSERVE_FEATURES_ERRORS_H_

#include <array>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

enum class ErrorReason {
  kBadOptions,        // an option is out of range or options contradict each other
  kBadImage,          // the image cannot be decoded, or its declared size does not match its bytes
  kBadRequest,        // the message itself is wrong: no frame, a second opening message, ...
  kTooLarge,          // over a permanent limit of this server
  kUnsupported,       // known, and not available in this server
  kQueueFull,         // transient
  kQuotaExceeded,     // transient
  kOutOfMemory,       // transient
  kDeadlineExceeded,  // late; never launched if late before launch
  kCancelled,         // the client went away
  kDraining,          // the server is about to stop
  kDeviceLost,        // the device does not answer any more
  kDropped,           // the stream's drop policy let another frame take its place
  kReferenceNotFound,
  kUnauthenticated,
  kInternal,  // our own bug
};

struct ErrorReasonInfo {
  ErrorReason reason;
  absl::string_view name;  // on the wire and in metric labels
  absl::StatusCode code;
  int retry_after_ms;  // 0 = a new try makes no sense
};

// Every reason once, in the order of the enum.
inline constexpr std::array<ErrorReasonInfo, 16> kErrorReasons = {{
    {ErrorReason::kBadOptions, "BAD_OPTIONS", absl::StatusCode::kInvalidArgument, 0},
    {ErrorReason::kBadImage, "BAD_IMAGE", absl::StatusCode::kInvalidArgument, 0},
    {ErrorReason::kBadRequest, "BAD_REQUEST", absl::StatusCode::kInvalidArgument, 0},
    {ErrorReason::kTooLarge, "TOO_LARGE", absl::StatusCode::kInvalidArgument, 0},
    {ErrorReason::kUnsupported, "UNSUPPORTED", absl::StatusCode::kUnimplemented, 0},
    {ErrorReason::kQueueFull, "QUEUE_FULL", absl::StatusCode::kResourceExhausted, 20},
    {ErrorReason::kQuotaExceeded, "QUOTA_EXCEEDED", absl::StatusCode::kResourceExhausted, 100},
    {ErrorReason::kOutOfMemory, "OUT_OF_MEMORY", absl::StatusCode::kResourceExhausted, 100},
    {ErrorReason::kDeadlineExceeded, "DEADLINE_EXCEEDED", absl::StatusCode::kDeadlineExceeded, 0},
    {ErrorReason::kCancelled, "CANCELLED", absl::StatusCode::kCancelled, 0},
    {ErrorReason::kDraining, "DRAINING", absl::StatusCode::kUnavailable, 1000},
    {ErrorReason::kDeviceLost, "DEVICE_LOST", absl::StatusCode::kUnavailable, 3000},
    {ErrorReason::kDropped, "DROPPED", absl::StatusCode::kAborted, 0},
    {ErrorReason::kReferenceNotFound, "REFERENCE_NOT_FOUND", absl::StatusCode::kNotFound, 0},
    {ErrorReason::kUnauthenticated, "UNAUTHENTICATED", absl::StatusCode::kUnauthenticated, 0},
    {ErrorReason::kInternal, "INTERNAL", absl::StatusCode::kInternal, 0},
}};

inline constexpr const ErrorReasonInfo& InfoOf(ErrorReason reason) {
  return kErrorReasons[static_cast<size_t>(reason)];
}

// An error with the code that belongs to `reason`. `message`: what was wrong, what was given, what
// is allowed.
absl::Status MakeError(ErrorReason reason, absl::string_view message);

// The reason that `status` carries; for an error made without one, the reason that fits its code
// (kInternal when none does). `status` must not be OK.
ErrorReason ReasonOf(const absl::Status& status);

}  // namespace orbserve

#define ORBSERVE_STATUS_CONCAT_INNER(a, b) a##b
#define ORBSERVE_STATUS_CONCAT(a, b) ORBSERVE_STATUS_CONCAT_INNER(a, b)

// Returns the status of `expression` from the enclosing function unless it is OK.
#define ORBSERVE_RETURN_IF_ERROR(expression)                                  \
  do {                                                                        \
    if (absl::Status orbserve_status = (expression); !orbserve_status.ok()) { \
      return orbserve_status;                                                 \
    }                                                                         \
  } while (false)

// Assigns the value of the StatusOr `expression` to `lhs`, or returns its status from the enclosing
// function.
#define ORBSERVE_ASSIGN_OR_RETURN(lhs, expression) \
  ORBSERVE_ASSIGN_OR_RETURN_IMPL(ORBSERVE_STATUS_CONCAT(orbserve_or_, __LINE__), lhs, expression)
#define ORBSERVE_ASSIGN_OR_RETURN_IMPL(statusor, lhs, expression) \
  auto statusor = (expression);                                   \
  if (!statusor.ok()) return std::move(statusor).status();        \
  lhs = *std::move(statusor)

#endif  // ORBSERVE_FEATURES_ERRORS_H_
