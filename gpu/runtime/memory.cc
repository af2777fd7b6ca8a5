// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/runtime/memory.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace orbserve::gpu {
namespace {

absl::Status TakeFrom(MemoryBudget* budget, size_t bytes) {
  if (budget == nullptr || budget->TryTake(static_cast<int64_t>(bytes))) return absl::OkStatus();
  return MakeError(ErrorReason::kOutOfMemory,
                   absl::StrCat("the memory limit of the device leaves ", budget->left_bytes(),
                                " bytes; needed ", bytes));
}

}  // namespace

std::shared_ptr<MemoryBudget> MemoryBudget::PartOf(std::shared_ptr<MemoryBudget> whole) {
  auto part = std::make_shared<MemoryBudget>(whole->limit_bytes());
  part->whole_ = std::move(whole);
  return part;
}

std::shared_ptr<MemoryBudget> MemoryBudget::Unlimited() {
  return std::make_shared<MemoryBudget>(std::numeric_limits<int64_t>::max());
}

bool MemoryBudget::TryTake(int64_t bytes) {
  if (whole_ != nullptr && !whole_->TryTake(bytes)) return false;
  int64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ - used) {
      if (whole_ != nullptr) whole_->Return(bytes);
      return false;
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void MemoryBudget::Return(int64_t bytes) {
  used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (whole_ != nullptr) whole_->Return(bytes);
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::Create(int device, size_t bytes,
                                                  std::shared_ptr<MemoryBudget> budget) {
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  ORBSERVE_RETURN_IF_ERROR(TakeFrom(budget.get(), bytes));
  absl::Status status = UseDevice(device);
  void* data = nullptr;
  if (status.ok()) status = StatusFromCuda(cudaMalloc(&data, bytes), "cudaMalloc");
  if (!status.ok()) {
    if (budget != nullptr) budget->Return(static_cast<int64_t>(bytes));
    return status;
  }
  buffer.device_ = device;
  buffer.data_ = static_cast<uint8_t*>(data);
  buffer.size_bytes_ = bytes;
  buffer.budget_ = std::move(budget);
  return buffer;
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::CreateCopyOf(int device, absl::Span<const uint8_t> host,
                                                        std::shared_ptr<MemoryBudget> budget) {
  ORBSERVE_ASSIGN_OR_RETURN(DeviceBuffer buffer, Create(device, host.size(), std::move(budget)));
  if (host.empty()) return buffer;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemcpy(buffer.data(), host.data(), host.size(), cudaMemcpyHostToDevice));
  // A copy from pageable memory may return before the last of it has arrived, and streams that do
  // not block are not ordered after it.
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(nullptr));
  return buffer;
}

absl::Status DeviceBuffer::Enlarge(size_t bytes) {
  const size_t former = size_bytes_;
  ORBSERVE_RETURN_IF_ERROR(TakeFrom(budget_.get(), bytes - former));
  const auto give_back = [&](size_t count) {
    if (budget_ != nullptr) budget_->Return(static_cast<int64_t>(count));
  };
  absl::Status status = UseDevice(device_);
  if (!status.ok()) {
    give_back(bytes - former);
    return status;
  }
  LogIfFailed(cudaFree(std::exchange(data_, nullptr)), "cudaFree");
  void* data = nullptr;
  size_bytes_ = bytes;
  status = StatusFromCuda(cudaMalloc(&data, bytes), "cudaMalloc");
  if (!status.ok()) {
    give_back(bytes - former);
    size_bytes_ = former;
    if (!StatusFromCuda(cudaMalloc(&data, former), "cudaMalloc").ok()) {
      give_back(former);
      size_bytes_ = 0;
      data = nullptr;
    }
  }
  data_ = static_cast<uint8_t*>(data);
  return status;
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  device_ = other.device_;
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  budget_ = std::move(other.budget_);
  return *this;
}

void DeviceBuffer::Reset() noexcept {
  if (data_ == nullptr) return;
  if (!Leaks()) {
    UseDevice(device_).IgnoreError();  // cudaFree has a result of its own
    LogIfFailed(cudaFree(data_), "cudaFree");
  }
  if (budget_ != nullptr) budget_->Return(static_cast<int64_t>(size_bytes_));
  data_ = nullptr;
  size_bytes_ = 0;
  budget_.reset();
}

absl::StatusOr<PinnedBuffer> PinnedBuffer::Create(size_t bytes,
                                                  std::shared_ptr<MemoryBudget> budget) {
  PinnedBuffer buffer;
  if (bytes == 0) return buffer;
  ORBSERVE_RETURN_IF_ERROR(TakeFrom(budget.get(), bytes));
  void* data = nullptr;
  absl::Status status = StatusFromCuda(cudaGetDevice(&buffer.device_), "cudaGetDevice");
  if (status.ok()) {
    status = StatusFromCuda(
        cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
  }
  if (!status.ok()) {
    if (budget != nullptr) budget->Return(static_cast<int64_t>(bytes));
    return status;
  }
  std::memset(data, 0, bytes);
  buffer.data_ = static_cast<uint8_t*>(data);
  buffer.size_bytes_ = bytes;
  buffer.budget_ = std::move(budget);
  return buffer;
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  device_ = other.device_;
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  budget_ = std::move(other.budget_);
  return *this;
}

void PinnedBuffer::Reset() noexcept {
  if (data_ == nullptr) return;
  if (!Leaks()) {
    UseDevice(device_).IgnoreError();  // as above
    LogIfFailed(cudaFreeHost(data_), "cudaFreeHost");
  }
  if (budget_ != nullptr) budget_->Return(static_cast<int64_t>(size_bytes_));
  data_ = nullptr;
  size_bytes_ = 0;
  budget_.reset();
}

}  // namespace orbserve::gpu
