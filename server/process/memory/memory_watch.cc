// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_watch.h"

#include <algorithm>

#include "features/errors.h"

namespace orbserve {
namespace {

constexpr int64_t kPressurePercent = 90;
constexpr int64_t kHighPressurePercent = 95;
constexpr int64_t kEnoughPercent = 85;
constexpr size_t kSmallMessageBytes = size_t{1} << 20;
constexpr int64_t kLeastAvailablePercent = 2;
// Workspaces, 30 % of the memory, may be empty now and find room up to kPressurePercent.
constexpr int64_t kRoomyPercent = 60;
constexpr int64_t kRoomyForSmallPercent = 75;

bool IsAbove(int64_t used, int64_t limit, int64_t percent) {
  return limit > 0 && used > limit / 100 * percent;
}

}  // namespace

absl::Status MemoryWatch::Check(size_t message_bytes) const {
  if (!is_under_pressure()) return absl::OkStatus();
  if (message_bytes <= kSmallMessageBytes &&
      !is_under_high_pressure_.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return MakeError(
      ErrorReason::kOutOfMemory,
      "the server's memory is nearly used up; nothing new is begun until some is free");
}

bool MemoryWatch::HasRoomFor(size_t message_bytes) const {
  return used_percent_.load(std::memory_order_relaxed) <
         (message_bytes <= kSmallMessageBytes ? kRoomyForSmallPercent : kRoomyPercent);
}

void MemoryWatch::Look() {
  const MemoryState state = options_.read();
  const auto percent_of = [](int64_t used, int64_t limit) {
    return limit > 0 ? used / std::max<int64_t>(1, limit / 100) : 0;
  };
  const int64_t limit_bytes = options_.limit_bytes;
  const int64_t taken_bytes = state.available_bytes < 0 ? 0 : limit_bytes - state.available_bytes;
  used_percent_.store(std::max({percent_of(state.resident_bytes, limit_bytes),
                                percent_of(state.address_bytes, options_.address_limit_bytes),
                                percent_of(taken_bytes, limit_bytes)}),
                      std::memory_order_relaxed);
  const bool was_under_pressure = is_under_pressure();
  const int64_t percent = was_under_pressure ? kEnoughPercent : kPressurePercent;
  const auto is_above = [&](int64_t most_percent) {
    return IsAbove(state.resident_bytes, options_.limit_bytes, most_percent) ||
           IsAbove(state.address_bytes, options_.address_limit_bytes, most_percent);
  };
  const bool heap_is_exhausted = options_.heap_is_exhausted && options_.heap_is_exhausted();
  is_under_high_pressure_.store(heap_is_exhausted || is_above(kHighPressurePercent),
                                std::memory_order_relaxed);
  const bool is_under_pressure =
      heap_is_exhausted || is_above(percent) ||
      (state.available_bytes >= 0 &&
       state.available_bytes < options_.limit_bytes / 100 * kLeastAvailablePercent);
  if (is_under_pressure == was_under_pressure) return;
  is_under_pressure_.store(is_under_pressure, std::memory_order_relaxed);
  if (options_.on_change) options_.on_change(is_under_pressure);
}

}  // namespace orbserve
