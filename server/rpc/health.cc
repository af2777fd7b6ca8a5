// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/health.h"

#include "features/errors.h"

namespace orbserve {
namespace {

constexpr char kServiceName[] = "orbserve.v1.Features";

}  // namespace

void Health::Attach(grpc::HealthCheckServiceInterface* service) {
  absl::MutexLock lock(&mutex_);
  service_ = service;
  if (device_lost_) Show(false);
}

void Health::Start() {
  absl::MutexLock lock(&mutex_);
  Show(!device_lost_);
}

void Health::BeginDrain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  Show(false);
}

bool Health::SetStalled(bool stalled) {
  absl::MutexLock lock(&mutex_);
  if (closed_ || draining_ || device_lost_) return false;
  device_stalled_ = stalled;
  Show(!stalled);
  return true;
}

void Health::SetLost(absl::FunctionRef<void()> then) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return;
  device_lost_ = true;
  Show(false);
  then();
}

void Health::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  service_ = nullptr;
}

absl::Status Health::Ready() const {
  if (device_lost_) return MakeError(ErrorReason::kDeviceLost, "a device was lost");
  if (draining_) return MakeError(ErrorReason::kDraining, "draining");
  if (device_stalled_) {
    return MakeError(ErrorReason::kDeviceLost, "a device does not answer at the moment");
  }
  return absl::OkStatus();
}

void Health::Show(bool serving) {
  if (service_ == nullptr) return;
  service_->SetServingStatus(kServiceName, serving);
  service_->SetServingStatus(serving);  // "" and every service that is known
}

}  // namespace orbserve
