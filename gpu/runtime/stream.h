// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Owners of streams, events and graphs. Each belongs to the device that was current when it was
// made, and every call is made with that device current; destructors see to it themselves.

#ifndef ORBSERVE_GPU_RUNTIME_STREAM_H_
#define ORBSERVE_GPU_RUNTIME_STREAM_H_

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace orbserve::gpu {

// A stream that does not wait for the default stream.
class Stream {
 public:
  // Blocks of kernels in streams of high priority start before those of other streams that wait.
  // Kernels that run are not stopped, and copies have no priority.
  enum class Priority { kLow, kHigh };

  Stream() = default;
  static absl::StatusOr<Stream> Create(Priority priority = Priority::kHigh);
  ~Stream();
  Stream(Stream&& other) noexcept { *this = std::move(other); }
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  cudaStream_t get() const { return stream_; }

 private:
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  enum class Timing { kOff, kOn };

  Event() = default;
  static absl::StatusOr<Event> Create(Timing timing);
  ~Event();
  Event(Event&& other) noexcept { *this = std::move(other); }
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  cudaEvent_t get() const { return event_; }

  absl::Status Record(cudaStream_t stream) const;

  // Waits until everything recorded before the event is done. Asks again and again for
  // `spin` (a sleeping thread wakes up some microseconds late), then between short sleeps.
  // UNAVAILABLE (DEVICE_LOST) after `deadline`, or when the device reports an error.
  absl::Status Wait(std::chrono::steady_clock::time_point deadline,
                    std::chrono::microseconds spin) const;

  // Nanoseconds of device time from `begin` to this event, both recorded with timing and done.
  absl::StatusOr<int64_t> ElapsedSince(const Event& begin) const;

 private:
  int device_ = 0;
  cudaEvent_t event_ = nullptr;
};

// A sequence of launches that is submitted with one call.
class Graph {
 public:
  Graph() = default;
  // Records what `enqueue` puts on the stream that it is given. `enqueue` must not wait for it.
  static absl::StatusOr<Graph> Capture(cudaStream_t stream,
                                       absl::FunctionRef<absl::Status(cudaStream_t)> enqueue);
  ~Graph();
  Graph(Graph&& other) noexcept { *this = std::move(other); }
  Graph& operator=(Graph&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(executable_, other.executable_);
    std::swap(nodes_, other.nodes_);
    return *this;
  }
  bool empty() const { return executable_ == nullptr; }
  size_t nodes() const { return nodes_; }

  absl::Status Launch(cudaStream_t stream) const;

 private:
  int device_ = 0;
  cudaGraphExec_t executable_ = nullptr;
  size_t nodes_ = 0;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_STREAM_H_
