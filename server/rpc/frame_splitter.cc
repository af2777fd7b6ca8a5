// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/frame_splitter.h"

#include <algorithm>
#include <cstddef>

#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "server/rpc/wire_message.h"

namespace orbserve {
namespace {

// Splitting gains nothing below this size of the pixels, or above this size of the rest.
constexpr int kLeastPixelBytes = 4096;
constexpr int kMaxRestBytes = 4096;
// Smallest mean size of the pieces of the pixels: each piece has a cost of its own.
constexpr int kLeastPieceBytes = 512;

bool IsRaw(v1::PixelFormat format) {
  return format >= v1::PIXEL_FORMAT_GRAY8 && format <= v1::PIXEL_FORMAT_BAYER_GRBG8;
}

}  // namespace

absl::Status FrameSplitter::Parse(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message) {
  {
    grpc::ProtoBufferReader reader(&buffer);
    ORBSERVE_RETURN_IF_ERROR(scan_.Check(&reader, buffer.Length()));
  }
  pixels_.clear();
  if (Split(buffer, message)) return absl::OkStatus();
  pixels_.clear();
  grpc::ProtoBufferReader reader(&buffer);
  return message->ParseFromZeroCopyStream(&reader) ? absl::OkStatus() : UnparsedStatus(*message);
}

bool FrameSplitter::Split(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message) {
  const int size = static_cast<int>(buffer.Length());
  WireScan::Place frame;
  WireScan::Place pixels;
  if (!scan_.FindOnly(v1::StreamFramesRequest::kFrameFieldNumber, v1::Frame::kPixelsFieldNumber,
                      &frame, &pixels)) {
    return false;
  }
  const int pixel_bytes = pixels.end - pixels.begin;
  if (pixel_bytes < kLeastPixelBytes || size - pixel_bytes > kMaxRestBytes) return false;
  grpc::ProtoBufferReader reader(&buffer);
  google::protobuf::io::CodedInputStream in(&reader);
  const auto merge = [&](int end, google::protobuf::Message* part) {
    const int bytes = end - in.CurrentPosition();
    return bytes == 0 || (in.ReadString(&rest_, bytes) && part->MergeFromString(rest_));
  };
  // One part after the other, as a parser does it.
  message->Clear();
  if (!merge(frame.tag_at, message)) return false;
  in.Skip(frame.begin - frame.tag_at);
  v1::Frame* const rest = message->mutable_frame();
  if (!merge(pixels.tag_at, rest)) return false;
  rest->mutable_pixels()->clear();
  in.Skip(pixels.begin - pixels.tag_at);
  const void* data = nullptr;
  for (int left = pixel_bytes, stretch = 0; left > 0; left -= stretch) {
    in.GetDirectBufferPointer(&data, &stretch);
    stretch = std::min(stretch, left);
    pixels_.emplace_back(static_cast<const uint8_t*>(data), static_cast<size_t>(stretch));
    in.Skip(stretch);
  }
  // Later fields may replace the pixels, or say that they are a file.
  return merge(frame.end, rest) && merge(size, message) &&
         pixel_bytes / static_cast<int>(pixels_.size()) >= kLeastPieceBytes &&
         message->frame().payload_case() == v1::Frame::kPixels && IsRaw(message->frame().format());
}

}  // namespace orbserve
