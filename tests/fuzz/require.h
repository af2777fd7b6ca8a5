// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_FUZZ_REQUIRE_H_
#define ORBSERVE_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"

namespace orbserve {

// Ends the fuzzer, which keeps the input, where a promise does not hold.
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// An error has to say what is wrong.
inline void RequireReason(const absl::Status& status) {
  Require(status.ok() || !status.message().empty(), "an error has a reason in words");
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_FUZZ_REQUIRE_H_
