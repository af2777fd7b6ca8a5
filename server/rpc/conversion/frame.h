// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Picture, mask and given keypoints of a frame from the wire. Every value is checked here.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_FRAME_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_FRAME_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/image_decoder.h"
#include "features/image_view.h"
#include "features/options.h"
#include "features/types.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve {

// The frame's picture. Its bytes are borrowed from the message, or from `pieces` where these hold
// the raw pixels (server/rpc/frame_splitter.h). A JPEG without a format is recognised. BAD_REQUEST,
// UNSUPPORTED.
absl::StatusOr<EncodedImage> ImageFromProto(const v1::Frame& frame,
                                            absl::Span<const BytePiece> pieces = {});

// BAD_IMAGE unless the mask fits a frame of this size.
absl::Status CheckMask(const v1::Mask& mask, int width_px, int height_px);
// A mask that CheckMask() accepted, borrowed.
ImageView MaskFromProto(const v1::Mask& mask);

// A checked copy of keypoints to be described. BAD_REQUEST, BAD_OPTIONS, TOO_LARGE.
absl::StatusOr<std::shared_ptr<const GivenKeypoints>> GivenKeypointsFromProto(
    const v1::GivenKeypoints& proto, const PipelineOptions& pipeline);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_FRAME_H_
