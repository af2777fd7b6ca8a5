// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Client library: calls an orbserve server with single calls, many calls at once, or a stream of
// frames. Messages are those of orbserve/v1/orbserve.proto, whose comments give units, ranges and
// defaults.
//
// Errors: every status has the code of the call and the text `REASON: message`, with REASON from
// the wire's table of errors. `WireStatusOf` returns the whole entry of that table. An error
// without a REASON comes from the connection and not from the server. CANCELLED means that the
// caller cancelled the call; a call that a server ends because it shuts down is UNAVAILABLE.

#ifndef ORBSERVE_CLIENT_H_
#define ORBSERVE_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

namespace orbserve::client {

struct ClientOptions {
  // Name of the caller, which owns quotas and references. Empty: the connection owns them.
  std::string client_id;
  // File of PEM certificates to check the server with. Empty: plain text, without TLS.
  std::string tls_ca_file;
  // PEM files with the client's certificate, first in its file, and its key without a pass phrase,
  // for servers that ask for a certificate. Both or neither; only with `tls_ca_file`. Empty: the
  // client has no certificate.
  std::string tls_cert_file;
  std::string tls_key_file;
  // Longest time of one call, or of the opening of a stream. Infinite: no limit.
  absl::Duration timeout = absl::InfiniteDuration();
};

// The server's table entry for an error of this library. For an error without an entry only code
// and message are set.
v1::Status WireStatusOf(const absl::Status& status);

// Status for the table entry of a frame inside a stream. OK for code 0.
absl::Status StatusFromWire(const v1::Status& status);

enum class Health { kServing, kNotServing };

class FrameStream;

// A connection to one server. Thread-safe. Must outlive every pipeline and stream made from it.
class Client {
 public:
  // Prepares a connection to `address`, a gRPC target such as "127.0.0.1:50051" or
  // "dns:///features:50051". Nothing is sent before the first call. INVALID_ARGUMENT or NOT_FOUND
  // for files of certificates and keys that cannot be used.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address,
                                                         const ClientOptions& options);

  // Uses a channel made elsewhere, for example a server's in-process channel. Ignores the files of
  // `options`.
  Client(std::shared_ptr<grpc::Channel> channel, const ClientOptions& options);

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  absl::StatusOr<v1::ExtractResponse> Extract(const v1::ExtractRequest& request);
  absl::StatusOr<v1::MatchResponse> Match(const v1::MatchRequest& request);
  absl::StatusOr<v1::PutReferenceResponse> PutReference(const v1::PutReferenceRequest& request);
  absl::Status DeleteReference(const std::string& name);
  absl::StatusOr<v1::ListReferencesResponse> ListReferences();
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo();

  // Asks grpc.health.v1.Health for the health of `service`; "" is the whole server.
  absl::StatusOr<Health> CheckHealth(const std::string& service = "");

  // Opens a stream and waits for the server's answer to `open`.
  absl::StatusOr<std::unique_ptr<FrameStream>> OpenStream(const v1::StreamOpen& open);

 private:
  friend class ExtractPipeline;
  friend class FrameStream;

  // Sets name of the caller and deadline of one call.
  void Prepare(grpc::ClientContext* context) const;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Features::StubInterface> stub_;
  const ClientOptions options_;
};

struct ExtractPipelineOptions {
  int max_in_flight = 32;  // calls under way at once, >= 1
  // Most tries of one frame, >= 1. A frame is tried again when the server says that a new try makes
  // sense (queue full, draining, device lost), goes away or cannot be reached. The pipeline waits
  // as long as the server advises, else 100 ms, and twice as long each time.
  int max_attempts = 6;
};

// Many Extract calls under way at once, so that the server's batches fill. Answers arrive in any
// order. Thread-safe.
class ExtractPipeline {
 public:
  // Called once per submitted frame, on a thread of gRPC. Must be short, and must not wait for
  // Submit().
  using Done = std::function<void(absl::StatusOr<v1::ExtractResponse> response)>;

  // `client` must outlive the pipeline.
  ExtractPipeline(Client* client, const ExtractPipelineOptions& options);
  // Cancels the calls under way and waits for the last `Done`.
  ~ExtractPipeline();

  ExtractPipeline(const ExtractPipeline&) = delete;
  ExtractPipeline& operator=(const ExtractPipeline&) = delete;

  // Starts a call. Waits while `max_in_flight` are under way. After Cancel(), `done` gets
  // CANCELLED.
  void Submit(v1::ExtractRequest request, Done done);

  // Waits until no call is under way.
  void Drain();

  // Cancels the calls under way, and all that are submitted later.
  void Cancel();

 private:
  struct Call;

  void Start(Call* call);
  void Finish(Call* call, const grpc::Status& status);

  Client* const client_;
  const ExtractPipelineOptions options_;
  absl::Mutex mutex_;
  absl::flat_hash_set<Call*> calls_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// Stream of one robot's frames. Results come in the order of the frames. One thread sends and one
// receives; one thread may do both if it leaves at most `max_in_flight` frames unanswered.
class FrameStream {
 public:
  // Cancels the stream unless it was received to its end.
  ~FrameStream();

  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  // The server's answer to the opening: the pipeline in force and the frames that it takes at once.
  const v1::StreamOpened& opened() const { return opened_; }

  // Sends a frame. Waits while the server holds the stream back. An error means that the stream has
  // ended; Receive() returns the reason.
  absl::Status Send(v1::Frame frame);

  // Tells the server that no more frames follow.
  absl::Status CloseSend();

  // Waits for the next result. No value means that the stream ended well after CloseSend(). A
  // failed frame has its `status` set and does not end the stream.
  absl::StatusOr<std::optional<v1::FrameResult>> Receive();

  // True once the server has said that it is about to stop. It still answers the frames sent so
  // far.
  bool going_away() const { return going_away_.load(std::memory_order_relaxed); }

  // Ends the stream from any thread. Send() and Receive() return.
  void Cancel();

 private:
  friend class Client;

  FrameStream() = default;
  absl::Status Finish();

  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriterInterface<v1::StreamFramesRequest, v1::StreamFramesResponse>>
      stream_;
  v1::StreamOpened opened_;
  std::atomic<bool> going_away_ = false;
  std::atomic<bool> send_closed_ = false;
  std::atomic<bool> cancelled_ = false;       // by the caller
  std::optional<absl::Status> final_status_;  // receiving thread only
};

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_H_
