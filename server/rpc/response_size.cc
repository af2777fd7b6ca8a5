// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/response_size.h"

#include <algorithm>

namespace orbserve {

int64_t MostWireBytes(int64_t features, Descriptor descriptor) {
  // Five floats, the octave and three bytes of a source index.
  constexpr int64_t kFeatureBytes = 5 * 4 + 1 + 3;
  return features * (kFeatureBytes + DescriptorBytes(descriptor));
}

int64_t ExpectedFeatures(const v1::Frame& frame, const ResolvedPipeline& pipeline) {
  if (frame.has_keypoints()) return std::min<int64_t>(frame.keypoints().x_size(), kMaxFeatures);
  const int64_t wanted = frame.parameters().has_max_features()
                             ? int64_t{frame.parameters().max_features()}
                             : int64_t{pipeline.frame.max_features};
  return std::min<int64_t>(wanted, pipeline.options.select.capacity);
}

}  // namespace orbserve
