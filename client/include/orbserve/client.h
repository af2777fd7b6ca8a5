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

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
  // Longest silence of the connection of streams that reconnect, >= 2 s; infinite: any. The server
  // is probed after a second of silence, or a third of this time if that is longer; without an
  // answer the connection is lost at its end. A probe waits behind what is under way: where that
  // may be the reason for the silence, the stream's next connection has twice the time. Other
  // streams and calls have 30 s, on a connection of their own. Without a name (`client_id`,
  // certificate, token), which owns references, streams with `references` are on that of the calls.
  absl::Duration keepalive = absl::Milliseconds(2250);
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
  // Frames that wait in the client with DROP_POLICY_NEWEST and DROP_POLICY_OLDEST, >= 1.
  int max_waiting = 1;
  // Above zero: raw frames are sent as grey JPEG files, with a quality that keeps the age of
  // answers near this one (docs/streams.md, "JPEG files"). Send() encodes; features are those of
  // the file.
  absl::Duration jpeg_age = absl::ZeroDuration();
  // Called by Receive(), on its thread, between the results that the event separates. Must not call
  // the stream, except Cancel(). May be empty.
  std::function<void(const StreamEvent& event)> on_event;
};

class FrameStream;
class JpegQuality;

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
  // The stub of streams whose connection has this keepalive. Needs `make_channel_`.
  v1::Features::StubInterface* StreamStub(absl::Duration keepalive)
      ABSL_LOCKS_EXCLUDED(stream_stubs_mutex_);

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Features::StubInterface> stub_;
  const ClientOptions options_;
  std::string authorization_;  // metadata with the token; empty without one
  // Makes a channel to the same address with another keepalive; empty for a channel made elsewhere.
  std::function<std::shared_ptr<grpc::Channel>(absl::Duration keepalive)> make_channel_;
  absl::Mutex stream_stubs_mutex_;
  // Streams share them, so that they go to the servers of a group in turn.
  std::map<absl::Duration, std::unique_ptr<v1::Features::StubInterface>> stream_stubs_
      ABSL_GUARDED_BY(stream_stubs_mutex_);
};

struct ExtractPipelineOptions {
  int max_in_flight = 32;  // calls under way at once, >= 1
  // Most tries of one frame, >= 1. A frame is tried again when the server says that a new try makes
  // sense (queue full, draining, device lost), goes away or cannot be reached. The pipeline waits
  // as long as the server advises, else 100 ms, and twice as long each time. A frame over the
  // client's quota waits for the end of another one of the pipeline, which is no try.
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
  // True if the call was refused for the client's quota and the end of a running one starts it.
  bool WaitsForRoom(Call* call, const absl::Status& error);

  Client* const client_;
  const ExtractPipelineOptions options_;
  absl::Mutex mutex_;
  absl::flat_hash_set<Call*> calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<Call*> waiting_for_room_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // calls that gRPC has
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// Times that the client measured for one frame, on its steady clock.
struct FrameTimes {
  absl::Duration age;  // from the capture to the result here
  // From the writing of the frame to its result here; zero for a frame that was not written. The
  // server had `server` of it (`FrameTimings.total_ns`), the link the rest.
  absl::Duration round_trip;
  absl::Duration server;
};

// How a stream fares on its way to the server.
struct LinkState {
  bool connected = false;
  // Latest time that a frame spent on the way there and back, and the shortest one of the last 5 to
  // 10 seconds: `round_trip` less `server`. Before the first answer of a connection both are those
  // of its opening; zero without a connection.
  absl::Duration way;
  absl::Duration shortest_way;
  // The link is what makes answers old, and not the server or the source: it keeps frames waiting
  // (NEWEST, OLDEST), which a smaller format or `jpeg_age` cures, or `shortest_way` is longer than
  // the stream's deadline. OpenStream() and kReconnected know the latter already.
  bool limits = false;
  int jpeg_quality = 0;       // of the next raw frame, 20..95; 0 without `jpeg_age`
  uint64_t dropped = 0;       // frames that the client dropped
  uint64_t late = 0;          // frames whose deadline passed before the client had sent them
  uint64_t late_answers = 0;  // answers that came after the deadline of their frame
};

// Stream of one robot's frames. Results come in the order of the frames, exactly one for each frame
// sent, unless the stream ends with an error. Threads may send and receive at the same time. One
// thread may do both, with DROP_POLICY_BLOCK if it leaves at most `max_in_flight` frames
// unanswered. The stream connects again inside these calls: somebody must send or receive.
//
// The age of a frame counts from its capture, on the steady clock of this machine; `timestamp_ns`
// is only handed through. A deadline (`Frame.deadline_ms`, else `StreamOpen.deadline_ms`) is a
// limit of this age: the server gets what is left of it when the frame is written, and a frame
// whose deadline has passed is DEADLINE_EXCEEDED wherever it is. Of an answer that comes too late
// only times, `keyframe` and the ends of tracks remain; these ends are in the next result without
// an error.
//
// With DROP_POLICY_NEWEST and DROP_POLICY_OLDEST up to `StreamOptions.max_waiting` frames wait in
// the client while the link or the server are busy, or while the stream connects again. When one
// more comes, a frame is dropped, as the policy says: its result has the reason DROPPED. No more
// frames are under way than the link needs.
class FrameStream {
 public:
  using CaptureTime = std::chrono::steady_clock::time_point;

  // Cancels the stream unless it was received to its end.
  ~FrameStream();

  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  // The server's latest answer to an opening: the pipeline in force and the frames that it takes at
  // once.
  v1::StreamOpened opened() const ABSL_LOCKS_EXCLUDED(mutex_);

  LinkState link() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Sends a frame that was captured at `captured`, by default now. With DROP_POLICY_BLOCK waits
  // while the server holds the stream back, or while the stream connects again, but no longer than
  // until the frame's deadline; with other policies never waits. An error means that the stream has
  // ended; Receive() returns the reason.
  absl::Status Send(v1::Frame frame, std::optional<CaptureTime> captured = std::nullopt)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Send() that never waits: false, and `*frame` is unchanged, where it would.
  absl::StatusOr<bool> TrySend(v1::Frame* frame, std::optional<CaptureTime> captured = std::nullopt)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Changes the options of all frames that are sent later. Waits as Send() does. Errors as Send();
  // a server that refuses the options ends the stream.
  absl::Status Reopen(const v1::StreamOpen& open) ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the server that no more frames follow those that were sent. An error means that the
  // caller has cancelled the stream; Receive() returns any other.
  absl::Status CloseSend() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for the next result. No value means that the stream ended well: after CloseSend(), with
  // a result for every frame. A failed frame has its `status` set and does not end the stream.
  // `times` may be null.
  absl::StatusOr<std::optional<v1::FrameResult>> Receive(FrameTimes* times = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Receive() for up to `timeout`; zero: does not wait. False if nothing came; `*result` and
  // `*times` are then unchanged.
  bool Receive(absl::Duration timeout, absl::StatusOr<std::optional<v1::FrameResult>>* result,
               FrameTimes* times = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);

  // True once the server has said that it is about to stop, until the stream has gone over to
  // another one. It still answers the frames sent so far.
  bool going_away() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream from any thread. Send() and Receive() return.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class Client;

  class Connection;
  struct Received {
    v1::FrameResult result;
    FrameTimes times;
  };
  // The next thing that Receive() hands out; monostate: nothing.
  using Delivery = std::variant<std::monostate, Received, StreamEvent>;

  // A frame or an opening from its sending to its delivery. Is waiting until it is written; a frame
  // that fails on the client is done before.
  struct Entry {
    v1::StreamFramesRequest request;  // while it waits
    bool is_frame = false;
    uint64_t sequence = 0;
    int64_t timestamp_ns = 0;
    int64_t bytes = 0;
    uint32_t budget_ms = 0;  // 0 = none
    absl::Time captured = absl::InfinitePast();
    absl::Time deadline = absl::InfiniteFuture();
    absl::Time written = absl::InfinitePast();
    int64_t outstanding = 0;  // LinkWindow::Sample
    bool done = false;
    Delivery delivery;  // once it is done
  };

  FrameStream(Client* client, v1::StreamOpen open, StreamOptions options);

  bool reconnects() const { return options_.reconnect_for > absl::ZeroDuration(); }
  // True if frames wait in the client by the policy that was given last.
  bool has_slot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool has_ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The frame as a JPEG file; "" where it is sent as it is.
  std::string Encoded(const v1::Frame& frame) const ABSL_LOCKS_EXCLUDED(mutex_);
  Entry MakeEntry(v1::Frame frame, CaptureTime captured) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK with true where Put() would not wait for a frame. Errors as Send().
  absl::StatusOr<bool> HasPlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a frame or an opening and writes it, or lets it wait. With BLOCK waits until it is
  // written.
  absl::Status Put(Entry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True once entry `number` does not wait any more.
  bool IsTaken(uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Index of the first entry that waits; `entries_.size()` if none does.
  size_t FirstWaiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops frames, as the policy says, until the others fit into the slot.
  void DropBeyondSlot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Does everything that is due: fails frames whose deadline has passed, tries to connect, gives up
  // a try, writes. Every call of the stream begins with it.
  void Drive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Time at which Drive() has something to do unless something happens before.
  absl::Time NextDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until `is_done`, until NextDue() or until `until`, whichever comes first.
  template <typename Predicate>
  void AwaitUntil(absl::Time until, const Predicate& is_done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The stub of the next connection. Channels live as long as the stream: the end of one may wait
  // for gRPC's threads.
  v1::Features::StubInterface* Stub() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins a try to connect.
  void Connect(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes what waits, if the connection has room.
  void Write(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a message of the server.
  void Take(v1::StreamFramesResponse response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeOpened(v1::StreamOpened opened) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeResult(v1::FrameResult result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the tracks of a result their ids on this stream, and names those that ended unseen.
  // `is_late`: its tracks are not delivered.
  void TakeTracks(bool is_late, v1::FrameResult* result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The connection has ended: decides what becomes of the stream.
  void End(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndTry(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fails the frames that were written and not answered.
  void LoseUnanswered(const absl::Status& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the time of the next try after a loss, or after a try that began at `begun`. Sets
  // `final_status_` if the server asks for a longer wait than there is time.
  void PlanTry(const absl::Status& cause, absl::Time begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends a waiting frame on the client: invalidates all entries.
  void FailLate(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(absl::StatusCode code, const std::string& reason, const std::string& message,
            Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves what is done to `deliveries_`, as far as the order allows.
  void Deliver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Client* const client_;
  const StreamOptions options_;
  mutable absl::Mutex mutex_;
  absl::Duration keepalive_ ABSL_GUARDED_BY(mutex_);  // of the next connection
  // Null while the stream is down. Deleted under the lock when its call has ended.
  Connection* connection_ ABSL_GUARDED_BY(mutex_) = nullptr;
  v1::StreamOpen given_ ABSL_GUARDED_BY(mutex_);  // the latest options
  v1::StreamOpen open_ ABSL_GUARDED_BY(mutex_);   // the latest options that were written
  v1::StreamOpened opened_ ABSL_GUARDED_BY(mutex_);
  // Everything that is not delivered. The first `written_` were written or failed; among the others
  // some may have failed.
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t first_number_ ABSL_GUARDED_BY(mutex_) = 0;  // of the first entry, counted from 0
  int waiting_frames_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Delivery> deliveries_ ABSL_GUARDED_BY(mutex_);
  LinkState counts_ ABSL_GUARDED_BY(mutex_);                            // only its counters
  const std::unique_ptr<JpegQuality> jpeg_ ABSL_PT_GUARDED_BY(mutex_);  // null without `jpeg_age`
  bool going_away_ ABSL_GUARDED_BY(mutex_) = false;  // the server of the latest connection
  bool send_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // by the caller
  bool was_open_ ABSL_GUARDED_BY(mutex_) = false;   // the first connection
  absl::Duration try_timeout_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_try_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time give_up_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // after the latest loss
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;              // since the latest answered frame
  uint64_t first_id_ ABSL_GUARDED_BY(mutex_) = 0;         // added to ids of tracks
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;          // largest id of a track so far
  std::vector<uint64_t> tracks_ ABSL_GUARDED_BY(mutex_);  // that the caller knows of, id up
  std::vector<v1::EndedTrack> unseen_ends_ ABSL_GUARDED_BY(mutex_);  // that it does not know of
  std::optional<absl::Status> final_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_H_
