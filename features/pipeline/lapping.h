// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_PIPELINE_LAPPING_H_
#define ORBSERVE_FEATURES_PIPELINE_LAPPING_H_

#include <cstddef>

#include "features/options.h"

namespace orbserve {

// Rows of an answer whose features are dealt out one by one, in the order of a detection: those of
// the lapping area fill it from the back, the others from the front.
class LappingRows {
 public:
  // `count`: rows of the answer. The parameters must outlive this.
  LappingRows(const FrameParameters& parameters, size_t count)
      : parameters_(parameters), back_(count) {}

  // Row of the next feature, whose place is `x`, level-0 pixels.
  size_t Next(float x) { return parameters_.Laps(x) ? --back_ : front_++; }

 private:
  const FrameParameters& parameters_;
  size_t front_ = 0;
  size_t back_;
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_LAPPING_H_
