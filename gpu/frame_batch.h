// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_FRAME_BATCH_H_
#define ORBSERVE_GPU_FRAME_BATCH_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "features/backend.h"
#include "features/pipeline/lapping.h"
#include "features/types.h"
#include "gpu/frame/frame_params.h"
#include "gpu/frame/frame_room.h"
#include "gpu/graph_kind.h"
#include "gpu/jpeg/jpeg_upload.h"
#include "gpu/plan.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// The features of an answer; used again once they have no holder.
struct FrameResult {
  Features features;
  size_t HeldBytes() const { return features.HeldBytes(); }
};

// A job of a batch on its way through a lane.
struct FrameWork {
  int place = -1;  // in the batch on the device; -1: not sent there
  FrameRoom room;
  std::shared_ptr<FrameResult> result;
  std::vector<GivenEntry> given;                    // kept keypoints, level pixels
  std::shared_ptr<DeviceBuffer> state_descriptors;  // when the state is wanted
  std::shared_ptr<DeviceBuffer> state_pyramid;      // when it is wanted for tracks
  // Holds the pixels of a frame that lies in a slot of another backend, if the plan reads in place.
  std::shared_ptr<InputSlot> pinned_copy;
  JpegUpload* file = nullptr;  // that the slot holds instead of pixels
  bool undecided = false;      // the host must decode it, and the frame be computed again
};

struct FrameBatch {
  std::shared_ptr<GpuPlan> plan;
  std::vector<FrameJob> jobs;
  FrameBatchDone done;

  FrameBatchAnswer answer;       // as many frames as there are jobs, from the beginning
  std::vector<FrameWork> works;  // also
  GraphKind kind;
  size_t list_bytes = 0;  // of all frames on the device
  int frames_on_device = 0;
  int side = 0;         // of the lane's two sets of pinned memory
  absl::Status status;  // of the launch, then of the wait
};

// Checks one job and fills in its room, the parameters that depend on nothing else, and the part of
// the answer that the host knows. Statuses are those of the CPU backend.
absl::Status PrepareFrame(const CompiledPipeline& pipeline, const FrameJob& job, FrameWork* work,
                          FrameParams* params);

// True when more features of a detection qualified than the answer may hold.
bool IsTruncated(const CompiledPipeline& pipeline, const FrameJob& job, const FrameReport& report);

// True where the lapping area moves rows of the answer. The device has them in the order of the
// detection.
bool MovesLapping(const CompiledPipeline& pipeline, const FrameJob& job);

// Writes the next `count` records and their descriptors to the rows that `rows` gives them.
void CopyLappingRecords(const CompiledPipeline& pipeline, const FeatureRecord* records,
                        const uint8_t* descriptors, int count, LappingRows* rows,
                        Features* features);

// Appends `count` records, of SIFT an algo::SiftFeature each, and their descriptors to the answer's
// columns, from row `first`.
void CopyRecords(const CompiledPipeline& pipeline, const FeatureRecord* records,
                 const uint8_t* descriptors, int first, int count, Features* features);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_BATCH_H_
