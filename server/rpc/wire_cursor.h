// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Reads protobuf's wire format from bytes that lie in several pieces, without copying them.
// Format: https://protobuf.dev/programming-guides/encoding

#ifndef ORBSERVE_SERVER_RPC_WIRE_CURSOR_H_
#define ORBSERVE_SERVER_RPC_WIRE_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "decode/image_decoder.h"

namespace orbserve {

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kGroupBegin = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};
inline constexpr int kWireTypeBits = 3;
inline constexpr int kMaxVarintBytes = 10;
inline constexpr int kMaxShortVarintBytes = 5;  // tags and lengths

constexpr uint32_t LengthDelimitedTag(int field) {
  return static_cast<uint32_t>(field) << kWireTypeBits | kLengthDelimited;
}

// Walks forward through bytes in pieces. A function returns false at their end; the cursor must not
// be used after that.
class WireCursor {
 public:
  explicit WireCursor(absl::Span<const BytePiece> pieces) : pieces_(pieces) {}

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
  // False also for field number 0. A tag is the lower 32 bits of its number, as the parser has it.
  bool ReadTag(uint32_t* field, uint32_t* wire_type) {
    uint64_t number = 0;
    if (!ReadVarint(kMaxShortVarintBytes, &number)) return false;
    const auto tag = static_cast<uint32_t>(number);
    *field = tag >> kWireTypeBits;
    *wire_type = tag & ((1u << kWireTypeBits) - 1);
    return *field != 0;
  }
  // Reads the value of a field that has no length of its own; only a varint sets `*value`. False
  // also for other fields.
  bool ReadScalar(uint32_t wire_type, uint64_t* value) {
    switch (wire_type) {
      case kVarint:
        return ReadVarint(kMaxVarintBytes, value);
      case kFixed64:
        return Skip(8);
      case kFixed32:
        return Skip(4);
      default:
        return false;
    }
  }

 private:
  absl::Span<const BytePiece> pieces_;  // not yet walked through
  size_t in_piece_ = 0;                 // bytes of the first piece that are behind the cursor
  size_t position_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_WIRE_CURSOR_H_
