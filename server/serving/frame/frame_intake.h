// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brings a frame into the batcher: admission, checks, plan, lease, pixels.
//
// A frame is admitted first, so that it is counted and bounded before it costs anything. It may
// wait between its admission and its begin, when it costs only its memory. The thread that
// begins it copies small raw images into their slot: one copy of tens of microseconds, straight
// from gRPC's buffer if the input left the pixels there. The worker pool decodes JPEG files and
// large images, clients sharing it by the time that this takes, so that gRPC's threads are never
// held up. Idle workers help to decode a JPEG file that is the only frame of the server.

#ifndef ORBSERVE_SERVER_SERVING_FRAME_FRAME_INTAKE_H_
#define ORBSERVE_SERVER_SERVING_FRAME_FRAME_INTAKE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "decode/image_decoder.h"
#include "features/backend.h"
#include "server/serving/batcher.h"
#include "server/serving/frame/frame_record.h"
#include "server/serving/plan_cache.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

// Copies a mask into `out`, which has its size.
void CopyMask(const ImageView& mask, const MutableImageView& out);

// Thread-safe. Everything passed to the constructor must outlive it.
class FrameIntake {
 public:
  // For Begin(). Expires when the input is freed: the frame is decoded, or has ended.
  using Admitted = std::weak_ptr<FrameInput>;
  // The refusal of a message of so many bytes that has a place in the queue; OK if it may wait.
  using CheckRoom = std::function<absl::Status(int64_t message_bytes)>;

  FrameIntake(FeatureBackend* backend, Batcher* batcher, PlanCache* plans, Executor* executor,
              const ImageLimits& limits, CheckRoom check_room = nullptr);

  // Admits a frame, which then waits for Begin(). Its `done` is called exactly once, possibly
  // inside the call. `refusal`: reason why the frame cannot be served, if not OK; it then fails
  // with it. Sets the record's ticket, which stays 0 where there is no place.
  Admitted Admit(const std::shared_ptr<FrameRecord>& frame, const absl::Status& refusal);
  // Begins an admitted frame. Called at most once per frame. Does nothing for a frame that has
  // ended.
  void Begin(const Admitted& frame);
  // Both.
  void Submit(const std::shared_ptr<FrameRecord>& frame, const absl::Status& refusal) {
    Begin(Admit(frame, refusal));
  }

 private:
  using InputPtr = std::shared_ptr<FrameInput>;

  // Calls `work` with the input of a frame that has not ended. Fails the frame with OUT_OF_MEMORY
  // if it throws std::bad_alloc.
  template <typename Work>
  void Guard(const Admitted& frame, const Work& work);
  void Prepare(InputPtr input);
  void OnPlan(InputPtr input, PlanCache::PlanOr plan);
  // `*is_shared`: other workers may have decoded parts of the image.
  absl::Status FillSlot(FrameInput& input, FrameJob& job, bool* is_shared);
  void Decode(InputPtr input);
  WorkRate& DecodeRateOf(const ImageHeader& header) {
    return header.format != PixelFormat::kJpeg ? raw_rate_
           : header.progressive                ? progressive_rate_
                                               : jpeg_rate_;
  }

  FeatureBackend* const backend_;
  Batcher* const batcher_;
  PlanCache* const plans_;
  Executor* const executor_;
  const ImageLimits limits_;
  const CheckRoom check_room_;                        // may be null
  const std::shared_ptr<const FileDecoder> decoder_;  // within the limits
  // The rates say what decoding took, in relation to DecodeWork().
  WorkRate raw_rate_, jpeg_rate_, progressive_rate_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_FRAME_FRAME_INTAKE_H_
