// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Messages of clients, from their bytes to the values that the pipeline works with. The first byte
// chooses the kind of message.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "grpcpp/support/byte_buffer.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/frame.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/frame_splitter.h"
#include "server/rpc/reference_name.h"
#include "server/rpc/resolved_stream.h"
#include "server/serving/frame/frame_intake.h"
#include "tests/fuzz/require.h"

namespace orbserve {
namespace {

constexpr int kMaxSidePx = 512;

ImageLimits Limits() {
  ImageLimits limits;
  limits.max_side_px = kMaxSidePx;
  limits.max_pixels = 1 << 17;
  return limits;
}

// Everything that a server reads of a frame before and while it is decoded.
void UseFrame(const v1::Frame& frame, const ResolvedPipeline& pipeline,
              absl::Span<const BytePiece> pixels) {
  RequireReason(FrameParametersFromProto(frame.parameters(), pipeline).status());
  RequireReason(FrameMatchFromProto(frame.parameters(), pipeline.match).status());
  if (frame.has_keypoints()) {
    RequireReason(GivenKeypointsFromProto(frame.keypoints(), pipeline.options).status());
  }
  const auto image = ImageFromProto(frame, pixels);
  RequireReason(image.status());
  if (!image.ok()) return;
  const auto header = ReadImageHeader(*image, Limits());
  RequireReason(header.status());
  if (!header.ok()) return;
  std::vector<uint8_t> slot(static_cast<size_t>(header->width_px) * header->height_px);
  const MutableImageView view = {slot.data(), header->width_px, header->height_px,
                                 header->width_px};
  RequireReason(DecodeToGrey(*image, *header, Limits(), view));
  if (frame.has_mask()) {
    const absl::Status fits = CheckMask(frame.mask(), view.width_px, view.height_px);
    RequireReason(fits);
    if (fits.ok()) CopyMask(MaskFromProto(frame.mask()), view);
  }
}

void UseRequest(const v1::Pipeline& proto, const v1::Frame& frame,
                absl::Span<const BytePiece> pixels = {}) {
  const absl::StatusOr<ResolvedPipeline> pipeline = PipelineFromProto(proto);
  RequireReason(pipeline.status());
  if (pipeline.ok()) UseFrame(frame, *pipeline, pixels);
}

// The splitter has to read what protobuf reads, whatever pieces the bytes come in.
void FuzzStream(const std::string& bytes, size_t piece_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    slices.emplace_back(bytes.data() + at, std::min(piece_bytes, bytes.size() - at));
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  v1::StreamFramesRequest expected;
  const bool is_valid = expected.ParseFromString(bytes);
  v1::StreamFramesRequest message;
  FrameSplitter splitter;
  const absl::Status status = splitter.Parse(buffer, &message);
  RequireReason(status);
  Require(is_valid || !status.ok(), "the splitter refuses what the parser refuses");
  if (!status.ok()) return;  // the scan is stricter than the parser
  v1::StreamFramesRequest whole = message;
  for (const BytePiece piece : splitter.pixels()) {
    whole.mutable_frame()->mutable_pixels()->append(reinterpret_cast<const char*>(piece.data()),
                                                    piece.size());
  }
  Require(whole.SerializeAsString() == expected.SerializeAsString(), "the same message");
  if (message.has_open()) {
    RequireReason(StreamFromProto(message.open(), StreamLimits{}, ClientId{}).status());
  }
  if (message.has_frame()) {
    UseRequest(v1::Pipeline::default_instance(), message.frame(), splitter.pixels());
  }
}

void Fuzz(uint8_t kind, const std::string& bytes) {
  switch (kind % 5) {
    case 0:
      FuzzStream(bytes, size_t{1} + kind);
      return;
    case 1:
      if (v1::ExtractRequest request; request.ParseFromString(bytes)) {
        UseRequest(request.pipeline(), request.frame());
      }
      return;
    case 2:
      if (v1::FeatureSet features; features.ParseFromString(bytes)) {
        RequireReason(FeaturesFromProto(features).status());
      }
      return;
    case 3:
      if (v1::MatchOptions options; options.ParseFromString(bytes)) {
        RequireReason(MatchOptionsFromProto(options, MatchOptions{}).status());
      }
      return;
    default:
      RequireReason(CheckReferenceName(bytes));
      return;
  }
}

}  // namespace
}  // namespace orbserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_quiet = [] {
    google::protobuf::SetLogHandler(nullptr);  // it would write a line for each bad message
    return true;
  }();
  if (is_quiet && size > 0) {
    orbserve::Fuzz(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  }
  return 0;
}
