// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brings a frame from the wire into the batcher: admission, checks, plan, lease, pixels.
//
// A frame is admitted first, so that it is counted and bounded before it costs anything. It may
// wait between its admission and its begin, when it costs only its memory. The thread that
// begins it copies small raw images into their slot: one copy of tens of microseconds, straight
// from gRPC's buffer if the caller left the pixels there. The worker pool decodes JPEG files and
// large images, clients sharing it by the time that this takes, so that gRPC's threads are never
// held up.

#ifndef ORBSERVE_SERVER_RPC_FRAME_INTAKE_H_
#define ORBSERVE_SERVER_RPC_FRAME_INTAKE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "features/backend.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/client_activity.h"
#include "server/clients/client_id.h"
#include "server/decode/image_decoder.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/serving/batcher.h"
#include "server/serving/plan_cache.h"
#include "server/serving/stream/stream_pictures.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

struct FrameSource {
  ClientId client;
  SteadyTime deadline = kNever;
  std::shared_ptr<const ResolvedPipeline> pipeline;
  std::shared_ptr<const v1::Frame> frame;  // shares the ownership of its message
  // Pixels of the frame if they are not in `frame`. Borrowed until Submit() returns; of a frame
  // that waits, until it was begun or answered.
  absl::Span<const BytePiece> pixels;
  // Size of the enclosing message with `pixels`, if the frame is only part of it.
  size_t message_bytes = 0;
  KeepState keep_state = KeepState::kNone;
  // Levels of the pyramid of KeepState::kPyramid. Such a frame's answer has all winners of its
  // cells (features/tracking/winners.h).
  int track_levels = 0;
  // Reason why the frame's call cannot be served, if not OK. The frame is then counted and fails
  // with it, and `pipeline` may be null.
  absl::Status refusal;
  // The decoded frame is drawn into it. Null = the frame is not drawn.
  std::shared_ptr<StreamPicture> picture;
};

// Outcome of a frame: the batcher's, and the time of decoding.
struct ExtractOutcome {
  FrameOutcome frame;
  std::chrono::nanoseconds decode_time{};
};
using ExtractDone = absl::AnyInvocable<void(ExtractOutcome) &&>;

// Thread-safe. Everything passed to the constructor must outlive it.
class FrameIntake {
  struct Task;

 public:
  // A frame that was admitted. It holds nothing, and may be dropped at any time.
  class Admitted {
   public:
    Admitted() = default;
    // For Batcher::Cancel(), 0 when the frame was refused.
    Batcher::Ticket ticket() const { return ticket_; }

   private:
    friend class FrameIntake;
    std::weak_ptr<Task> task_;  // expires when the frame is answered
    Batcher::Ticket ticket_ = 0;
  };

  FrameIntake(FeatureBackend* backend, Batcher* batcher, PlanCache* plans, Executor* executor,
              Metrics* metrics, ClientActivity* clients, const ImageLimits& limits);

  // Admits a frame, which then waits for Begin(). Calls `done` exactly once, possibly inside the
  // call, never under a lock. Holds the frame's message until its pixels are in their slot or the
  // frame is answered.
  Admitted Admit(FrameSource source, ExtractDone done);
  // Begins an admitted frame. Called at most once per frame. Does nothing for a frame that was
  // refused or is answered already.
  void Begin(const Admitted& frame);
  // Both. Returns the ticket for Batcher::Cancel(), 0 when the frame was refused.
  Batcher::Ticket Submit(FrameSource source, ExtractDone done);

 private:
  // Calls `work`. Fails the frame with OUT_OF_MEMORY if it throws std::bad_alloc.
  template <typename Work>
  void Guard(const std::shared_ptr<Task>& task, const Work& work);
  void Prepare(const std::shared_ptr<Task>& task);
  absl::Status Check(Task& task, PlanSpec& spec);
  void OnPlan(const std::shared_ptr<Task>& task, PlanCache::PlanOr plan);
  absl::Status FillSlot(Task& task, FrameJob& job);
  void Decode(const std::shared_ptr<Task>& task);
  WorkRate& DecodeRateOf(const ImageHeader& header) {
    return header.format != PixelFormat::kJpeg ? raw_rate_
           : header.progressive                ? progressive_rate_
                                               : jpeg_rate_;
  }

  FeatureBackend* const backend_;
  Batcher* const batcher_;
  PlanCache* const plans_;
  Executor* const executor_;
  Metrics* const metrics_;
  ClientActivity* const clients_;
  const ImageLimits limits_;
  // The rates say what decoding took, in relation to DecodeWork().
  WorkRate raw_rate_, jpeg_rate_, progressive_rate_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_FRAME_INTAKE_H_
