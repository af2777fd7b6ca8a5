// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Account of one stream, for the people who run the server: it counts the frames that ended, and
// writes the lines of the log that open and close the stream.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_ACCOUNT_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_ACCOUNT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/clients/client_id.h"
#include "server/serving/stream/stream_use.h"

namespace orbserve {

// Thread-safe.
class StreamAccount {
 public:
  // The parts of a frame's result that the account shows. All zero for a frame without features.
  struct Seen {
    int features = 0;
    int width_px = 0;
    int height_px = 0;
  };

  // A frame ended, `latency` after its arrival.
  void Count(const absl::Status& told, std::chrono::nanoseconds latency, const Seen& seen);
  // Sets the members that the account knows: the frames that ended, and the last one.
  void FillIn(StreamUse* use) const;

 private:
  std::atomic<int64_t> ok_{0}, dropped_{0}, failed_{0};
  std::atomic<int64_t> last_latency_ns_{0};
  std::atomic<int> last_features_{0}, last_width_px_{0}, last_height_px_{0};
};

// Lines of the log. `why`: one word; `message`: of the status that the client got.
std::string StreamOpenedLine(uint64_t id, const ClientId& client, absl::string_view preset);
std::string StreamClosedLine(const StreamUse& use, absl::string_view why,
                             absl::string_view message);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_ACCOUNT_H_
