// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/frame_splitter.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "features/errors.h"
#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "server/rpc/wire_cursor.h"
#include "server/rpc/wire_message.h"

namespace orbserve {
namespace {

// Splitting gains nothing below this size of the pixels, or above this size of the rest.
constexpr size_t kLeastPixelBytes = 4096;
constexpr size_t kMaxRestBytes = 4096;
// Smallest mean size of a message's pieces: each piece has a cost of its own.
constexpr size_t kLeastPieceBytes = 512;

constexpr uint32_t kFrameField = v1::StreamFramesRequest::kFrameFieldNumber;
constexpr uint32_t kPixelsField = v1::Frame::kPixelsFieldNumber;

// Position of a field with a length, in bytes of the message.
struct Place {
  size_t length_at = 0;
  size_t begin = 0;
  size_t end = 0;
};

// Finds the field with the number `wanted` and a length between `cursor` and `end`. False unless
// there is exactly one, every other field is complete, and none is a group.
bool FindOnly(WireCursor cursor, size_t end, uint32_t wanted, Place* place) {
  bool found = false;
  while (cursor.position() < end) {
    uint32_t field = 0;
    uint32_t wire_type = 0;
    uint64_t value = 0;
    if (!cursor.ReadTag(&field, &wire_type)) return false;
    if (wire_type != kLengthDelimited) {
      if (!cursor.ReadScalar(wire_type, &value)) return false;
      continue;
    }
    Place here;
    here.length_at = cursor.position();
    if (!cursor.ReadVarint(kMaxShortVarintBytes, &value)) return false;
    here.begin = cursor.position();
    if (!cursor.Skip(value)) return false;
    here.end = cursor.position();
    if (field != wanted) continue;
    if (found) return false;
    found = true;
    *place = here;
  }
  return found && cursor.position() == end;
}

void AppendLength(std::string* out, size_t length) {
  using google::protobuf::io::CodedOutputStream;
  uint8_t bytes[kMaxShortVarintBytes];
  const uint8_t* const end =
      CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(length), bytes);
  out->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes));
}

}  // namespace

absl::Status FrameSplitter::Parse(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message) {
  pixels_.clear();
  CollectPieces(buffer, &pieces_);
  ORBSERVE_RETURN_IF_ERROR(scan_.Check(pieces_));
  if (!Split()) {
    pixels_.clear();
    grpc::ProtoBufferReader reader(&buffer);
    return message->ParseFromZeroCopyStream(&reader) ? absl::OkStatus() : UnparsedStatus(*message);
  }
  if (!message->ParseFromString(rest_)) return UnparsedStatus(*message);
  if (message->frame().payload_case() != v1::Frame::kPixels) {
    pixels_.clear();  // a later field of the oneof replaced them
  } else if (const auto format = message->frame().format();
             format < v1::PIXEL_FORMAT_GRAY8 || format > v1::PIXEL_FORMAT_YUYV) {  // not raw
    std::string& joined = *message->mutable_frame()->mutable_pixels();
    for (const BytePiece piece : pixels_) {
      joined.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    pixels_.clear();
  }
  return absl::OkStatus();
}

bool FrameSplitter::Split() {
  size_t size = 0;
  for (const BytePiece piece : pieces_) size += piece.size();
  if (size < kLeastPixelBytes || size > std::numeric_limits<int32_t>::max() ||
      size / pieces_.size() < kLeastPieceBytes) {
    return false;
  }
  Place frame;
  Place pixels;
  const WireCursor begin(pieces_);
  if (!FindOnly(begin, size, kFrameField, &frame)) return false;
  WireCursor in_frame = begin;
  in_frame.Skip(frame.begin);
  if (!FindOnly(in_frame, frame.end, kPixelsField, &pixels)) return false;
  if (pixels.end - pixels.begin < kLeastPixelBytes ||
      size - (pixels.end - pixels.begin) > kMaxRestBytes) {
    return false;
  }
  // A copy of the message with empty pixels and the two lengths adjusted.
  WireCursor cursor = begin;
  rest_.clear();
  cursor.AppendTo(&rest_, frame.length_at);
  cursor.Skip(frame.begin - frame.length_at);
  AppendLength(&rest_, (frame.end - frame.begin) - (pixels.end - pixels.length_at) + 1);
  cursor.AppendTo(&rest_, pixels.length_at - frame.begin);
  cursor.Skip(pixels.begin - pixels.length_at);
  AppendLength(&rest_, 0);
  cursor.Walk(pixels.end - pixels.begin, [&](BytePiece stretch) { pixels_.push_back(stretch); });
  cursor.AppendTo(&rest_, size - pixels.end);
  return true;
}

}  // namespace orbserve
