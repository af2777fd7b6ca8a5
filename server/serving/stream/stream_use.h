// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_USE_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_USE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
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

  // A frame ended so long after its arrival.
  void Count(const absl::Status& told, std::chrono::nanoseconds time, const Seen& seen);

  uint64_t id = 0;
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

// Lines of the log. `why`: one word; `message`: of the status that the client got.
std::string StreamOpenedLine(uint64_t id, const ClientId& client, absl::string_view preset);
std::string StreamClosedLine(const StreamUse& use, absl::string_view why,
                             absl::string_view message);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_USE_H_
