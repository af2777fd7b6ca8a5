// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One frame, from its admission until its answer is handed to rpc/. Everybody who works on the
// frame works on this record; a frame of a stream adds what its stream knows (stream_frame.h).
//
// clang-format off
// state      who moves the frame here                              who may end it there
// admitted   FrameIntake::Admit(): a place in the queue, a ticket  deadline, client, drain
// waiting    Stream::Take(): no place in flight (streams only)     the same, drop policy
// decoding   FrameIntake::Begin(): checks, plan, lease, pixels     the same, what the client sent
// queued     Batcher::Ready(): in the queue of its plan            deadline, client, drain
// computing  Batcher: in a batch, with the backend                 deadline, backend
// matching   FrameSequence: in order, with its tracks (streams)    deadline, backend
// done       whoever ends it; OK: Batcher, for streams HandOver()  -
// clang-format on
//
// A frame only moves down this table, and is done once. The queue's lock decides who ends a frame
// up to `computing`; the lock of the stream decides from there on.
//
// Memory. The input is freed when its pixels are in their slot, and the job, the memory for
// decoding and the input when the frame ends before. What is left is the outcome.

#ifndef ORBSERVE_SERVER_SERVING_FRAME_FRAME_RECORD_H_
#define ORBSERVE_SERVER_SERVING_FRAME_FRAME_RECORD_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "decode/image_decoder.h"
#include "features/backend.h"
#include "features/image_view.h"
#include "features/options.h"
#include "server/clients/client_id.h"
#include "server/clients/fair_queue.h"
#include "server/serving/stream/stream_pictures.h"
#include "server/serving/work_queue.h"
#include "server/telemetry/frame_times.h"

namespace orbserve {

// Outcome of a frame's features.
struct FrameOutcome {
  absl::Status status;
  std::shared_ptr<const Features> features;  // when OK
  std::shared_ptr<const FrameState> state;   // when OK and asked for
  // Its batch. Zero for a frame that was never launched.
  BatchCost cost;
  int batch_frames = 0;
  StageTimes stages;  // as in FrameAnswer
  // The thread that makes the record begins them. They belong to the queue until `done`, then to
  // the owner.
  FrameTimes times;
  // Estimate of this frame's share of the batch's energy, where the device's power is known.
  std::optional<double> energy_joules;
};

// What the client sent of a frame, and how far it was read. rpc/ derives the owner of the bytes.
// One thread at a time uses it: the one that begins the frame, then those of plans and decoding.
class FrameInput {
 public:
  virtual ~FrameInput() = default;

  // Checks what the client sent, and sets the members of the second group.
  virtual absl::Status Read(const ImageLimits& limits) = 0;
  // The pieces of the image were copied, and are not read again.
  virtual void FreePieces() {}

  ClientId client;
  std::shared_ptr<const PipelineOptions> pipeline;  // null for a frame that is refused
  KeepState keep_state = KeepState::kNone;
  // Levels of the pyramid of KeepState::kPyramid. Such a frame's answer has all winners of its
  // cells (features/tracking/winners.h).
  int track_levels = 0;
  std::shared_ptr<StreamPicture> picture;  // the frame is drawn into it; null = it is not drawn

  // Set by Read(). Image and mask are borrowed from the object.
  FrameParameters parameters;
  std::shared_ptr<const GivenKeypoints> given_keypoints;
  EncodedImage image;
  ImageHeader header;
  ImageView mask;  // of the image's size; empty = none

 private:
  friend class FrameIntake;

  // Copies the pieces of the image, so that FreePieces() may be called.
  void KeepPixels();

  WorkTicket ticket_ = 0;
  std::string pixels_;        // copy made by KeepPixels()
  double decode_work_ = 0.0;  // when it goes to the worker pool
  std::shared_ptr<FeaturePlan> plan_;
  std::shared_ptr<TaskMemory> memory_;  // of a frame that goes to the worker pool
  int64_t kept_bytes_ = 0;              // of `memory_`, once the frame is decoded
};

struct FrameRecord;
struct PlanOfFrames;  // internal to the batcher
// Called once, never under a lock, with the outcome in the record.
using FrameDone = absl::AnyInvocable<void(FrameRecord&) &&>;

struct FrameRecord : WorkItem {
  // Of whoever makes the record.
  int64_t message_bytes = 0;  // memory that it holds until it is launched
  FrameDone done;
  std::shared_ptr<FrameInput> input;  // null once it was read or is not needed

  FrameOutcome outcome;  // complete when `done` is called

  // Of the batcher.
  FrameJob job;       // from Ready() to the launch
  double work = 0.0;  // FrameWork(); set by Ready()
  std::shared_ptr<TaskMemory> memory;
  PlanOfFrames* plan = nullptr;  // the queue in which it stands
  FairQueue<FrameRecord*>::Handle place;
  std::list<FrameRecord*>::iterator age;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_FRAME_FRAME_RECORD_H_
