// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/turn_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>

#include "server/edge/guard/guard_table.h"
#include "server/edge/guard/read_turn.h"

namespace orbserve {
namespace {

// Part of the processors' time that gRPC may take to read from connections that always have more.
// Their requests need the rest.
constexpr double kReadingPart = 0.5;

}  // namespace

bool TurnTimer::Open() {
  timer_.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  return static_cast<bool>(timer_);
}

void TurnTimer::BeginTurns() {
  uint64_t count = 0;  // makes the timer unreadable until it runs out again
  [[maybe_unused]] const ssize_t size = read(timer_.get(), &count, sizeof(count));
  const Clock::time_point now = Clock::now();
  if (now < next_) {
    constexpr int64_t kSecondNs = 1'000'000'000;
    const int64_t at_ns = std::chrono::nanoseconds(next_.time_since_epoch()).count();
    itimerspec timer = {};
    timer.it_value.tv_sec = at_ns / kSecondNs;
    timer.it_value.tv_nsec = at_ns % kSecondNs;
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
    return;
  }
  static const double processors = std::max(1u, std::thread::hardware_concurrency());
  const int begun = GuardTable::Get().BeginTurns();
  const double taken_ns = begun * double{ReadTurn::kTurnNs} / (kReadingPart * processors);
  next_ = now + std::chrono::nanoseconds(static_cast<int64_t>(taken_ns));
}

}  // namespace orbserve
