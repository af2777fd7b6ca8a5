// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_RPC_REASON_OF_FAILURE_H_
#define ORBSERVE_TESTS_SERVER_RPC_REASON_OF_FAILURE_H_

#include "absl/status/status.h"
#include "features/errors.h"
#include "gtest/gtest.h"

namespace orbserve {

// The reason of `status`, which must not be OK.
inline ErrorReason ReasonOfFailure(const absl::Status& status) {
  EXPECT_FALSE(status.ok());
  return ReasonOf(status);
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_RPC_REASON_OF_FAILURE_H_
