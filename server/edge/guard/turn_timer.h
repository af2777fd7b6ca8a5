// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Says when connections whose turn to be read is over get their next one (read_turn.h).

#ifndef ORBSERVE_SERVER_EDGE_GUARD_TURN_TIMER_H_
#define ORBSERVE_SERVER_EDGE_GUARD_TURN_TIMER_H_

#include <chrono>

#include "server/process/file_descriptor.h"

namespace orbserve {

// Used by one thread.
class TurnTimer {
 public:
  // False where the system has none left; errno says why.
  bool Open();
  // Readable when BeginTurns() is to be called.
  int descriptor() const { return timer_.get(); }
  // Begins the next turns, unless the last ones have not had their time: then the descriptor
  // becomes readable when they have.
  void BeginTurns();

 private:
  using Clock = std::chrono::steady_clock;  // that of timerfd

  FileDescriptor timer_;
  Clock::time_point next_{};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_TURN_TIMER_H_
