// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Where steps that read response maps leave corners: in the list that the pipeline's selection
// begins with (features/pipeline/detection.h).

#ifndef ORBSERVE_GPU_STEPS_DETECT_CORNER_SINK_H_
#define ORBSERVE_GPU_STEPS_DETECT_CORNER_SINK_H_

#include <cstdint>
#include <optional>

#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// For kernels. One of the lists has memory.
struct CornerSink {
  KeyLists keys;
  FastCornerLists corners;
  int32_t arc_length;  // of FAST, 9..12; scored corners only
  bool is_scored;
};

class CornerSinkBuffers {
 public:
  explicit CornerSinkBuffers(const KeyListBuffers& keys) : keys_(keys) {}
  // Corners of FAST alone; `arc_length`: of the detection.
  CornerSinkBuffers(const FastCornerListBuffers& corners, int arc_length)
      : corners_(corners), arc_length_(arc_length) {}

  CornerSink At(const StepContext& context) const {
    CornerSink sink = {};
    sink.arc_length = arc_length_;
    sink.is_scored = corners_.has_value();
    if (corners_.has_value()) sink.corners = corners_->At(context);
    if (keys_.has_value()) sink.keys = keys_->At(context);
    return sink;
  }

 private:
  std::optional<KeyListBuffers> keys_;
  std::optional<FastCornerListBuffers> corners_;
  int arc_length_ = 9;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_CORNER_SINK_H_
