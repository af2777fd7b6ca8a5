// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The seam between serving and computing. The CPU and the CUDA backend implement it; everything
// above it knows this header only.
//
// Life of a frame: LeaseInput() gives a slot of the backend's own memory, which takes the file or
// into which decoding writes grey pixels, the batcher gathers jobs of one plan, Submit() takes
// them, `done` gets one answer per job in the order of the jobs. The slot is held by the job and
// returns to its pool when the last holder lets go, so a frame whose device was lost can still be
// computed by another backend.
//
// Answers do not depend on the batch, the order of batches, the number of threads, the backend or
// the device: every field is equal bit for bit (docs/determinism.md).

#ifndef ORBSERVE_FEATURES_BACKEND_H_
#define ORBSERVE_FEATURES_BACKEND_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/image_view.h"
#include "features/options.h"
#include "features/pipeline/stage.h"
#include "features/types.h"
#include "features/work_rate.h"

namespace orbserve {

// Size and options that a plan is compiled for.
//
// Specs are equal when their plans give equal answers: `candidate_test` is left out, because it
// says how corners are tested and never changes an answer. Frames that differ in it alone share a
// plan and its batches; all of them get the test of the frame whose request made the plan.
struct PlanSpec {
  int width_px = 0;   // >= 1
  int height_px = 0;  // >= 1
  PipelineOptions pipeline;
  // Levels of the pyramid that a state with KeepState::kPyramid holds, as many as exist,
  // kTrackLevelRange; 0 = this plan keeps no pyramids. CheckTrackPyramid() must hold for others.
  int track_levels = 0;

  friend bool operator==(const PlanSpec& a, const PlanSpec& b) {
    PipelineOptions pipeline = a.pipeline;
    pipeline.detect.candidate_test = b.pipeline.detect.candidate_test;
    return a.width_px == b.width_px && a.height_px == b.height_px && pipeline == b.pipeline &&
           a.track_levels == b.track_levels;
  }
  template <typename H>
  friend H AbslHashValue(H h, const PlanSpec& s) {
    const PipelineOptions& p = s.pipeline;
    return H::combine(
        std::move(h), s.width_px, s.height_px, s.track_levels, p.pyramid.levels,
        p.pyramid.scale_factor, p.pyramid.source, p.detect.detector, p.detect.fast_arc_length,
        p.detect.score, p.suppress.suppression, p.suppress.compare, p.suppress.window_px,
        p.suppress.cell_width_px, p.suppress.cell_height_px, p.suppress.minimum_distance_px,
        p.suppress.distance_shape, p.suppress.cornerness_compression, p.suppress.max_passes,
        p.select.selection, p.select.capacity, p.select.border_px, p.describe.orientation,
        p.describe.descriptor, p.sift.octave_layers, p.sift.contrast_threshold,
        p.sift.edge_threshold, p.sift.sigma, p.sift.first_octave);
  }
};

// A compiled plan: tables, workspace, CUDA graphs. Made by FeatureBackend::MakePlan, used by any
// number of batches at a time, freed when the last holder lets go (which may be a batch in flight).
// Thread-safe.
class FeaturePlan {
 public:
  virtual ~FeaturePlan() = default;
  virtual const PlanSpec& spec() const = 0;
  // Frames that one batch of this plan may hold, >= 1.
  virtual int max_batch_frames() const = 0;
  // Bytes of workspace that the plan holds now, on the host and on the device.
  virtual size_t size_bytes() const = 0;
  // True if one frame keeps this backend busy for so long that it must not delay the frames of
  // other plans. The backend computes such frames behind all others, and not too many at a time.
  virtual bool is_large() const { return false; }
  // Workspace that a frame needs while it is computed, on the host or on the device; 0 where all
  // plans share it.
  virtual size_t frame_bytes(bool has_mask) const {
    static_cast<void>(has_mask);
    return 0;
  }

  // The rate says what its frames took, in relation to FrameWork(). It is kept here for who submits
  // the batches.
  WorkRate& rate() const { return rate_; }

 private:
  mutable WorkRate rate_;
};

// Decodes a whole image file to grey into `out`, which has its size, on the calling thread.
// Thread-safe. Errors: those of DecodeToGrey() (decode/image_decoder.h).
using FileDecoder =
    std::function<absl::Status(absl::Span<const uint8_t> file, const MutableImageView& out)>;

// One leased grey image and, if asked for, its mask. Rows are kRowAlignmentBytes aligned and
// kImagePaddingBytes may be read around them. Contents are unspecified until written. Returns to
// its pool when destroyed.
//
// A slot may hold a JPEG file instead of the pixels, if its backend decodes such files itself. The
// answer to the frame is that to the decoded pixels, or the decoder's error.
class InputSlot {
 public:
  virtual ~InputSlot() = default;
  MutableImageView image;
  MutableImageView mask;  // empty unless asked for; != 0 keeps the pixel

  // Takes a JPEG file of the size of `image` instead of pixels; copies it. `decoder`: for what the
  // backend does not decide itself. False: the file was not taken, and pixels must be written. A
  // slot that holds a file belongs to one job at a time.
  virtual bool TakeFile(absl::Span<const uint8_t> /*file*/,
                        const std::shared_ptr<const FileDecoder>& /*decoder*/) {
    return false;
  }
  // Decodes the file, if the slot holds one: from then on it holds pixels. To be called before
  // `image` is read, but by the backend that the slot is of. Thread-safe. Errors: the decoder's, in
  // every call.
  virtual absl::Status EnsurePixels() { return absl::OkStatus(); }
};

// The features of an answered frame, and its pyramid if that was asked for, where the backend that
// made them can use them again without a copy. Immutable, thread-safe, opaque; lives as long as
// somebody holds it. A state with a pyramid also holds the frame's input slot, so that another
// backend can make the pyramid again after a device was lost.
class FrameState {
 public:
  virtual ~FrameState() = default;
  virtual size_t feature_count() const = 0;
  virtual int descriptor_bytes() const = 0;
  virtual Descriptor descriptor_kind() const = 0;
  virtual size_t size_bytes() const = 0;
  // Bytes that a state made by ImportState() holds, or may come to hold, beside the features that
  // it shares with its caller: copies on the host and on every device.
  virtual size_t copy_bytes() const { return 0; }
  // The frame's input slot and the levels of its pyramid, level 0 included; null and 0 for a state
  // without a pyramid.
  virtual std::shared_ptr<InputSlot> input() const { return nullptr; }
  virtual int pyramid_levels() const { return 0; }
};

// Parts of a frame that its answer's state keeps.
enum class KeepState : uint8_t {
  kNone,      // there is no state
  kFeatures,  // for matches
  kPyramid,   // for matches and tracks; the plan must have `track_levels`
};

struct FrameJob {
  std::shared_ptr<InputSlot> input;
  FrameParameters parameters;
  // When set, these are described and nothing is detected.
  std::shared_ptr<const GivenKeypoints> given_keypoints;
  KeepState keep_state = KeepState::kNone;  // of the answer's `state`
  // When set and true before the batch is launched, the frame is answered kCancelled and costs
  // nothing.
  std::shared_ptr<const std::atomic<bool>> cancelled;
};

struct FrameAnswer {
  absl::Status status;
  std::shared_ptr<const Features> features;  // when OK
  std::shared_ptr<const FrameState> state;   // when OK and wanted
  // Time of each stage, when OK and timed. On the CPU: processor time of this frame's tasks, summed
  // over threads. On CUDA: elapsed time of the whole batch, for one batch in
  // GpuBackendOptions::stage_sampling.
  StageTimes stages;
  // The device left the frame's file to the host, and the other frames of the batch waited for
  // that.
  bool decoded_on_host = false;
};

using SteadyTime = std::chrono::steady_clock::time_point;

// What a batch of either kind cost.
struct BatchCost {
  BatchTimings timings;
  absl::string_view backend;  // name() of the one that computed; lives as long as it
  absl::string_view device;   // "cpu", "cuda:0"; alike
  int lane = 0;
  SteadyTime busy_begin;  // when the device began to work for this batch
  SteadyTime busy_end;
  // Time for which the batch would have kept the whole backend busy by itself; 0 = as from
  // `busy_begin` to `busy_end`.
  int64_t work_ns = 0;
};

struct FrameBatchAnswer {
  std::vector<FrameAnswer> frames;  // one per job, same order
  BatchCost cost;
};
using FrameBatchDone = absl::AnyInvocable<void(FrameBatchAnswer) &&>;

struct MatchJob {
  std::shared_ptr<const FrameState> query;
  std::shared_ptr<const FrameState> train;
  MatchOptions options;
  // When set and true before the pair is computed, the pair is answered kCancelled and costs
  // nothing; while it is computed, the backend may stop and answer the same.
  std::shared_ptr<const std::atomic<bool>> cancelled = nullptr;

  // Distances to measure, without those of a cross-check.
  uint64_t pair_count() const {
    return static_cast<uint64_t>(query->feature_count()) * train->feature_count();
  }
};

struct MatchAnswer {
  absl::Status
      status;  // INVALID_ARGUMENT when the descriptors are of different kinds or there are none
  Matches matches;
};

struct MatchBatchAnswer {
  std::vector<MatchAnswer> pairs;  // one per job, same order
  BatchCost cost;
};
using MatchBatchDone = absl::AnyInvocable<void(MatchBatchAnswer) &&>;

struct TrackJob {
  // The frame that the points lie in and the one in which they are searched, both with pyramids of
  // equal size and number of levels.
  std::shared_ptr<const FrameState> from;
  std::shared_ptr<const FrameState> to;
  std::shared_ptr<const TrackPoints> points;
  TrackOptions options;
  // The flag works as MatchJob::cancelled does.
  std::shared_ptr<const std::atomic<bool>> cancelled = nullptr;
};

struct TrackAnswer {
  // INVALID_ARGUMENT for options out of range, states without pyramids or of different sizes.
  absl::Status status;
  TrackedPoints tracked;
};

struct TrackBatchAnswer {
  std::vector<TrackAnswer> jobs;  // one per job, same order
  BatchCost cost;
};
using TrackBatchDone = absl::AnyInvocable<void(TrackBatchAnswer) &&>;

enum class BackendState {
  kOk,
  kLost,  // a device does not answer any more; nothing submitted from now on is computed on it, the
          // process should end
};

struct DeviceDescription {
  std::string device;      // "cpu", "cuda:0"
  std::string name;        // of the hardware
  std::string details;     // CPU: SIMD target and threads
  std::string pci_bus_id;  // "0000:1b:00.0"; empty where there is none
  // Reason for which it takes no JPEG files (InputSlot::TakeFile); empty if it does.
  std::string no_jpeg_reason = {};
};

// Memory that a backend holds for one purpose on one device.
struct MemoryUse {
  absl::string_view kind;  // "arenas", "plans", "pinned", "states", "inputs"
  std::string device;      // "cpu", "cuda:0"; "host" for host memory of a CUDA backend
  int64_t bytes = 0;
};

// Thread-safe. Destruction waits for the batches in flight.
class FeatureBackend {
 public:
  virtual ~FeatureBackend() = default;

  virtual absl::string_view name() const = 0;  // "cpu", "cpu-reference", "cuda"
  virtual std::vector<DeviceDescription> devices() const = 0;
  virtual BackendState state() const = 0;
  // Grows while long work is being done that is not answered yet, so that who waits for the answer
  // sees that the device works. Always 0 where the backend does not say. Never blocks.
  virtual uint64_t progress() const { return 0; }
  // Memory that the backend holds now, one entry for each kind and device; always the same entries
  // in the same order. Never blocks for long: a scrape of metrics calls it.
  virtual std::vector<MemoryUse> memory() const { return {}; }

  // Compiles a plan: milliseconds, allocates. Not for the batch thread. INVALID_ARGUMENT for bad
  // options, and (TOO_LARGE) when its workspace can never fit; RESOURCE_EXHAUSTED when it does not
  // now.
  virtual absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) = 0;

  // Returns how many pixels, `most` or fewer, a frame without a mask may have with any preset but
  // `sift`, whose frames need more memory.
  virtual int64_t MaxFramePixels(int64_t most) const { return most; }

  // A slot for a frame of this size. RESOURCE_EXHAUSTED (OUT_OF_MEMORY) when the budget is used up,
  // INVALID_ARGUMENT (TOO_LARGE) when it can never hold the frame.
  virtual absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                                bool with_mask) = 0;

  // Frees memory that was idle since the last call: slots, workspaces and results that a burst has
  // left behind. Called every few seconds; may take long, and waits for devices.
  virtual void FreeIdle() {}

  // Computes the features of `jobs`, 1..plan->max_batch_frames() of them, all of the plan's size.
  // Never blocks. `done` is called exactly once, from a thread of the backend, and must not block
  // either. Where this throws std::bad_alloc, nothing was taken, and `done` is never called.
  virtual void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
                      FrameBatchDone done) = 0;

  // Matches pairs of states of this backend. Same rules as Submit().
  virtual void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) = 0;

  // Follows points between states of this backend. Same rules as Submit().
  virtual void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) = 0;

  // Makes a state with a pyramid of one that this or another backend made, from its input slot,
  // with the same bits and number of levels, and without features. INTERNAL for a state without a
  // pyramid.
  virtual absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) = 0;

  // Makes features of any origin (a reference, the client, another backend) matchable here;
  // `features` is shared, not copied, on the CPU.
  virtual absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) = 0;
  // The features of a state of this backend, on the host, also after a device was lost unless they
  // were there only. INTERNAL for a state of another backend.
  virtual absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_BACKEND_H_
