// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/frame_input.h"

#include "features/errors.h"
#include "server/rpc/conversion/frame.h"

namespace orbserve {

int64_t ImageBytes(const v1::Frame& frame, absl::Span<const BytePiece> pixels) {
  size_t bytes = frame.pixels().size() + frame.mask().pixels().size();
  for (const BytePiece piece : pixels) bytes += piece.size();
  return static_cast<int64_t>(bytes);
}

void ProtoFrameInput::SetPipeline(std::shared_ptr<const ResolvedPipeline> resolved) {
  resolved_ = std::move(resolved);
  if (resolved_ != nullptr) {
    pipeline = std::shared_ptr<const PipelineOptions>(resolved_, &resolved_->options);
  }
}

absl::Status ProtoFrameInput::Read(const ImageLimits& limits) {
  ORBSERVE_ASSIGN_OR_RETURN(parameters, FrameParametersFromProto(frame_->parameters(), *resolved_));
  // Checked even where nothing is matched, so that a client's mistake does not go unnoticed.
  ORBSERVE_RETURN_IF_ERROR(FrameMatchFromProto(frame_->parameters(), resolved_->match).status());
  if (frame_->has_keypoints()) {
    ORBSERVE_ASSIGN_OR_RETURN(given_keypoints,
                              GivenKeypointsFromProto(frame_->keypoints(), resolved_->options));
  }
  ORBSERVE_ASSIGN_OR_RETURN(image, ImageFromProto(*frame_, pixels_));
  ORBSERVE_ASSIGN_OR_RETURN(header, ReadImageHeader(image, limits));
  if (frame_->has_mask()) {
    ORBSERVE_RETURN_IF_ERROR(CheckMask(frame_->mask(), header.width_px, header.height_px));
    mask = MaskFromProto(frame_->mask());
  }
  return absl::OkStatus();
}

void StreamMessage::KeepFrame(grpc::ByteBuffer* buffer, std::vector<BytePiece> pixels) {
  frame_ = &request.frame();
  if (pixels.empty()) return;
  buffer_.Swap(buffer);
  pieces_ = std::move(pixels);
  pixels_ = pieces_;
}

void StreamMessage::FreePieces() {
  buffer_.Clear();
  pieces_ = {};
  pixels_ = {};
}

}  // namespace orbserve
