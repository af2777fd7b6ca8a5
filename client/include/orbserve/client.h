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
// Answers are checked: DATA_LOSS means that one breaks the wire contract, and its text names the
// field. Such a call is not tried again, and such a stream ends.

#ifndef ORBSERVE_CLIENT_H_
#define ORBSERVE_CLIENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
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
  // Name of the caller, which owns quotas and references, printable ASCII. Empty: the connection
  // owns them. For a server that knows the caller by certificate or token: empty, NAME or
  // NAME/PART.
  std::string client_id;
  // File of PEM certificates to check the server with. Empty: plain text, without TLS.
  std::string tls_ca_file;
  // PEM files with the client's certificate, first in its file, and its key without a pass phrase,
  // for servers that ask for a certificate. Both or neither; only with `tls_ca_file`. Empty: the
  // client has no certificate.
  std::string tls_cert_file;
  std::string tls_key_file;
  // File with the client's token in its first line, for servers that ask for one. It is read once.
  // Tokens are sent over TLS, Unix sockets and the loopback only. Empty: the client has no token.
  std::string token_file;
  // Longest time of one call, or of one try to open a stream. Infinite: no limit.
  absl::Duration timeout = absl::InfiniteDuration();
  // Calls wait for a server that cannot be reached, for up to `timeout`, instead of failing at
  // once. Streams have `StreamOptions.reconnect_for` for it.
  bool wait_for_server = false;
  // Clients of one process that call the same address with the same options share a connection.
  // True: this client has one of its own, and with it a share of its own in the bandwidth.
  bool own_connection = false;
};

// The server's table entry for an error of this library. For an error without an entry only code
// and message are set.
v1::Status WireStatusOf(const absl::Status& status);

// Status for the table entry of a frame inside a stream. OK for code 0.
absl::Status StatusFromWire(const v1::Status& status);

enum class Health { kServing, kNotServing };

// An event of a stream, beside the results of its frames.
struct StreamEvent {
  enum class Kind {
    kReopened,     // the server has answered Reopen(): later results follow the new options
    kGoingAway,    // the server is about to stop; it still answers the frames sent so far
    kLost,         // the connection is lost; the stream tries to connect again
    kReconnected,  // the stream runs again, on a new connection; no kLost comes before it if the
                   // server said that it would stop, and answered every frame
  };
  Kind kind = Kind::kLost;
  absl::Status status;  // kLost: the cause; kGoingAway: the server's reason
  // kLost: numbers of the frames that were sent and not answered, in their order. Each of them gets
  // a result with the status UNAVAILABLE.
  std::vector<uint64_t> lost_sequences;
  int attempts = 0;         // kReconnected: connections that were tried, from 1
  v1::StreamOpened opened;  // kReopened, kReconnected: the server's answer
};

struct StreamOptions {
  // Longest time after the loss of a connection during which the stream tries to connect again, and
  // of Client::OpenStream() for the first one. Zero: the loss ends the stream, and the first
  // connection is tried once. There is one try at least, and a last one at the end of the time. The
  // time begins anew when a frame is answered, and after a connection that has lasted longer than
  // this time.
  //
  // A connection is lost when the server cannot be reached any more, stops, or ends the stream
  // before CloseSend(). A new one is opened with the latest options (Reopen() included). The state
  // of the robot on the server is gone: the first frame has nothing to match with, no frame is a
  // keyframe, and tracks begin anew. Ids of tracks go on, so that no id stands for two tracks; the
  // first result without an error names the tracks that were lost in `ended_tracks`, with the
  // reason TRACK_END_RECONNECTED.
  absl::Duration reconnect_for = absl::ZeroDuration();
  // Time from a loss to the first try, and from the beginning of one try to the next one. It
  // doubles with every try up to `max_delay`. The wait is a random share of it, one half to all:
  // otherwise all robots would return to a server that was restarted at once. A server that asks
  // for a longer wait gets it. A try waits for a server that cannot be reached, which gRPC looks
  // for twice a second: these times matter where a server, or a proxy, refuses streams.
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration max_delay = absl::Milliseconds(800);
  // Longest time of one try; the first connection has `ClientOptions.timeout` besides.
  absl::Duration try_timeout = absl::Seconds(10);
  // Called by Receive(), on its thread, between the results that the event separates. Must not call
  // the stream, except Cancel(). May be empty.
  std::function<void(const StreamEvent& event)> on_event;
};

class FrameStream;

// A connection to one server, or to several that do the same. Thread-safe. Must outlive every
// pipeline and stream made from it.
class Client {
 public:
  // Prepares a connection to `address`, a gRPC target such as "127.0.0.1:50051". Nothing is sent
  // before the first call. INVALID_ARGUMENT for an address or a client id that cannot be sent;
  // INVALID_ARGUMENT or NOT_FOUND for files of certificates, keys and tokens that cannot be used.
  //
  // A target with a scheme for names or numbers may stand for several servers:
  // "dns:///features:50051", "ipv4:10.0.0.1:50051,10.0.0.2:50051". Calls and streams go to them in
  // turn. Extract(), Match(), GetServerInfo() and ListReferences() are tried again, up to five
  // times in all, when a server is gone or refuses them because it stops. Every server has
  // references of its own.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address,
                                                         const ClientOptions& options);

  // Uses a channel made elsewhere, for example a server's in-process channel. Ignores the files of
  // `options`. INVALID_ARGUMENT for a client id that cannot be sent.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(std::shared_ptr<grpc::Channel> channel,
                                                         const ClientOptions& options);

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  absl::StatusOr<v1::ExtractResponse> Extract(const v1::ExtractRequest& request);
  absl::StatusOr<v1::MatchResponse> Match(const v1::MatchRequest& request);
  absl::StatusOr<v1::PutReferenceResponse> PutReference(const v1::PutReferenceRequest& request);
  absl::Status DeleteReference(const std::string& name);
  // All references, in as many calls as there are pages.
  absl::StatusOr<v1::ListReferencesResponse> ListReferences();
  // One page.
  absl::StatusOr<v1::ListReferencesResponse> ListReferences(
      const v1::ListReferencesRequest& request);
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo();

  // Asks grpc.health.v1.Health for the health of `service`; "" is the whole server.
  absl::StatusOr<Health> CheckHealth(const std::string& service = "");

  // Opens a stream and waits for the server's answer to `open`.
  absl::StatusOr<std::unique_ptr<FrameStream>> OpenStream(const v1::StreamOpen& open,
                                                          StreamOptions options = {});

 private:
  friend class ExtractPipeline;
  friend class FrameStream;

  Client(std::shared_ptr<grpc::Channel> channel, const ClientOptions& options);

  // One page, whose names go on after `last_name`.
  absl::StatusOr<v1::ListReferencesResponse> ListReferences(
      const v1::ListReferencesRequest& request, const std::string& last_name);
  // Sets name and token of the caller of one call.
  void AddIdentity(grpc::ClientContext* context) const;
  // Sets what AddIdentity() sets, and the deadline.
  void Prepare(grpc::ClientContext* context) const;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Features::StubInterface> stub_;
  const ClientOptions options_;
  std::string authorization_;  // metadata with the token; empty without one
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

// Stream of one robot's frames. Results come in the order of the frames, exactly one for each frame
// sent, unless the stream ends with an error. One thread sends and one receives; one thread may do
// both if it leaves at most `max_in_flight` frames unanswered.
class FrameStream {
 public:
  // Cancels the stream unless it was received to its end.
  ~FrameStream();

  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  // The server's latest answer to an opening: the pipeline in force and the frames that it takes at
  // once.
  v1::StreamOpened opened() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Sends a frame. Waits while the server holds the stream back, or while the stream connects
  // again. An error means that the stream has ended; Receive() returns the reason.
  absl::Status Send(v1::Frame frame) ABSL_LOCKS_EXCLUDED(mutex_);

  // Changes the options of all frames that are sent later. Belongs to the sending thread. Errors as
  // Send(); a server that refuses the options ends the stream.
  absl::Status Reopen(const v1::StreamOpen& open) ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the server that no more frames follow. Belongs to the sending thread.
  absl::Status CloseSend() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for the next result. No value means that the stream ended well: after CloseSend(), with
  // a result for every frame. A failed frame has its `status` set and does not end the stream.
  absl::StatusOr<std::optional<v1::FrameResult>> Receive() ABSL_LOCKS_EXCLUDED(mutex_);

  // True once the server has said that it is about to stop, until the stream has gone over to
  // another one. It still answers the frames sent so far.
  bool going_away() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream from any thread. Send() and Receive() return.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class Client;

  struct Connection;
  // A frame that was sent and not answered yet.
  struct Unanswered {
    uint64_t sequence;
    int64_t timestamp_ns;
  };
  // The next thing that Receive() hands out.
  using Delivery = std::variant<v1::FrameResult, StreamEvent>;

  FrameStream(Client* client, v1::StreamOpen open, StreamOptions options);

  // Opens a connection and waits for the server's answer, for up to `timeout`. `wait_for_server`:
  // waits for a server that cannot be reached, too.
  absl::Status Open(const v1::StreamOpen& open, absl::Duration timeout, bool wait_for_server,
                    Connection* connection, v1::StreamOpened* opened) const;
  // Sends `request` on the current connection, or the next one.
  absl::Status Write(const v1::StreamFramesRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes a message of the server.
  void Take(v1::StreamFramesResponse response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the tracks of a result their ids on this stream, and names those that were lost.
  void TakeTracks(v1::FrameResult* result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends `connection`, whose messages or whose reader have ended: reads it to its end and decides
  // what becomes of the stream. Waits for the other thread to leave the connection. Does nothing if
  // that has been done.
  void End(const std::shared_ptr<Connection>& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fails the frames without an answer.
  void LoseUnanswered(const absl::Status& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the time of the next try after a loss, or after a try that began at `begun`. Sets
  // `final_status_` if the server asks for a longer wait than there is time.
  void PlanTry(const absl::Status& cause, absl::Time begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the time of the next try and tries once to connect, for up to `timeout`. Sets
  // `final_status_` when there is no use in a further try.
  void Connect(absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Client* const client_;
  const StreamOptions options_;
  mutable absl::Mutex mutex_;
  // Null while the stream is down.
  std::shared_ptr<Connection> connection_ ABSL_GUARDED_BY(mutex_);
  // A connection that is being opened, for Cancel().
  std::shared_ptr<Connection> opening_ ABSL_GUARDED_BY(mutex_);
  v1::StreamOpen open_ ABSL_GUARDED_BY(mutex_);  // the latest options
  v1::StreamOpened opened_ ABSL_GUARDED_BY(mutex_);
  std::deque<Unanswered> unanswered_ ABSL_GUARDED_BY(mutex_);
  std::deque<Delivery> deliveries_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;     // a thread reads from the connection
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;     // a thread writes to it
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;        // a thread ends it, or opens a new one
  bool going_away_ ABSL_GUARDED_BY(mutex_) = false;  // the server of the latest connection
  bool send_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // by the caller
  absl::Time next_try_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time give_up_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // after the latest loss
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;                   // since the latest answered frame
  uint64_t first_id_ ABSL_GUARDED_BY(mutex_) = 0;              // added to ids of tracks
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;               // largest id of a track so far
  std::vector<uint64_t> tracks_ ABSL_GUARDED_BY(mutex_);       // of this connection's latest result
  std::vector<uint64_t> lost_tracks_ ABSL_GUARDED_BY(mutex_);  // of connections before, id up
  std::optional<absl::Status> final_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_H_
