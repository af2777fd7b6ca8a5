// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_USE_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_USE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "server/clients/client_id.h"

namespace orbserve {

// Counts what an open stream has done so far, for the people who run the server.
struct StreamUse {
  // The parts of a frame's result that are shown. All zero for a frame without features.
  struct Seen {
    int features = 0;
    int width_px = 0;
    int height_px = 0;
  };

  uint64_t id = 0;  // 0 = it has no place yet
  ClientId client;
  std::string preset;  // of its pipeline; empty until it is opened
  std::chrono::nanoseconds age{};
  int64_t received = 0;  // frames
  int64_t ok = 0;
  int64_t dropped = 0;  // by the drop policy
  int64_t failed = 0;   // otherwise
  int in_flight = 0;
  int waiting = 0;
  // The last frame that ended well took so long; zero before the first one.
  std::chrono::nanoseconds latency{};
  int features = 0;
  int width_px = 0;
  int height_px = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_USE_H_
