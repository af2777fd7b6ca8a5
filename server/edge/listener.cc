// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "server/edge/coarse_clock.h"
#include "server/edge/connection_table.h"
#include "server/edge/descriptor_limit.h"
#include "server/edge/first_bytes.h"
#include "server/edge/guard/guard.h"
#include "server/edge/handshake_thread.h"
#include "server/edge/listen_sockets.h"
#include "server/edge/parked_connections.h"
#include "server/edge/self_check_sockets.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

// Descriptors for everything but connections: the HTTP endpoint, probes, files, devices.
constexpr int kReservedDescriptors = 20;
constexpr int kMaxEvents = 64;
constexpr int kMaxAcceptsAtOnce = 64;
constexpr int kMaxArrivals = 64;
constexpr size_t kClosedAtOnce = 64;  // of parked connections where descriptors are wanted
constexpr int kMaxFlights = 2;        // that a client of TLS 1.2 or 1.3 answers
constexpr int kWaitMs = 2;            // for a place to become free
constexpr int kRetryMs = 10;          // after a failure that may pass
constexpr int kLookMs = 1000;         // between looks for clients that are late or paused

// An event of epoll is about a connection, by its number, or about one of these.
constexpr uint64_t kWake = uint64_t{1} << 63;
constexpr uint64_t kGuard = uint64_t{1} << 61;
constexpr uint64_t kParked = uint64_t{1} << 60;     // plus the number of the parked connection
constexpr uint64_t kListening = uint64_t{1} << 62;  // plus the index of the socket

std::string ErrorText(int error) { return std::generic_category().message(error); }

// The self-check stands for a client of its own.
const PeerKeys& SelfCheckPeer() {
  static const PeerKeys peer = {"self-check", "self-check", "self-check"};
  return peer;
}

}  // namespace

class Listener::Impl {
 public:
  explicit Impl(const ListenerOptions& options) : options_(options) {}

  ~Impl() {
    Wake();
    if (thread_.joinable()) {
      guard_->Stop();
      thread_.join();
      handshakes_.reset();
    }
    if (table_ == nullptr) return;
    for (const auto& [number, connection] : table_->all()) {
      shutdown(connection.duplicate.get(), SHUT_RDWR);
      guard_->Resume(connection.descriptor);  // its number may be another connection's by now
    }
  }

  absl::Status Open() {
    ORBSERVE_ASSIGN_OR_RETURN(sockets_,
                              ListenSockets::Bind(options_.address, options_.user_timeout));
    port_ = sockets_.port();
    self_checks_.SetTarget(LocalAddressOf(sockets_.sockets().front().get()));
    epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
    wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    spare_.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const GuardBounds bounds = {
        .max_calls_per_connection = static_cast<uint32_t>(options_.max_calls_per_connection),
        .max_unproven_calls = options_.max_unproven_calls,
        .max_unfinished_bytes = options_.max_unfinished_bytes};
    guard_ = ConnectionGuard::Make(bounds, epoll_.get(), kGuard);
    if (!epoll_ || !wake_ || !spare_ || guard_ == nullptr || !Watch(wake_.get(), EPOLLIN, kWake)) {
      return absl::UnavailableError(
          absl::StrCat("cannot serve on ", options_.address, ": ", ErrorText(errno)));
    }
    const int reserved = kReservedDescriptors + options_.reserved_descriptors;
    bounds_.max_connections = AffordableConnections(options_.max_connections, reserved);
    // They have one descriptor each, of those that are left.
    parked_.SetMax(static_cast<size_t>(AffordableConnections(
        2 * bounds_.max_connections, reserved + 2 * bounds_.max_connections)));
    // The same part of what there is.
    const int64_t part = int64_t{options_.max_connections_per_address} * bounds_.max_connections /
                         options_.max_connections;
    const int few = std::min(options_.max_connections_per_address, kMinConnectionsPerAddress);
    bounds_.max_connections_per_address =
        static_cast<int>(std::min<int64_t>(std::max<int64_t>(part, few), bounds_.max_connections));
    if (bounds_.max_connections < options_.max_connections) {
      spdlog::warn("event=connections_capped wanted={} max_connections={} reason=descriptor_limit",
                   options_.max_connections, bounds_.max_connections);
    }
    bounds_.has_credentials = options_.has_credentials;
    bounds_.makes_handshakes = !options_.is_plain && options_.begin_handshake;
    table_ =
        std::make_unique<ConnectionTable>(bounds_, [this](const TrackedConnection& connection) {
          GuardView view = guard_->View(connection.descriptor);
          if (connection.stage != Stage::kServed) view.calls = 0;  // also without a guard
          return view;
        });
    return absl::OkStatus();
  }

  void Start(HandOver hand_over) {
    hand_over_ = std::move(hand_over);
    for (size_t i = 0; i < sockets_.sockets().size(); ++i) {
      Watch(sockets_.sockets()[i].get(), EPOLLIN, kListening + i);
    }
    guard_->Start();
    if (bounds_.makes_handshakes) {
      handshakes_ = std::make_unique<HandshakeThread>(HandshakeThread::Calls{
          .take = [this](size_t most) { return TakeArrivals(most); },
          .begin = options_.begin_handshake,
          .put_back = [this](std::vector<ArrivedConnection>& batch) { PutBack(batch); },
          .hand_over = [this](ArrivedConnection& arrived) { HandOverArrived(arrived); }});
    }
    thread_ = std::thread([this] { Run(); });
  }

  void StopAccepting() {
    // The threads hold these locks while they accept and hand over.
    const std::scoped_lock lock(accept_mutex_, hand_over_mutex_);
    sockets_.Close();
    hands_over_ = false;
    const std::scoped_lock table_lock(mutex_);
    parked_.CloseAll();
  }

  void ShutDownConnections() {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, connection] : table_->all()) {
      shutdown(connection.duplicate.get(), SHUT_RDWR);
    }
    stopped_ = true;
  }

  void Prove(const std::string& endpoint, const std::string& owner) {
    const std::scoped_lock lock(mutex_);
    for (const uint64_t number : table_->UnprovenAt(endpoint)) {
      const TrackedConnection& connection = *table_->Find(number);
      const ConnectionTable::Decision room =
          table_->RoomForProven(connection.peer, owner, CoarseNowMs());
      if (room.room == ConnectionTable::Room::kFull) {
        Close(number, CloseReason::kFull);
        continue;
      }
      guard_->Prove(connection.descriptor);
      if (room.room == ConnectionTable::Room::kPreempt) {
        Close(room.preempted, CloseReason::kPreempted);
      }
      table_->Prove(number, owner);
    }
  }

  absl::StatusOr<SelfCheckConnection> ConnectSelfCheck() {
    auto connection = self_checks_.Connect();
    if (connection.ok()) guard_->Disarm(connection->socket.get());
    return connection;
  }

  int port() const { return port_; }

  int max_connections() const { return bounds_.max_connections; }

  ListenerUse use() const {
    const std::scoped_lock lock(mutex_);
    ListenerUse use;
    use.connections = table_->size();
    use.max_connections = bounds_.max_connections;
    use.max_connections_per_address = bounds_.max_connections_per_address;
    use.closed = closes_.of_reasons();
    return use;
  }

 private:
  using Stage = TrackedConnection::Stage;

  bool Watch(int descriptor, uint32_t events, uint64_t about) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = about;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  void Wake() {
    const uint64_t one = 1;
    // A full counter wakes as well.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }

  void Run() {
    // Connections in plaintext are handed over one at a time between the others, so that clients
    // which nobody knows do not come faster than they are served.
    const bool serves_here = handshakes_ == nullptr;
    std::array<epoll_event, kMaxEvents> events;
    for (;;) {
      const bool looks = arriving_ > 0 || has_parked_ || guard_->has_paused();
      const int wait_ms = serves_here && HasArrivals()    ? 0
                          : waiting_.socket || is_behind_ ? kWaitMs
                          : looks                         ? kLookMs
                                                          : -1;
      const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, wait_ms);
      bool has_arrivals = false;
      for (int i = 0; i < count; ++i) {
        const uint64_t about = events[static_cast<size_t>(i)].data.u64;
        if (about == kWake) return;
        if (about == kGuard) {
          guard_->BeginTurns();
          const std::scoped_lock lock(mutex_);
          guard_->CloseHeaviest(*table_);
        } else if ((about & kListening) != 0) {
          AcceptFrom(about - kListening);
        } else {
          const std::scoped_lock lock(mutex_);
          if ((about & kParked) != 0) {
            parked_.Close(about - kParked);
            continue;
          }
          OnConnection(about, events[static_cast<size_t>(i)].events);
          has_arrivals |= table_->has_arrivals();
        }
      }
      if (has_arrivals && !serves_here) handshakes_->Notify();
      if (waiting_.socket || is_behind_) RetryWaiting();
      if (serves_here) {
        for (ArrivedConnection& arrived : TakeArrivals(1)) HandOverArrived(arrived);
      }
      if (looks) Look();
    }
  }

  bool HasArrivals() const {
    const std::scoped_lock lock(mutex_);
    return table_->has_arrivals();
  }

  // Takes the connection that waits, if there is room by now, and the next ones then.
  void RetryWaiting() {
    if (is_behind_ && IsBehind()) return;
    is_behind_ = false;
    const std::scoped_lock accept_lock(accept_mutex_);
    queued_ = Queued();
    if (waiting_.socket) Take(std::exchange(waiting_.socket, FileDescriptor()), waiting_.peer);
    if (!waiting_.socket) Listen(EPOLLIN);
  }

  // More handshakes wait to begin than are made within a few milliseconds. Nothing is accepted
  // until there are fewer: clients wait in the system's queue and are not refused.
  bool IsBehind() const {
    const std::scoped_lock lock(mutex_);
    return bounds_.makes_handshakes && table_->arrivals() >= kMaxArrivals;
  }

  // Changes the events of the sockets that listen.
  void Listen(uint32_t events) {
    for (size_t i = 0; i < sockets_.sockets().size(); ++i) {
      epoll_event event = {};
      event.events = events;
      event.data.u64 = kListening + i;
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, sockets_.sockets()[i].get(), &event);
    }
  }

  void AcceptFrom(size_t index) {
    const std::scoped_lock accept_lock(accept_mutex_);
    queued_ = Queued();
    for (int i = 0; i < kMaxAcceptsAtOnce; ++i) {
      // The second is an event from before StopAccepting().
      if (waiting_.socket || sockets_.sockets().empty()) return;
      if (IsBehind()) {
        is_behind_ = true;
        Listen(0);
        return;
      }
      const int listening = sockets_.sockets()[index].get();
      SocketAddress peer;
      peer.size = sizeof(peer.storage);
      FileDescriptor accepted(
          accept4(listening, peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (accepted) {
        Take(std::move(accepted), peer);
        continue;
      }
      switch (errno) {
        case EAGAIN:
          return;
        case EMFILE:
        case ENFILE:
          if (CloseParked()) break;
          Refuse(listening);
          break;
        case ENOBUFS:
        case ENOMEM:
          std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
          return;
        default:
          break;  // the error of one connection that is gone
      }
    }
  }

  bool CloseParked() {
    const std::scoped_lock lock(mutex_);
    return parked_.CloseOldest(kClosedAtOnce);
  }

  // No descriptor is left: the spare one is used to tell a client. The listener stays responsive,
  // and the client does not wait.
  void Refuse(int listening) {
    spare_.Reset();
    const FileDescriptor accepted(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
    const int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool was_refused = static_cast<bool>(accepted);
    if (was_refused) {
      const std::scoped_lock lock(mutex_);
      closes_.Add(CloseReason::kNoDescriptor, "unknown", table_->size());
    }
    spare_.Reset(number);
    // Else the loop would spin where another part of the process took the spare one.
    if (!was_refused) std::this_thread::sleep_for(std::chrono::milliseconds(kRetryMs));
  }

  void Take(FileDescriptor accepted, const SocketAddress& peer) {
    TrackedConnection connection;
    connection.descriptor = accepted.get();
    connection.peer = PeerKeysOf(peer);
    connection.opened_ms = CoarseNowMs();
    {
      const std::scoped_lock lock(mutex_);
      // gRPC has closed this number, and the event has not arrived yet.
      End(table_->NumberOf(accepted.get()));
      connection.is_self_check = self_checks_.Contains(connection.peer.endpoint);
      switch (MakeRoom(connection)) {
        case Place::kGiven:
          break;
        case Place::kLater:
          waiting_ = {std::move(accepted), peer};
          Listen(0);
          return;
        case Place::kRefused:
          self_checks_.Refuse(connection.peer.endpoint);
          return;
      }
      self_checks_.Forget(connection.peer.endpoint);
      connection.duplicate.Reset(fcntl(accepted.get(), F_DUPFD_CLOEXEC, 0));
      if (!connection.duplicate ||
          !guard_->Arm(accepted.get(), IsPlain(connection), connection.peer.address)) {
        closes_.Add(CloseReason::kNoDescriptor, connection.peer.address, table_->size());
        return;
      }
      const int duplicate = connection.duplicate.get();
      connection.stage = Stage::kSilent;
      connection.arriving = std::move(accepted);
      ++arriving_;
      const uint64_t number = table_->Add(std::move(connection));
      if (!Watch(duplicate, EPOLLIN | EPOLLET, number)) End(number);
    }
  }

  bool IsPlain(const TrackedConnection& connection) const {
    return options_.is_plain || connection.is_self_check;
  }

  // The client has sent something, or the connection is over.
  void OnConnection(uint64_t number, uint32_t events) {
    TrackedConnection* const connection = table_->Find(number);
    if (connection == nullptr) return;
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) return End(number);
    if (connection->stage == Stage::kServed) {
      // gRPC does so too, once it has read to the end: not while the connection is paused.
      if ((events & EPOLLRDHUP) != 0 && !connection->is_proven) {
        shutdown(connection->duplicate.get(), SHUT_RDWR);
        End(number);
      }
      return;
    }
    if (connection->is_taken) {
      connection->has_spoken = true;
      return;
    }
    if (connection->stage == Stage::kSilent) {
      const FirstBytes first = LookAtFirstBytes(connection->duplicate.get(), IsPlain(*connection));
      if (first == FirstBytes::kEnded) return End(number);
      if (first == FirstBytes::kIncomplete) return;
    }
    table_->SetArrived(number);
  }

  // Takes connections that have arrived and are to be served next.
  std::vector<ArrivedConnection> TakeArrivals(size_t most) {
    std::vector<ArrivedConnection> taken;
    const std::scoped_lock lock(mutex_);
    while (taken.size() < most && table_->has_arrivals()) {
      const uint64_t number = table_->NextArrival();
      TrackedConnection& connection = *table_->Find(number);
      connection.is_taken = true;
      connection.has_spoken = false;
      taken.push_back(
          {.number = number,
           .socket = std::move(connection.arriving),
           .handshake = std::move(connection.handshake),
           .wants_handshake = connection.stage == Stage::kSilent && !IsPlain(connection),
           .is_self_check = connection.is_self_check});
    }
    return taken;
  }

  void PutBack(std::vector<ArrivedConnection>& connections) {
    const std::scoped_lock lock(mutex_);
    for (ArrivedConnection& arrived : connections) {
      if (arrived.progress == HandshakeProgress::kWaits) PutBack(arrived);
      if (arrived.progress == HandshakeProgress::kFailed) EndHandshake(arrived);
    }
  }

  void EndHandshake(const ArrivedConnection& arrived) {
    const TrackedConnection* const connection = table_->Find(arrived.number);
    if (connection == nullptr) return;  // preempted meanwhile
    if (options_.on_handshake_failed) {
      options_.on_handshake_failed(connection->peer.address, arrived.failure);
    }
    End(arrived.number);
  }

  // The handshake waits for the client.
  void PutBack(ArrivedConnection& arrived) {
    TrackedConnection* const connection = table_->Find(arrived.number);
    if (connection == nullptr) return;  // preempted meanwhile
    connection->stage = Stage::kHandshake;
    // A client that sends a byte at a time is not given time for each.
    if (++connection->steps <= kMaxFlights) connection->turn_ms = CoarseNowMs();
    connection->arriving = std::move(arrived.socket);
    connection->handshake = std::move(arrived.handshake);
    connection->is_taken = false;
    if (connection->has_spoken) table_->SetArrived(arrived.number);
  }

  void HandOverArrived(ArrivedConnection& arrived) {
    const std::scoped_lock hand_over_lock(hand_over_mutex_);
    {
      const std::scoped_lock lock(mutex_);
      TrackedConnection* const connection = table_->Find(arrived.number);
      if (connection == nullptr) return;  // preempted meanwhile
      if (!hands_over_) return End(arrived.number);
      epoll_event event = {};
      event.events = EPOLLET | EPOLLRDHUP;  // only hang-ups are reported from now on
      event.data.u64 = arrived.number;
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection->duplicate.get(), &event);
      connection->stage = Stage::kServed;
      if (bounds_.makes_handshakes) connection->turn_ms = CoarseNowMs();
      connection->is_taken = false;
      --arriving_;
    }
    hand_over_(std::move(arrived.socket), std::move(arrived.handshake), arrived.is_self_check);
  }

  // Ends connections that are past the limit of handshakes, and resumes those that are paused and
  // need not be.
  void Look() {
    const int64_t now_ms = CoarseNowMs();
    if (now_ms < next_look_ms_) return;
    next_look_ms_ = now_ms + kLookMs;
    const std::scoped_lock lock(mutex_);
    std::vector<uint64_t> late;
    for (const auto& [number, connection] : table_->all()) {
      if (connection.stage != Stage::kServed &&
          now_ms - connection.opened_ms >= kHandshakeLimit.count()) {
        late.push_back(number);
      }
      guard_->Resume(connection.descriptor);
    }
    for (const uint64_t number : late) End(number);
    parked_.CloseLate(now_ms);
    has_parked_ = parked_.size() > 0;
  }

  enum class Place { kGiven, kLater, kRefused };

  // Looks for a place for a connection.
  Place MakeRoom(const TrackedConnection& connection) {
    using Room = ConnectionTable::Room;
    const PeerKeys& peer = connection.is_self_check ? SelfCheckPeer() : connection.peer;
    const ConnectionTable::Decision room = table_->RoomFor(peer, queued_, connection.opened_ms);
    if (room.room == Room::kLater) return Place::kLater;
    if (connection.is_self_check) {
      // It asks for room and does not take it.
      const bool is_full =
          room.room == Room::kFull ||
          table_->RoomForProven(peer, peer.address, connection.opened_ms).room == Room::kFull;
      return is_full ? Place::kRefused : Place::kGiven;
    }
    switch (room.room) {
      case Room::kPreempt:
        Close(room.preempted, CloseReason::kPreempted);
        return Place::kGiven;
      case Room::kFull:
        closes_.Add(CloseReason::kFull, peer.address, table_->size());
        return Place::kRefused;
      case Room::kAddressFull:
        closes_.Add(CloseReason::kAddressFull, peer.address, table_->size());
        return Place::kRefused;
      default:
        return Place::kGiven;
    }
  }

  // Connections that wait to be accepted. 0 where the system does not say, as of a Unix socket.
  int Queued() const {
    int64_t queued = 0;
    for (const FileDescriptor& socket : sockets_.sockets()) {
      tcp_info info = {};
      socklen_t size = sizeof(info);
      // For a socket that listens, this field is the length of its queue.
      if (getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        queued += info.tcpi_unacked;
      }
    }
    return static_cast<int>(std::min<int64_t>(queued, INT_MAX));
  }

  // The connection is over: gRPC has shut it down, or its peer is gone.
  void End(uint64_t number) {
    const TrackedConnection* const connection = table_->Find(number);
    if (connection == nullptr) return;
    const Http2Violation violation = guard_->View(connection->descriptor).violation;
    CloseReason reason = CloseReasonOf(violation);
    if (reason == CloseReason::kEnded && stopped_) reason = CloseReason::kStopped;
    if (!connection->is_self_check) closes_.Add(reason, connection->peer.address, table_->size());
    Forget(number);
  }

  void Close(uint64_t number, CloseReason reason) {
    TrackedConnection& connection = *table_->Find(number);
    closes_.Add(reason, connection.peer.address, table_->size());
    if (reason != CloseReason::kPreempted || !Park(connection)) {
      shutdown(connection.duplicate.get(), SHUT_RDWR);
    }
    Forget(number);
  }

  // False where gRPC, or the thread that hands over, has the connection.
  bool Park(TrackedConnection& connection) {
    if (connection.stage == Stage::kServed || connection.is_taken || !parked_.has_places()) {
      return false;
    }
    const int descriptor = connection.duplicate.get();
    // What has arrived is dropped: a further byte is to be noticed.
    recv(descriptor, nullptr, INT_MAX, MSG_TRUNC | MSG_DONTWAIT);
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    event.data.u64 = kParked + parked_.Add(std::move(connection.duplicate), CoarseNowMs());
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
    has_parked_ = true;
    return true;
  }

  void Forget(uint64_t number) {
    // The guard stays armed, because gRPC may still have the descriptor. It is armed anew with the
    // number.
    TrackedConnection& connection = *table_->Find(number);
    guard_->Close(connection.descriptor);
    if (connection.stage != Stage::kServed) --arriving_;
    if (connection.handshake != nullptr) handshakes_->Discard(std::move(connection.handshake));
    table_->Remove(number);
  }

  const ListenerOptions options_;
  SelfCheckSockets self_checks_;
  int port_ = 0;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  HandOver hand_over_;
  ConnectionBounds bounds_;

  std::unique_ptr<ConnectionGuard> guard_;

  std::mutex accept_mutex_;     // taken before mutex_
  ListenSockets sockets_;       // under accept_mutex_ once the thread runs
  std::mutex hand_over_mutex_;  // taken before mutex_
  bool hands_over_ = true;      // under hand_over_mutex_
  // The thread uses these: a descriptor to give up when there is none left, and the connection that
  // waits for a place, while nothing is accepted.
  FileDescriptor spare_;
  struct {
    FileDescriptor socket;
    SocketAddress peer;
  } waiting_;
  bool is_behind_ = false;  // IsBehind() was true, and nothing is accepted
  int queued_ = 0;          // connections that waited to be accepted a moment ago
  int64_t next_look_ms_ = 0;

  mutable std::mutex mutex_;  // guards everything below
  std::unique_ptr<ConnectionTable> table_;
  ParkedConnections parked_;
  std::atomic<bool> has_parked_{false};
  std::atomic<int> arriving_{0};  // connections that gRPC has not got yet
  CloseCount closes_;
  bool stopped_ = false;

  std::thread thread_;
  std::unique_ptr<HandshakeThread> handshakes_;  // null where gRPC gets connections without
};

absl::StatusOr<std::unique_ptr<Listener>> Listener::Create(const ListenerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  ORBSERVE_RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;
void Listener::Start(HandOver hand_over) { impl_->Start(std::move(hand_over)); }
void Listener::StopAccepting() { impl_->StopAccepting(); }
void Listener::ShutDownConnections() { impl_->ShutDownConnections(); }
void Listener::Prove(const std::string& endpoint, const std::string& owner) {
  impl_->Prove(endpoint, owner);
}
absl::StatusOr<SelfCheckConnection> Listener::ConnectSelfCheck() {
  return impl_->ConnectSelfCheck();
}
int Listener::port() const { return impl_->port(); }
int Listener::max_connections() const { return impl_->max_connections(); }

ListenerUse Listener::use() const { return impl_->use(); }

}  // namespace orbserve
