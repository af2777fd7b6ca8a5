// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_account.h"

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/clients/identity.h"
#include "server/process/log.h"

namespace orbserve {

void StreamAccount::Count(const absl::Status& told, std::chrono::nanoseconds latency,
                          const Seen& seen) {
  if (!told.ok()) {
    ++(ReasonOf(told) == ErrorReason::kDropped ? dropped_ : failed_);
    return;
  }
  ++ok_;
  last_latency_ns_ = latency.count();
  last_features_ = seen.features;
  if (seen.width_px == 0) return;
  last_width_px_ = seen.width_px;
  last_height_px_ = seen.height_px;
}

void StreamAccount::FillIn(StreamUse* use) const {
  use->ok = ok_;
  use->dropped = dropped_;
  use->failed = failed_;
  use->latency = std::chrono::nanoseconds(last_latency_ns_);
  use->features = last_features_;
  use->width_px = last_width_px_;
  use->height_px = last_height_px_;
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
