// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_COARSE_CLOCK_H_
#define ORBSERVE_SERVER_EDGE_COARSE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace orbserve {

// Milliseconds of a clock that does not go back and costs next to nothing.
inline int64_t CoarseNowMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_COARSE_CLOCK_H_
