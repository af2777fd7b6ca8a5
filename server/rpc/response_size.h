// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Size of answers on the wire, known before they exist. Calls reserve memory for their answers by
// it: how much there is for all clients says config/derived_limits.h, for one clients/ledger.h.

#ifndef ORBSERVE_SERVER_RPC_RESPONSE_SIZE_H_
#define ORBSERVE_SERVER_RPC_RESPONSE_SIZE_H_

#include <algorithm>
#include <cstdint>

#include "features/options.h"
#include "features/pipeline/detection.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/conversion/pipeline.h"

namespace orbserve {

// Largest number of features expected for a frame. Ties at the cut may bring more.
inline int64_t ExpectedFeatures(const v1::Frame& frame, const ResolvedPipeline& pipeline) {
  if (frame.has_keypoints()) return std::min<int64_t>(frame.keypoints().x_size(), kMaxFeatures);
  const int64_t wanted = frame.parameters().has_max_features()
                             ? int64_t{frame.parameters().max_features()}
                             : int64_t{pipeline.frame.max_features};
  return std::min<int64_t>(wanted, pipeline.options.select.capacity);
}

// Most bytes of that many features.
inline int64_t MostWireBytes(int64_t features, const PipelineOptions& options) {
  // Five floats, the octave and three bytes of a source index. SIFT has no source index, but
  // octaves below 0, of ten bytes, and layers with fractions.
  constexpr int64_t kFeatureBytes = 5 * 4 + 1 + 3;
  constexpr int64_t kSiftBytes = 5 * 4 + 10 + 1 + 2;
  return features * ((HasScaleSpace(options) ? kSiftBytes : kFeatureBytes) +
                     DescriptorBytes(options.describe.descriptor));
}
// Most bytes of one match: three for each index, and four for the distance, which SIFT needs.
inline constexpr int64_t kMatchWireBytes = 3 + 3 + 4;
// Most bytes of a track (id, age, five numbers) and of an ended one (id, reason), whose place it
// took.
inline constexpr int64_t kTrackWireBytes = (2 + 11 + 5 * 5 + 6) + (2 + 11 + 2);
// Most bytes of everything else in an answer: times, places, names.
inline constexpr int64_t kOtherWireBytes = 4096;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_RESPONSE_SIZE_H_
