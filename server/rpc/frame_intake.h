// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The way of a frame from the wire into the batcher: admission, checks, plan, lease, pixels.
//
// The frame is admitted first, so that it is counted and bounded before it costs anything. Small
// raw images are copied into their slot by the calling thread (one copy, tens of microseconds, and
// from where gRPC received them if the caller left them there); JPEG files and large images are
// decoded by the worker pool, clients taking turns, so that gRPC's threads are never held up.

#ifndef ORBSERVE_SERVER_RPC_FRAME_INTAKE_H_
#define ORBSERVE_SERVER_RPC_FRAME_INTAKE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "features/backend.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/decode/image_decoder.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/serving/batcher.h"
#include "server/serving/plan_cache.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

struct FrameSource {
  std::string client;
  SteadyTime deadline = kNever;
  std::shared_ptr<const ResolvedPipeline> pipeline;
  std::shared_ptr<const v1::Frame> frame;  // shares the ownership of its message
  // The frame's pixels where they are not in `frame`, borrowed until Submit() returns.
  absl::Span<const BytePiece> pixels;
  // Of the message that the frame came with, `pixels` included, where it has more in it than the
  // frame.
  size_t message_bytes = 0;
  bool keep_state = false;
  // Not OK: why the call that the frame came with cannot be served. The frame is counted and fails
  // with it; `pipeline` may be null.
  absl::Status refusal;
};

// What became of a frame, with the part that the batcher does not know.
struct ExtractOutcome {
  FrameOutcome frame;
  std::chrono::nanoseconds decode_time{};
};
using ExtractDone = absl::AnyInvocable<void(ExtractOutcome) &&>;

// Thread-safe. Everything passed to the constructor must outlive it.
class FrameIntake {
 public:
  FrameIntake(FeatureBackend* backend, Batcher* batcher, PlanCache* plans, Executor* executor,
              Metrics* metrics, const ImageLimits& limits);

  // `done` is called exactly once, possibly inside the call, never under a lock. The frame's
  // message is held until its pixels are in their slot or the frame is answered, whichever is
  // first. Returns the ticket for Batcher::Cancel(), 0 when the frame was refused.
  Batcher::Ticket Submit(FrameSource source, ExtractDone done);

 private:
  struct Task;

  void Prepare(const std::shared_ptr<Task>& task);
  absl::Status Check(Task& task, PlanSpec& spec);
  void OnPlan(const std::shared_ptr<Task>& task, PlanCache::PlanOr plan);
  absl::Status FillSlot(Task& task, FrameJob& job);
  void Decode(const std::shared_ptr<Task>& task);

  FeatureBackend* const backend_;
  Batcher* const batcher_;
  PlanCache* const plans_;
  Executor* const executor_;
  Metrics* const metrics_;
  const ImageLimits limits_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_FRAME_INTAKE_H_
