// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_DRAIN_GATE_H_
#define ORBSERVE_SERVER_RPC_DRAIN_GATE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/status/status.h"
#include "features/errors.h"

namespace orbserve {

// Counts open calls, and refuses new calls once it is closed. Thread-safe.
class DrainGate {
 public:
  // Says whether the call came before Close().
  enum class Ticket { kAccepted, kRefused };

  // Returns the ticket to leave with.
  [[nodiscard]] Ticket Enter();
  void Leave(Ticket ticket);

  // Makes refusal() answer `reason` from now on: kDraining or kDeviceLost. kDeviceLost may follow
  // kDraining, not the other way round.
  void Close(ErrorReason reason);
  // OK while new calls are taken, else the reason of Close().
  absl::Status refusal() const;
  // refusal() for a frame on an open stream. A server that drains still takes it.
  absl::Status frame_refusal() const;

  // Waits until every call that came before Close() has ended, and a tenth of a second more. False
  // when `timeout` passed before. gRPC cancels calls that reach a server while it shuts down.
  // Waiting first gives late calls a status with a reason. Calls that are refused are not waited
  // for: clients may try again as fast as they like.
  bool WaitUntilQuiet(std::chrono::milliseconds timeout);

 private:
  enum class State { kOpen, kDraining, kDeviceLost };
  std::atomic<State> state_{State::kOpen};
  std::mutex mutex_;
  std::condition_variable left_;
  int accepted_ = 0;  // calls with kAccepted that are open
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_DRAIN_GATE_H_
