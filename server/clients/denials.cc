// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/denials.h"

#include "absl/strings/str_cat.h"
#include "server/process/log.h"

namespace orbserve {

void Denials::Add(const Denied& denied, absl::string_view address) {
  const auto index = static_cast<size_t>(denied.cause);
  counts_[index].fetch_add(1, std::memory_order_relaxed);
  LogClientEvent(ClientEvent::kDenied, [&] {
    std::string line =
        absl::StrCat("event=denied cause=", kDenialNames[index], " address=", LogValue(address));
    if (!denied.detail.empty()) absl::StrAppend(&line, " detail=", LogValue(denied.detail));
    return line;
  });
}

}  // namespace orbserve
