// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Call of one robot's stream: a reader, which turns messages into requests for frames, a writer,
// which turns finished frames into messages, and an end. What is read, computed, dropped and
// written when is up to the stream (server/serving/stream/stream.h).
//
// gRPC runs the reactions, one read and one write at a time, and never inside the operations that
// the stream starts: reactions go to its executor.

#ifndef ORBSERVE_SERVER_RPC_STREAM_CALL_H_
#define ORBSERVE_SERVER_RPC_STREAM_CALL_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/client_id.h"
#include "server/rpc/call_services.h"
#include "server/rpc/drain_gate.h"
#include "server/rpc/frame_input.h"
#include "server/rpc/frame_splitter.h"
#include "server/rpc/resolved_stream.h"
#include "server/serving/stream/stream.h"

namespace orbserve {

class StreamCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public StreamWire {
 public:
  // Makes the reactor to return to gRPC. It holds itself until gRPC is done with it.
  static StreamCall* Start(const CallServices& services, DrainGate& gate, StreamRegistry& registry,
                           grpc::CallbackServerContext* context);

  StreamCall(const CallServices& services, DrainGate& gate, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override { stream_->Written(ok); }
  void OnCancel() override { stream_->Cancelled(); }
  void OnDone() override;

  void Read() override { StartRead(&read_buffer_); }
  void Write(MessageBytes message) override;
  void End(const absl::Status& status) override;
  void Cancel() override { context_->TryCancel(); }
  bool IsCancelled() const override { return context_->IsCancelled(); }
  MessageBytes Encode(StreamFrame& frame) override;
  MessageBytes EncodeFailure(const StreamFrame& frame, const absl::Status& status) override;
  MessageBytes EncodeGoingAway(const absl::Status& reason) override;

 private:
  absl::Status TakeMessage();
  absl::Status Open(const v1::StreamOpen& open);
  void TakeFrame(std::shared_ptr<StreamMessage> message);

  const CallServices& services_;
  DrainGate& gate_;
  grpc::CallbackServerContext* const context_;
  const DrainGate::Ticket ticket_;
  std::shared_ptr<StreamCall> self_;  // held for gRPC until OnDone()
  std::shared_ptr<Stream> stream_;

  // Of the reader.
  grpc::ByteBuffer read_buffer_;
  FrameSplitter splitter_;
  std::shared_ptr<const ResolvedStream> resolved_;  // of the last `open`; null before the first

  // Of the writer.
  grpc::ByteBuffer write_buffer_;
  v1::StreamFramesResponse response_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_STREAM_CALL_H_
