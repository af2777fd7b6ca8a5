// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Parses the messages of a stream without a copy of their pixels, which are nearly all of a frame:
// the generated parser copies a `bytes` field into a string, and decoding would copy it once more.
//
// The bytes of the field are left where gRPC received them; the message without them is parsed by
// the generated code, which stays the judge of everything. What is not laid out plainly (the frame
// or its pixels more than once, groups, anything malformed) and what is not worth it (JPEG files,
// small images, much besides the pixels, crumbs) is parsed as usual.

#ifndef ORBSERVE_SERVER_RPC_FRAME_SPLITTER_H_
#define ORBSERVE_SERVER_RPC_FRAME_SPLITTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "grpcpp/support/byte_buffer.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/decode/image_decoder.h"

namespace orbserve {

// Keeps its memory from one message to the next. Not thread-safe.
class FrameSplitter {
 public:
  // Parses `buffer`, which keeps its bytes; false when they are no StreamFramesRequest.
  bool Parse(grpc::ByteBuffer& buffer, v1::StreamFramesRequest* message);

  // The pixels of the message parsed last where they were left in its buffer, which must be alive:
  // `frame.pixels` is set and empty then, and the format a raw one. Else empty.
  absl::Span<const BytePiece> pixels() const { return pixels_; }

 private:
  // Takes the message in `pieces_` apart; false when it is to be parsed as usual.
  bool Split();

  std::vector<BytePiece> pieces_;  // the message
  std::vector<BytePiece> pixels_;
  std::string rest_;  // the message with pixels of no length
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_FRAME_SPLITTER_H_
