// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/frame_splitter.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace orbserve {
namespace {

// Splitting gains nothing below this size of the pixels, or above this size of the rest.
constexpr size_t kLeastPixelBytes = 4096;
constexpr size_t kMostRestBytes = 4096;
// Smallest mean size of a message's pieces: each piece has a cost of its own.
constexpr size_t kLeastPieceBytes = 512;

// Wire format: https://protobuf.dev/programming-guides/encoding
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };
constexpr int kWireTypeBits = 3;
constexpr int kMostVarintBytes = 10;
constexpr int kMostShortVarintBytes = 5;  // tags and lengths

constexpr uint32_t LengthDelimitedTag(int field) {
  return static_cast<uint32_t>(field) << kWireTypeBits | kLengthDelimited;
}
constexpr uint32_t kFrameTag = LengthDelimitedTag(v1::StreamFramesRequest::kFrameFieldNumber);
constexpr uint32_t kPixelsTag = LengthDelimitedTag(v1::Frame::kPixelsFieldNumber);

// Walks forward through bytes in pieces. A function returns false at their end; the cursor must not
// be used after that.
class Cursor {
 public:
  explicit Cursor(absl::Span<const BytePiece> pieces) : pieces_(pieces) {}

  size_t position() const { return position_; }

  // Calls `use` for each stretch of the next `count` bytes.
  template <typename Use>
  bool Walk(uint64_t count, Use use) {
    while (count > 0) {
      if (pieces_.empty()) return false;
      const BytePiece stretch = pieces_.front().subspan(
          in_piece_, static_cast<size_t>(std::min<uint64_t>(count, pieces_.front().size())));
      if (!stretch.empty()) use(stretch);
      count -= stretch.size();
      position_ += stretch.size();
      in_piece_ += stretch.size();
      if (in_piece_ == pieces_.front().size()) {
        pieces_.remove_prefix(1);
        in_piece_ = 0;
      }
    }
    return true;
  }
  bool Skip(uint64_t count) {
    return Walk(count, [](BytePiece) {});
  }
  bool AppendTo(std::string* out, size_t count) {
    return Walk(count, [&](BytePiece stretch) {
      out->append(reinterpret_cast<const char*>(stretch.data()), stretch.size());
    });
  }

  // False also for a varint that is longer than `most_bytes`.
  bool ReadVarint(int most_bytes, uint64_t* value) {
    *value = 0;
    for (int i = 0; i < most_bytes; ++i) {
      uint8_t byte = 0;
      if (!Walk(1, [&](BytePiece stretch) { byte = stretch[0]; })) return false;
      *value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if (byte < 0x80) return true;
    }
    return false;
  }

 private:
  absl::Span<const BytePiece> pieces_;  // not yet walked through
  size_t in_piece_ = 0;                 // bytes of the first piece that are behind the cursor
  size_t position_ = 0;
};

// Position of a field with a length, in bytes of the message.
struct Place {
  size_t length_at = 0;
  size_t begin = 0;
  size_t end = 0;
};

// Finds the field with the tag `wanted` between `cursor` and `end`. False unless there is exactly
// one, every other field is complete, and none is a group.
bool FindOnly(Cursor cursor, size_t end, uint32_t wanted, Place* place) {
  bool found = false;
  while (cursor.position() < end) {
    uint64_t tag = 0;
    uint64_t value = 0;
    if (!cursor.ReadVarint(kMostShortVarintBytes, &tag)) return false;
    if (tag > std::numeric_limits<uint32_t>::max() || tag >> kWireTypeBits == 0) return false;
    switch (tag & ((1u << kWireTypeBits) - 1)) {
      case kVarint:
        if (!cursor.ReadVarint(kMostVarintBytes, &value)) return false;
        break;
      case kFixed64:
        if (!cursor.Skip(8)) return false;
        break;
      case kFixed32:
        if (!cursor.Skip(4)) return false;
        break;
      case kLengthDelimited: {
        Place here;
        here.length_at = cursor.position();
        if (!cursor.ReadVarint(kMostShortVarintBytes, &value)) return false;
        here.begin = cursor.position();
        if (!cursor.Skip(value)) return false;
        here.end = cursor.position();
        if (tag != wanted) break;
        if (found) return false;
        found = true;
        *place = here;
        break;
      }
      default:
        return false;
    }
  }
  return found && cursor.position() == end;
}

void AppendLength(std::string* out, size_t length) {
  using google::protobuf::io::CodedOutputStream;
  uint8_t bytes[kMostShortVarintBytes];
  const uint8_t* const end =
      CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(length), bytes);
  out->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes));
}

bool IsRaw(v1::PixelFormat format) {
  switch (format) {
    case v1::PIXEL_FORMAT_GRAY8:
    case v1::PIXEL_FORMAT_RGB8:
    case v1::PIXEL_FORMAT_BGR8:
    case v1::PIXEL_FORMAT_BGRA8:
    case v1::PIXEL_FORMAT_NV12:
    case v1::PIXEL_FORMAT_I420:
    case v1::PIXEL_FORMAT_YUYV:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool FrameSplitter::Parse(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message) {
  pieces_.clear();
  pixels_.clear();
  {
    grpc::ProtoBufferReader reader(&buffer);
    const void* data = nullptr;
    int size = 0;
    while (reader.Next(&data, &size)) {
      pieces_.emplace_back(static_cast<const uint8_t*>(data), static_cast<size_t>(size));
    }
  }
  if (!Split()) {
    pixels_.clear();
    grpc::ProtoBufferReader reader(&buffer);
    return message->ParseFromZeroCopyStream(&reader);
  }
  if (!message->ParseFromString(rest_)) return false;
  if (message->frame().payload_case() != v1::Frame::kPixels) {
    pixels_.clear();  // a later field of the oneof replaced them
  } else if (!IsRaw(message->frame().format())) {
    std::string& joined = *message->mutable_frame()->mutable_pixels();
    for (const BytePiece piece : pixels_) {
      joined.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    pixels_.clear();
  }
  return true;
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
  const Cursor begin(pieces_);
  if (!FindOnly(begin, size, kFrameTag, &frame)) return false;
  Cursor in_frame = begin;
  in_frame.Skip(frame.begin);
  if (!FindOnly(in_frame, frame.end, kPixelsTag, &pixels)) return false;
  if (pixels.end - pixels.begin < kLeastPixelBytes ||
      size - (pixels.end - pixels.begin) > kMostRestBytes) {
    return false;
  }
  // A copy of the message with empty pixels and the two lengths adjusted.
  Cursor cursor = begin;
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
