// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/interrupt.h"

#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "client/cli/exit_code.h"

namespace orbserve::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set inside a signal handler");

// Time for the command to end by itself, microseconds. Together with the end of the process it
// stays below a second.
constexpr suseconds_t kForcedEndUs = 900'000;

// Only functions that a handler of signals may call.
void OnSignal(int) {
  interrupted.store(true, std::memory_order_relaxed);
  const itimerval once = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = kForcedEndUs}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

void OnAlarm(int) {
  constexpr char kText[] = "\norbserve: interrupted; finished outputs are kept\n";
  // A pipe that nobody reads would hold the process up.
  pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&error, 1, 0) == 1) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof(kText) - 1);
  }
  _exit(kExitInterrupted);
}

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = OnAlarm;
  sigaction(SIGALRM, &action, nullptr);
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
