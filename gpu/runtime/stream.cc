// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/runtime/stream.h"

#include <sys/prctl.h>

#include <thread>

#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/guarded.h"

namespace orbserve::gpu {
namespace {

// Linux lets a sleeping thread wake up 50 us late unless it is told otherwise.
void SleepPrecisely() {
  constexpr unsigned long kSlackNs = 1000;
  thread_local const int told = prctl(PR_SET_TIMERSLACK, kSlackNs);
  (void)told;
}

// For destructors: what belongs to a device is destroyed with that device current.
template <typename Handle>
void Destroy(int device, Handle handle, cudaError_t (*destroy)(Handle), const char* call) {
  if (handle == nullptr || Leaks()) return;
  UseDevice(device).IgnoreError();  // `destroy` has a result of its own
  LogIfFailed(destroy(handle), call);
}

}  // namespace

absl::StatusOr<Stream> Stream::Create(Priority priority) {
  Stream stream;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaGetDevice(&stream.device_));
  int lowest = 0;  // the larger number; both are 0 on a device without priorities
  int highest = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithPriority(
      &stream.stream_, cudaStreamNonBlocking, priority == Priority::kHigh ? highest : lowest));
  return stream;
}

Stream::~Stream() { Destroy(device_, stream_, &cudaStreamDestroy, "cudaStreamDestroy"); }

absl::StatusOr<Event> Event::Create(Timing timing) {
  Event event;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaGetDevice(&event.device_));
  const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventCreateWithFlags(&event.event_, flags));
  return event;
}

Event::~Event() { Destroy(device_, event_, &cudaEventDestroy, "cudaEventDestroy"); }

absl::Status Event::Record(cudaStream_t stream) const {
  return StatusFromCuda(cudaEventRecord(event_, stream), "cudaEventRecord");
}

absl::Status Event::Wait(std::chrono::steady_clock::time_point deadline,
                         std::chrono::microseconds spin) const {
  constexpr std::chrono::microseconds kPause{20};
  SleepPrecisely();
  const auto spin_until = std::chrono::steady_clock::now() + spin;
  while (true) {
    // Before the query: had this thread been held up in between, the device might be done by now.
    const auto now = std::chrono::steady_clock::now();
    const cudaError_t result = cudaEventQuery(event_);
    if (result != cudaErrorNotReady) return StatusFromCuda(result, "cudaEventQuery");
    // No failure, and yet some runtimes keep it for the check of the thread's next launch.
    (void)cudaGetLastError();
    if (now > deadline) {
      return MakeError(ErrorReason::kDeviceLost, "the device did not finish its work in time");
    }
    if (now > spin_until) std::this_thread::sleep_for(kPause);
  }
}

absl::StatusOr<int64_t> Event::ElapsedSince(const Event& begin) const {
  float milliseconds = 0.0f;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&milliseconds, begin.event_, event_));
  return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

absl::StatusOr<Graph> Graph::Capture(cudaStream_t stream,
                                     absl::FunctionRef<absl::Status(cudaStream_t)> enqueue) {
  Graph graph;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaGetDevice(&graph.device_));
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  // Capturing must end, whatever happens.
  const absl::Status enqueued = Guarded([&] { return enqueue(stream); });
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  // Told by `status`; the thread's next launch must not find it.
  if (ended != cudaSuccess) (void)cudaGetLastError();
  absl::Status status = enqueued.ok() ? StatusFromCuda(ended, "cudaStreamEndCapture") : enqueued;
  if (status.ok()) {
    status =
        StatusFromCuda(cudaGraphGetNodes(captured, nullptr, &graph.nodes_), "cudaGraphGetNodes");
  }
  if (status.ok()) {
    status = StatusFromCuda(cudaGraphInstantiate(&graph.executable_, captured, 0),
                            "cudaGraphInstantiate");
  }
  if (captured != nullptr) LogIfFailed(cudaGraphDestroy(captured), "cudaGraphDestroy");
  if (!status.ok()) return status;
  return graph;
}

Graph::~Graph() { Destroy(device_, executable_, &cudaGraphExecDestroy, "cudaGraphExecDestroy"); }

absl::Status Graph::Launch(cudaStream_t stream) const {
  return StatusFromCuda(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
}

}  // namespace orbserve::gpu
