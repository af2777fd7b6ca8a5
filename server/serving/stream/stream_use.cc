// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_use.h"

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/clients/identity.h"
#include "server/process/log.h"

namespace orbserve {

void StreamUse::Count(const absl::Status& told, std::chrono::nanoseconds time, const Seen& seen) {
  if (!told.ok()) {
    ++(ReasonOf(told) == ErrorReason::kDropped ? dropped : failed);
    return;
  }
  ++ok;
  latency = time;
  features = seen.features;
  if (seen.width_px == 0) return;
  width_px = seen.width_px;
  height_px = seen.height_px;
}

std::string StreamOpenedLine(uint64_t id, const ClientId& client, absl::string_view preset) {
  return absl::StrCat("event=stream_opened stream=", id, " client=", LogValue(DisplayName(client)),
                      " pipeline=", LogValue(preset));
}

std::string StreamClosedLine(const StreamUse& use, absl::string_view why,
                             absl::string_view message) {
  return absl::StrCat("event=stream_closed stream=", use.id,
                      " client=", LogValue(DisplayName(use.client)), " why=", why,
                      " seconds=", std::chrono::duration<double>(use.age).count(),
                      " frames=", use.received, " ok=", use.ok, " dropped=", use.dropped,
                      " failed=", use.failed, " message=", LogValue(message));
}

}  // namespace orbserve
