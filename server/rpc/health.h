// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_HEALTH_H_
#define ORBSERVE_SERVER_RPC_HEALTH_H_

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/health_check_service_interface.h"

namespace orbserve {

// Health of the server, as gRPC's health service reports it; /readyz also wants the self-check
// (server.cc). A lost device and a drain are final; a device that stalls may answer again.
// Thread-safe.
class Health {
 public:
  // The health service of the server that has just been built, or null. Until Start() it changes
  // only when a device is lost.
  void Attach(grpc::HealthCheckServiceInterface* service) ABSL_LOCKS_EXCLUDED(mutex_);
  // The server is complete: SERVING, unless a device was lost already.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on NOT_SERVING, because the server is about to stop.
  void BeginDrain() ABSL_LOCKS_EXCLUDED(mutex_);
  // A device does not answer at the moment, or answers again. False when this changes nothing any
  // more, because the server stops or a device is lost.
  bool SetStalled(bool stalled) ABSL_LOCKS_EXCLUDED(mutex_);
  // A device is lost: NOT_SERVING, then calls `then` under the lock. Ignored after Close().
  void SetLost(absl::FunctionRef<void()> then) ABSL_LOCKS_EXCLUDED(mutex_);
  // The server is being destroyed. Waits for a SetLost() in progress; later events are ignored and
  // the health service is not used any more.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  bool draining() const { return draining_; }
  bool device_stalled() const { return device_stalled_; }
  bool device_lost() const { return device_lost_; }
  // OK, or why no requests are taken: DRAINING, DEVICE_LOST. Takes no lock.
  absl::Status Ready() const;

 private:
  void Show(bool serving) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  grpc::HealthCheckServiceInterface* service_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Written under the lock, read without it.
  std::atomic<bool> draining_{false};
  std::atomic<bool> device_stalled_{false};
  std::atomic<bool> device_lost_{false};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_HEALTH_H_
