// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/interrupt.h"

#include <poll.h>

#include <cerrno>
#include <csignal>

namespace orbserve::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set inside a signal handler");

void OnSignal(int) { interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() { return interrupted.load(std::memory_order_relaxed); }

bool AwaitReadable(int fd, const std::atomic<bool>* stop) {
  constexpr int kPollMs = 100;
  while (!Interrupted() && (stop == nullptr || !stop->load(std::memory_order_relaxed))) {
    pollfd input = {.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&input, 1, kPollMs);
    // An error of the descriptor is reported by the read.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
  return false;
}

}  // namespace orbserve::cli
