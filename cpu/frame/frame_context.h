// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One frame as its steps see it: the job, the cuts that its parameters ask for, and the lists in
// its workspace.

#ifndef ORBSERVE_CPU_FRAME_FRAME_CONTEXT_H_
#define ORBSERVE_CPU_FRAME_FRAME_CONTEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "cpu/frame/frame_lists.h"
#include "cpu/frame/integral_view.h"
#include "cpu/frame/workspace.h"
#include "cpu/memory/thread_scratch.h"
#include "cpu/tracking/frame_pyramid.h"
#include "features/backend.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/cuts.h"

namespace orbserve::cpu {

// Part of a list: [begin, end).
struct Part {
  int begin;
  int end;
};

// A plain view: everything it is made of must outlive it. Tasks of one frame use it at the same
// time; each writes what its step says.
class FrameContext {
 public:
  FrameContext(const CompiledPipeline& of_plan, const FrameLists& of_workspace,
               const ThreadScratch& scratch, int threads, Workspace& workspace,
               const FrameJob& of_frame, const FramePyramid* kept)
      : pipeline(of_plan),
        lists(of_workspace),
        job(of_frame),
        kept_(kept),
        workspace_(workspace),
        scratch_(scratch),
        threads_(threads) {}

  const CompiledPipeline& pipeline;
  const FrameLists& lists;
  const FrameJob& job;
  Cuts cuts;  // set before the first step, from parameters that were checked

  Workspace& workspace() const { return workspace_; }
  Workspace::Level& level(int l) const { return workspace_.levels[static_cast<size_t>(l)]; }
  int threads() const { return threads_; }

  // Returns the number of tasks that `count` elements are divided into, about `chunk` of them each:
  // one for a single thread, none for no elements.
  int TasksFor(int count, int chunk) const {
    return threads_ == 1 ? std::min(count, 1) : DivUp(count, chunk);
  }
  // The part of task `task` of TasksFor(count, chunk). Parts are even: no short one at the end.
  Part PartOf(int count, int chunk, int task) const {
    return EvenPart(count, TasksFor(count, chunk), task);
  }
  static Part EvenPart(int count, int parts, int part) {
    const auto bound = [count, parts](int i) {
      return static_cast<int>(static_cast<int64_t>(count) * i / parts);
    };
    return {bound(part), bound(part + 1)};
  }

  template <typename T>
  T* At(const LevelBuffer<T>& buffer, int l) const {
    return reinterpret_cast<T*>(workspace_.memory.data() + buffer.offset[static_cast<size_t>(l)]);
  }
  template <typename T>
  T* At(const FrameBuffer<T>& buffer) const {
    return reinterpret_cast<T*>(workspace_.memory.data() + buffer.offset);
  }
  MutableImageView At(const LevelImages& images, int l) const {
    return View(workspace_.memory, images, l);
  }

  ImageView Image(int l) const {
    return l == 0 ? ImageView(job.input->image) : ImageView(LevelImage(l));
  }
  // Level `l` from 1 on: in the pyramid that the frame's state keeps, if that has the level.
  MutableImageView LevelImage(int l) const {
    return l < kept_levels() ? kept_->MutableImage(l) : At(lists.images, l);
  }
  // Levels of the pyramid that the frame's state keeps, level 0 included; 0 for none.
  int kept_levels() const { return kept_ != nullptr ? kept_->levels() : 0; }
  IntegralView Integral(int l) const {
    return {At(lists.integral, l) + kIntegralLead, lists.integral_pitch[static_cast<size_t>(l)]};
  }
  // A mask decides where keypoints are found; given keypoints are described under it, too.
  bool masked() const { return job.given_keypoints == nullptr && !job.input->mask.empty(); }
  // Levels that are only kept for tracks have no mask.
  bool masked(int l) const { return masked() && l < pipeline.level_count(); }
  // Level 0 may be read only.
  MutableImageView Mask(int l) const {
    return l == 0 ? job.input->mask : View(workspace_.mask_memory, lists.masks, l);
  }

  // Scratch memory of the calling thread, until the task ends. 64-byte aligned.
  template <typename T>
  T* Scratch() const {
    return reinterpret_cast<T*>(scratch_.OfThisThread());
  }

 private:
  static MutableImageView View(const AlignedBuffer& memory, const LevelImages& images, int l) {
    const LevelImages::Image& image = images.levels[static_cast<size_t>(l)];
    return {memory.data() + image.offset, image.width_px, image.height_px, image.pitch_bytes};
  }

  const FramePyramid* const kept_;
  Workspace& workspace_;
  const ThreadScratch& scratch_;
  const int threads_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_FRAME_CONTEXT_H_
