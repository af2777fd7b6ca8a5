// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_watch.h"

#include "features/errors.h"

namespace orbserve {
namespace {

constexpr int64_t kShortPercent = 90;
constexpr int64_t kVeryShortPercent = 95;
constexpr int64_t kEnoughPercent = 85;
constexpr size_t kSmallMessageBytes = size_t{1} << 20;
constexpr int64_t kLeastAvailablePercent = 2;

bool IsAbove(int64_t used, int64_t limit, int64_t percent) {
  return limit > 0 && used > limit / 100 * percent;
}

}  // namespace

absl::Status MemoryWatch::Check(size_t message_bytes) const {
  if (!is_short()) return absl::OkStatus();
  if (message_bytes <= kSmallMessageBytes && !is_very_short_.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return MakeError(
      ErrorReason::kOutOfMemory,
      "the server's memory is nearly used up; nothing new is begun until some is free");
}

void MemoryWatch::Look() {
  const MemoryState state = options_.read();
  const bool was_short = is_short();
  const int64_t percent = was_short ? kEnoughPercent : kShortPercent;
  const auto is_above = [&](int64_t most_percent) {
    return IsAbove(state.resident_bytes, options_.limit_bytes, most_percent) ||
           IsAbove(state.address_bytes, options_.address_limit_bytes, most_percent);
  };
  const bool heap_is_short = options_.heap_is_short && options_.heap_is_short();
  is_very_short_.store(heap_is_short || is_above(kVeryShortPercent), std::memory_order_relaxed);
  const bool is_short =
      heap_is_short || is_above(percent) ||
      (state.available_bytes >= 0 &&
       state.available_bytes < options_.limit_bytes / 100 * kLeastAvailablePercent);
  if (is_short == was_short) return;
  is_short_.store(is_short, std::memory_order_relaxed);
  if (options_.on_change) options_.on_change(is_short);
}

}  // namespace orbserve
