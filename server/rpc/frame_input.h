// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames of messages as the input of their records (serving/frame/frame_record.h). The owner of the
// bytes is handed over with them; they are checked and converted when the frame begins.

#ifndef ORBSERVE_SERVER_RPC_FRAME_INPUT_H_
#define ORBSERVE_SERVER_RPC_FRAME_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "grpcpp/support/byte_buffer.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/serving/frame/frame_record.h"

namespace orbserve {

// The bytes of a frame's image and mask. `pixels`: those that are not in `frame`.
int64_t ImageBytes(const v1::Frame& frame, absl::Span<const BytePiece> pixels = {});

class ProtoFrameInput : public FrameInput {
 public:
  absl::Status Read(const ImageLimits& limits) final;

  void SetPipeline(std::shared_ptr<const ResolvedPipeline> resolved);

 protected:
  // Both are borrowed from the derived class.
  const v1::Frame* frame_ = nullptr;
  absl::Span<const BytePiece> pixels_;  // that are not in `frame_`

 private:
  std::shared_ptr<const ResolvedPipeline> resolved_;  // null for a frame that is refused
};

// Frame of a unary call, which shares its request.
class UnaryFrameInput final : public ProtoFrameInput {
 public:
  explicit UnaryFrameInput(std::shared_ptr<const v1::Frame> frame) : shared_(std::move(frame)) {
    frame_ = shared_.get();
  }

 private:
  const std::shared_ptr<const v1::Frame> shared_;
};

// Message of a stream. A frame whose pixels were left in gRPC's buffer keeps the buffer.
class StreamMessage final : public ProtoFrameInput {
 public:
  // The message has a frame. `buffer` has its pixels, unless `pixels` is empty.
  void KeepFrame(grpc::ByteBuffer* buffer, std::vector<BytePiece> pixels);
  void FreePieces() override;

  v1::StreamFramesRequest request;

 private:
  grpc::ByteBuffer buffer_;
  std::vector<BytePiece> pieces_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_FRAME_INPUT_H_
