// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_QUEUE_USE_H_
#define ORBSERVE_SERVER_SERVING_QUEUE_USE_H_

#include <cstdint>

namespace orbserve {

// Use of a queue of work at one moment, beside its bounds.
struct QueueUse {
  int64_t items = 0;  // admitted and not yet handed to the backend
  int64_t bytes = 0;  // memory that these items hold
  int64_t max_items = 0;
  int64_t max_bytes = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_QUEUE_USE_H_
