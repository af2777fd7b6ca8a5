// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/drain.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>
#include <thread>

#include "features/errors.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// Time in which cut calls may unwind at the end of a drain.
constexpr milliseconds kUnwindTime{2000};
// After a device is lost: time to refuse the frames that the CPU backend could not answer, and time
// for all answers to leave.
constexpr milliseconds kRefusalTime{200};
constexpr milliseconds kLossUnwindTime{200};
// Time in which gRPC closes connections whose calls are cut.
constexpr milliseconds kCloseTime{200};

}  // namespace

void ShutDown(grpc::Server& server, Listener* listener, milliseconds time) {
  if (listener == nullptr) {
    server.Shutdown(system_clock::now() + time);
    return;
  }
  listener->StopAccepting();
  std::promise<void> done;
  std::thread closer;
  try {
    closer = std::thread([listener, time, ended = done.get_future()] {
      ended.wait_for(time + kCloseTime);
      listener->ShutDownConnections();
    });
  } catch (const std::system_error&) {
    // No thread is left for it. Clients that do not go by themselves are only waited for.
  }
  server.Shutdown(system_clock::now() + time);
  if (!closer.joinable()) {
    listener->ShutDownConnections();
    return;
  }
  done.set_value();
  closer.join();
}

bool DrainServer(const DrainParts& parts, const server::Config::Drain& config) {
  const milliseconds timeout(config.timeout_ms());
  std::this_thread::sleep_for(milliseconds(config.delay_ms()));
  const SteadyTime begin = parts.clock->Now();
  const auto left = [&] {
    const auto passed = std::chrono::duration_cast<milliseconds>(parts.clock->Now() - begin);
    return std::max(milliseconds(0), timeout - passed);
  };
  parts.service->Close(ErrorReason::kDraining);
  bool is_quiet = parts.service->WaitUntilQuiet(timeout / 2);
  if (!is_quiet) {
    parts.batcher->BeginDrain();
    parts.service->StopStreams();
    is_quiet = parts.service->WaitUntilQuiet(left() / 2);
  }
  if (!is_quiet) {
    // More was accepted than there is time for: a client that is told so can go elsewhere.
    parts.batcher->FailWaiting(DrainingStatus());
    is_quiet = parts.service->WaitUntilQuiet(left());
  }
  // Answers are on their way when their calls have ended; Shutdown() sends them and cuts the rest.
  ShutDown(*parts.server, parts.listener, is_quiet ? kUnwindTime : left());
  return is_quiet;
}

bool DrainAfterLoss(const DrainParts& parts) {
  bool is_quiet = parts.service->WaitUntilQuiet(kRescueTime + kRefusalTime / 2);
  if (!is_quiet) {
    // These frames wait for a plan or for memory of the lost device, which will never come.
    parts.batcher->FailWaiting(
        MakeError(ErrorReason::kDeviceLost, "a device was lost before the frame was prepared"));
    is_quiet = parts.service->WaitUntilQuiet(kRefusalTime);
  }
  ShutDown(*parts.server, parts.listener, kLossUnwindTime);
  return is_quiet;
}

}  // namespace orbserve
