// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Between the wire's messages and the vocabulary of the domain. What comes from the wire is checked
// field by field here, so that nothing behind this header meets a value out of range. Errors carry
// the reasons of the table; a message names the field, what was given and what is allowed.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/backend.h"
#include "features/options.h"
#include "features/types.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/decode/image_decoder.h"

namespace orbserve {

// A pipeline with every option resolved: the preset's, replaced where the message says so.
struct ResolvedPipeline {
  std::string preset;
  PipelineOptions options;
  FrameParameters frame;
  MatchOptions match;
};

// BAD_OPTIONS, UNSUPPORTED.
absl::StatusOr<ResolvedPipeline> PipelineFromProto(const v1::Pipeline& proto);
// The inverse, with every option set.
void PipelineToProto(const ResolvedPipeline& pipeline, v1::Pipeline* proto);

// `proto`'s options over `base`. BAD_OPTIONS.
absl::StatusOr<MatchOptions> MatchOptionsFromProto(const v1::MatchOptions& proto,
                                                   const MatchOptions& base);

// The pipeline's frame parameters, replaced where the frame says so. BAD_OPTIONS.
absl::StatusOr<FrameParameters> FrameParametersFromProto(const v1::FrameParameters& proto,
                                                         const FrameParameters& base);
// The same for how a stream's frame is matched; calls that do not match only check it. BAD_OPTIONS.
absl::StatusOr<MatchOptions> FrameMatchFromProto(const v1::FrameParameters& proto,
                                                 const MatchOptions& base);
// A checked copy of keypoints to be described. BAD_REQUEST, BAD_OPTIONS, TOO_LARGE.
absl::StatusOr<std::shared_ptr<const GivenKeypoints>> GivenKeypointsFromProto(
    const v1::GivenKeypoints& proto, const PyramidOptions& pyramid);

// The frame's picture, borrowed from the message, or from `pieces` where these hold its raw pixels
// (server/rpc/frame_splitter.h); a JPEG without a format is recognised. BAD_REQUEST, UNSUPPORTED.
absl::StatusOr<EncodedImage> ImageFromProto(const v1::Frame& frame,
                                            absl::Span<const BytePiece> pieces = {});

// Whether the mask fits a frame of this size. BAD_IMAGE.
absl::Status CheckMask(const v1::Mask& mask, int width_px, int height_px);
// Copies a checked mask.
void CopyMask(const v1::Mask& mask, const MutableImageView& out);

// A checked copy. BAD_REQUEST, TOO_LARGE.
absl::StatusOr<std::shared_ptr<const Features>> FeaturesFromProto(const v1::FeatureSet& proto);
void FeaturesToProto(const Features& features, v1::FeatureSet* proto);
// The most bytes on the wire that so many features have.
int64_t MostWireBytes(int64_t features, Descriptor descriptor);
// How many features this frame is expected to have at most; ties may bring more.
int64_t ExpectedFeatures(const v1::Frame& frame, const ResolvedPipeline& pipeline);
// The most bytes on the wire that a match has: three for each index and two for the distance.
inline constexpr int64_t kMatchWireBytes = 3 + 3 + 2;
// The most that the rest of an answer has: times, places, names.
inline constexpr int64_t kOtherWireBytes = 4096;
void MatchesToProto(const Matches& matches, v1::MatchSet* proto);

// 1..128 bytes of printable ASCII. BAD_REQUEST.
absl::Status CheckReferenceName(absl::string_view name);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_H_
