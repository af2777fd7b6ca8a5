// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Parses the messages of a stream without a copy of their pixels, which are nearly all of a frame.
// The generated parser copies a `bytes` field into a string, and decoding would copy it once more.
//
// The splitter leaves the bytes of that field in gRPC's buffer. Generated code parses the rest of
// the message and decides whether it is valid. Every message is scanned first (wire_scan.h).
// Messages with an unusual layout (the frame or its pixels more than once, groups, malformed bytes)
// and those that gain nothing (JPEG files, small images, much besides the pixels, many tiny pieces)
// are parsed as usual.

#ifndef ORBSERVE_SERVER_RPC_FRAME_SPLITTER_H_
#define ORBSERVE_SERVER_RPC_FRAME_SPLITTER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "decode/image_decoder.h"
#include "grpcpp/support/byte_buffer.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/wire_scan.h"

namespace orbserve {

// Keeps its memory from one message to the next. Not thread-safe.
class FrameSplitter {
 public:
  // Scans and parses `buffer`, which keeps its bytes. BAD_REQUEST when they are not a
  // StreamFramesRequest, TOO_LARGE (WireScan). May throw std::bad_alloc.
  absl::Status Parse(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message);

  // Pixels of the last message if they were left in its buffer, which must be alive. `frame.pixels`
  // is then set and empty, and the format is a raw one. Empty if the message was parsed as usual.
  absl::Span<const BytePiece> pixels() const { return pixels_; }
  // The same, to be kept beyond the next message.
  std::vector<BytePiece> TakePixels() { return std::exchange(pixels_, {}); }

 private:
  // Splits the message, which passed the scan. False when it must be parsed as usual.
  bool Split(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message);

  WireScan scan_{WireRules::Of<v1::StreamFramesRequest>()};
  std::vector<BytePiece> pixels_;
  std::string rest_;  // the part of the message that is parsed
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_FRAME_SPLITTER_H_
