// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Account of one stream, for the people who run the server: it counts the frames that ended, and
// writes the lines of the log that open and close the stream.

#ifndef ORBSERVE_SERVER_RPC_STREAM_ACCOUNT_H_
#define ORBSERVE_SERVER_RPC_STREAM_ACCOUNT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/types.h"
#include "server/serving/shares/client_id.h"
#include "server/serving/streams/stream_use.h"

namespace orbserve {

// Thread-safe.
class StreamAccount {
 public:
  // A frame ended, `latency` after its arrival. `features`: null for a frame without.
  void Count(const absl::Status& status, std::chrono::nanoseconds latency,
             const Features* features);
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

#endif  // ORBSERVE_SERVER_RPC_STREAM_ACCOUNT_H_
