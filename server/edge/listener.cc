// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/edge/coarse_clock.h"
#include "server/edge/connection_table.h"
#include "server/edge/descriptor_limit.h"
#include "server/edge/listen_sockets.h"
#include "server/edge/parked_connections.h"
#include "server/process/log.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

// Descriptors for everything but connections: the HTTP endpoint, probes, files, devices.
constexpr int kReservedDescriptors = 20;
constexpr int kMaxEvents = 64;
constexpr int kMaxAcceptsAtOnce = 64;
constexpr int kMaxArrivals = 64;
// Connections that are served between looks at the events of others: in plaintext one, so that
// clients that nobody knows do not come faster than they are served, and some where handshakes are
// made.
constexpr int kServedAtOnce = 1;
constexpr int kHandshakesAtOnce = 16;
constexpr int kLogLinesPerSecond = 5;
constexpr size_t kClosedAtOnce = 64;  // of parked connections where descriptors are wanted
constexpr int kMaxFlights = 2;        // that a client of TLS 1.2 or 1.3 answers
constexpr int kWaitMs = 2;            // for a place or room to become free
constexpr int kRetryMs = 10;          // after a failure that may pass
constexpr int kLookMs = 1000;         // between looks for clients that are late or paused

// An event of epoll is about a connection, by its number, or about one of these.
constexpr uint64_t kWake = uint64_t{1} << 63;
constexpr uint64_t kGuard = uint64_t{1} << 61;
constexpr uint64_t kParked = uint64_t{1} << 60;     // plus the number of the parked connection
constexpr uint64_t kListening = uint64_t{1} << 62;  // plus the index of the socket

// The address by which this process itself reaches a socket bound to `bound`.
SocketAddress OwnTarget(SocketAddress bound) {
  if (bound.family() == AF_INET) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(bound.storage);
    if (ipv4.sin_addr.s_addr == INADDR_ANY) ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (bound.family() == AF_INET6) {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(bound.storage);
    if (IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr)) ipv6.sin6_addr = in6addr_loopback;
  }
  return bound;
}

// The self-check stands for a client of its own.
const PeerKeys& SelfCheckPeer() {
  static const PeerKeys peer = {"self-check", "self-check", "self-check"};
  return peer;
}

enum class FirstBytes { kIncomplete, kComplete, kEnded };

// Looks, without taking them, whether a client has sent the bytes that it sends at once: the
// preface of HTTP/2 and the header of its SETTINGS, or the first message of TLS. Anything else is
// complete, too: gRPC refuses it.
FirstBytes LookAtFirstBytes(int socket, bool is_plain) {
  constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  constexpr size_t kSettingsHeaderBytes = 9;
  constexpr size_t kTlsHeaderBytes = 5;
  constexpr char kTlsHandshake = 22;
  std::array<char, kPreface.size() + kSettingsHeaderBytes> start;
  const ssize_t size = recv(socket, start.data(), start.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN ? FirstBytes::kIncomplete : FirstBytes::kEnded;
  if (size == 0) return FirstBytes::kEnded;
  const absl::string_view bytes(start.data(), static_cast<size_t>(size));
  if (is_plain) {
    const bool is_http2 = absl::StartsWith(kPreface, bytes.substr(0, kPreface.size()));
    return is_http2 && bytes.size() < start.size() ? FirstBytes::kIncomplete
                                                   : FirstBytes::kComplete;
  }
  if (bytes[0] != kTlsHandshake) return FirstBytes::kComplete;
  if (bytes.size() < kTlsHeaderBytes) return FirstBytes::kIncomplete;
  const int message_bytes = static_cast<uint8_t>(bytes[3]) << 8 | static_cast<uint8_t>(bytes[4]);
  int available = 0;
  if (ioctl(socket, FIONREAD, &available) != 0) return FirstBytes::kEnded;
  return available < message_bytes + static_cast<int>(kTlsHeaderBytes) ? FirstBytes::kIncomplete
                                                                       : FirstBytes::kComplete;
}

class OwnListener final : public Listener {
 public:
  explicit OwnListener(const ListenerOptions& options) : options_(options) {}

  ~OwnListener() override {
    Wake();
    if (thread_.joinable()) {
      guard_->Stop();
      thread_.join();
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
    own_address_ = OwnTarget(LocalAddressOf(sockets_.sockets().front().get()));
    epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
    wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    spare_.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    guard_ = ConnectionGuard::Make(options_.guard, epoll_.get(), kGuard);
    if (!epoll_ || !wake_ || !spare_ || guard_ == nullptr || !Watch(wake_.get(), EPOLLIN, kWake)) {
      return CannotServe(options_.address, ErrorText(errno));
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

  void Start(HandOver hand_over) override {
    hand_over_ = std::move(hand_over);
    for (size_t i = 0; i < sockets_.sockets().size(); ++i) {
      Watch(sockets_.sockets()[i].get(), EPOLLIN, kListening + i);
    }
    guard_->Start();
    thread_ = std::thread([this] { Run(); });
  }

  void StopAccepting() override {
    const std::scoped_lock serving_lock(serving_mutex_);
    sockets_.Close();
    const std::scoped_lock lock(mutex_);
    parked_.CloseAll();
  }

  void ShutDownConnections() override {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, connection] : table_->all()) {
      shutdown(connection.duplicate.get(), SHUT_RDWR);
    }
    stopped_ = true;
  }

  void Prove(const std::string& endpoint, const std::string& owner) override {
    const std::scoped_lock lock(mutex_);
    for (const uint64_t number : table_->UnprovenAt(endpoint)) {
      const TrackedConnection& connection = *table_->Find(number);
      if (connection.stage != Stage::kServed) continue;  // of a later client of this endpoint
      const ConnectionTable::Decision room =
          table_->RoomForProven(connection.peer, owner, CoarseNowMs());
      if (room.room == Room::kFull) {
        Close(number, CloseReason::kFull);
        continue;
      }
      guard_->Prove(connection.descriptor);
      if (room.room == Room::kPreempt) {
        Close(room.preempted, CloseReason::kPreempted);
      }
      table_->Prove(number, owner);
    }
  }

  absl::StatusOr<SelfCheckConnection> ConnectSelfCheck() override {
    const auto failed = [](const char* call) {
      return absl::UnavailableError(
          absl::StrCat("the server cannot reach itself: ", call, ": ", ErrorText(errno)));
    };
    FileDescriptor made(
        socket(own_address_.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return failed("socket");
    guard_->Disarm(made.get());
    // Its name is known before the connection is made, so it is told from those of clients.
    SocketAddress name = own_address_;
    if (name.family() == AF_UNIX) {
      name = {};
      name.storage.ss_family = AF_UNIX;
      name.size = sizeof(sa_family_t);  // the system gives it a name
    } else {
      SetPort(name, 0);
    }
    if (bind(made.get(), name.get(), name.size) != 0) return failed("bind");
    const auto is_refused = std::make_shared<std::atomic<bool>>(false);
    {
      const std::scoped_lock lock(mutex_);
      self_check_ = {PeerKeysOf(LocalAddressOf(made.get())).endpoint, is_refused};
    }
    if (connect(made.get(), own_address_.get(), own_address_.size) != 0 && errno != EINPROGRESS) {
      return failed("connect");
    }
    return SelfCheckConnection{std::move(made), is_refused};
  }

  int port() const override { return port_; }

  int max_connections() const override { return bounds_.max_connections; }

  ListenerUse use() const override {
    const std::scoped_lock lock(mutex_);
    ListenerUse use;
    use.connections = table_->size();
    use.max_connections = bounds_.max_connections;
    use.max_connections_per_address = bounds_.max_connections_per_address;
    use.closed = closed_;
    return use;
  }

 private:
  using Stage = TrackedConnection::Stage;
  using Room = ConnectionTable::Room;

  bool Watch(int descriptor, uint32_t events, uint64_t about, int operation = EPOLL_CTL_ADD) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = about;
    return epoll_ctl(epoll_.get(), operation, descriptor, &event) == 0;
  }

  void Wake() {
    const uint64_t one = 1;
    // A full counter wakes as well.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }

  void Run() {
    std::array<epoll_event, kMaxEvents> events;
    bool has_more = false;
    for (;;) {
      const bool looks = arriving_ > 0 || has_parked_ || guard_->has_paused();
      const bool waits = waiting_.socket || is_behind_ || guard_->has_waiting();
      const int wait_ms = has_more ? 0 : waits ? kWaitMs : looks ? kLookMs : -1;
      const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, wait_ms);
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
          } else {
            OnConnection(about, events[static_cast<size_t>(i)].events);
          }
        }
      }
      if (waiting_.socket || is_behind_) RetryWaiting();
      if (guard_->has_waiting()) {
        const std::scoped_lock lock(mutex_);
        guard_->ReadOn(*table_);
      }
      const int most = bounds_.makes_handshakes ? kHandshakesAtOnce : kServedAtOnce;
      int served = 0;
      while (served < most && ServeNext()) ++served;
      has_more = served == most;
      if (looks) Look();
    }
  }

  // Takes the connection that waits, if there is room by now, and the next ones then.
  void RetryWaiting() {
    if (is_behind_ && IsBehind()) return;
    is_behind_ = false;
    const std::scoped_lock serving_lock(serving_mutex_);
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
      Watch(sockets_.sockets()[i].get(), events, kListening + i, EPOLL_CTL_MOD);
    }
  }

  void AcceptFrom(size_t index) {
    const std::scoped_lock serving_lock(serving_mutex_);
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
      Count(CloseReason::kNoDescriptor, "unknown");
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
      connection.is_self_check = connection.peer.endpoint == self_check_.endpoint;
      const Room room = MakeRoom(connection);
      if (room == Room::kLater) {
        waiting_ = {std::move(accepted), peer};
        Listen(0);
        return;
      }
      if (room == Room::kFull) {
        if (connection.is_self_check) *std::exchange(self_check_, {}).is_refused = true;
        return;
      }
      if (connection.is_self_check) self_check_ = {};
      connection.duplicate.Reset(fcntl(accepted.get(), F_DUPFD_CLOEXEC, 0));
      if (!connection.duplicate ||
          !guard_->Arm(accepted.get(), IsPlain(connection), connection.peer.address)) {
        Count(CloseReason::kNoDescriptor, connection.peer.address);
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
    if (connection->stage == Stage::kSilent) {
      const FirstBytes first = LookAtFirstBytes(connection->duplicate.get(), IsPlain(*connection));
      if (first == FirstBytes::kEnded) return End(number);
      if (first == FirstBytes::kIncomplete) return;
    }
    table_->SetArrived(number);
  }

  // Makes the next step of a handshake, or hands a connection over. False where nobody has arrived.
  bool ServeNext() {
    const std::scoped_lock serving_lock(serving_mutex_);
    uint64_t number = 0;
    TrackedConnection* connection = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      number = table_->NextArrival();
      if (number == 0) return false;
      connection = table_->Find(number);
    }
    // Without the lock: only this thread ends or changes a connection that gRPC does not have.
    const bool begins = connection->stage == Stage::kSilent && bounds_.makes_handshakes;
    if (begins && !connection->is_self_check) {
      connection->handshake = options_.begin_handshake(connection->arriving.get());
    }
    HandshakeFailure failure;
    const HandshakeProgress progress =
        connection->handshake == nullptr ? HandshakeProgress::kDone
                                         : ContinueHandshake(connection->handshake.get(), &failure);
    if (progress == HandshakeProgress::kFailed && options_.on_handshake_failed) {
      options_.on_handshake_failed(connection->peer.address, failure);
    }
    FileDescriptor socket;
    TlsSession handshake;
    const bool is_self_check = connection->is_self_check;
    {
      const std::scoped_lock lock(mutex_);
      if (progress == HandshakeProgress::kWaits) {
        connection->stage = Stage::kHandshake;
        // A client that sends a byte at a time is not given time for each.
        if (++connection->steps <= kMaxFlights) connection->turn_ms = CoarseNowMs();
        return true;
      }
      const bool is_stopped = sockets_.sockets().empty();
      if (progress == HandshakeProgress::kFailed || is_stopped) {
        End(number);
        return true;
      }
      // Only hang-ups are reported from now on.
      Watch(connection->duplicate.get(), EPOLLET | EPOLLRDHUP, number, EPOLL_CTL_MOD);
      connection->stage = Stage::kServed;
      if (bounds_.makes_handshakes) connection->turn_ms = CoarseNowMs();
      --arriving_;
      socket = std::move(connection->arriving);
      handshake = std::move(connection->handshake);
    }
    hand_over_(std::move(socket), std::move(handshake), is_self_check);
    return true;
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

  // Looks for a place for a connection: kFree, kLater or kFull.
  Room MakeRoom(const TrackedConnection& connection) {
    const PeerKeys& peer = connection.is_self_check ? SelfCheckPeer() : connection.peer;
    const ConnectionTable::Decision found = table_->RoomFor(peer, queued_, connection.opened_ms);
    if (found.room == Room::kLater) return Room::kLater;
    if (connection.is_self_check) {
      // It asks for room and does not take it.
      if (found.room == Room::kFull) return Room::kFull;
      const Room proven = table_->RoomForProven(peer, peer.address, connection.opened_ms).room;
      return proven == Room::kFull ? Room::kFull : Room::kFree;
    }
    if (found.room == Room::kFull || found.room == Room::kAddressFull) {
      Count(found.room == Room::kFull ? CloseReason::kFull : CloseReason::kAddressFull,
            peer.address);
      return Room::kFull;
    }
    if (found.room == Room::kPreempt) Close(found.preempted, CloseReason::kPreempted);
    return Room::kFree;
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
    CloseReason reason = guard_->View(connection->descriptor).violation;
    if (reason == CloseReason::kEnded && stopped_) reason = CloseReason::kStopped;
    if (!connection->is_self_check) Count(reason, connection->peer.address);
    Forget(number);
  }

  void Close(uint64_t number, CloseReason reason) {
    TrackedConnection& connection = *table_->Find(number);
    Count(reason, connection.peer.address);
    if (reason != CloseReason::kPreempted || !Park(connection)) {
      shutdown(connection.duplicate.get(), SHUT_RDWR);
    }
    Forget(number);
  }

  // Counts the end of a connection of `address`, and logs it where nobody wanted it.
  void Count(CloseReason reason, const std::string& address) {
    ++closed_[static_cast<size_t>(reason)];
    int64_t left_out = 0;
    if (reason == CloseReason::kEnded || reason == CloseReason::kStopped ||
        !log_limit_.Pass(left_out)) {
      return;
    }
    spdlog::warn("event=connection_closed reason={} address={} connections={} left_out={}",
                 kCloseReasonNames[static_cast<size_t>(reason)], LogValue(address), table_->size(),
                 left_out);
  }

  // False where gRPC has the connection.
  bool Park(TrackedConnection& connection) {
    if (connection.stage == Stage::kServed || !parked_.has_places()) return false;
    const int descriptor = connection.duplicate.get();
    // What has arrived is dropped: a further byte is to be noticed.
    recv(descriptor, nullptr, INT_MAX, MSG_TRUNC | MSG_DONTWAIT);
    const uint64_t number = parked_.Add(std::move(connection.duplicate), CoarseNowMs());
    Watch(descriptor, EPOLLIN | EPOLLRDHUP | EPOLLET, kParked + number, EPOLL_CTL_MOD);
    has_parked_ = true;
    return true;
  }

  void Forget(uint64_t number) {
    // The guard stays armed, because gRPC may still have the descriptor. It is armed anew with the
    // number.
    const TrackedConnection& connection = *table_->Find(number);
    guard_->Close(connection.descriptor);
    if (connection.stage != Stage::kServed) --arriving_;
    table_->Remove(number);
  }

  const ListenerOptions options_;
  SocketAddress own_address_;  // of the server, as it reaches itself
  int port_ = 0;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  HandOver hand_over_;
  ConnectionBounds bounds_;

  std::unique_ptr<ConnectionGuard> guard_;

  // Held by the thread while it accepts, makes handshakes and hands over. Taken before mutex_.
  std::mutex serving_mutex_;
  ListenSockets sockets_;  // under serving_mutex_ once the thread runs
  // The thread uses these: a descriptor to give up when there is none left, and the connection that
  // waits for a place, while nothing is accepted.
  FileDescriptor spare_;
  struct {
    FileDescriptor socket;
    SocketAddress peer;
  } waiting_;
  bool is_behind_ = false;   // IsBehind() was true, and nothing is accepted
  bool has_parked_ = false;  // at the last look, or since
  int queued_ = 0;           // connections that waited to be accepted a moment ago
  int arriving_ = 0;         // connections that gRPC has not got yet
  int64_t next_look_ms_ = 0;

  mutable std::mutex mutex_;  // guards everything below
  std::unique_ptr<ConnectionTable> table_;
  ParkedConnections parked_;
  struct {
    std::string endpoint;  // of the connection to the server itself that is not accepted yet
    std::shared_ptr<std::atomic<bool>> is_refused;
  } self_check_;
  std::array<int64_t, kCloseReasonNames.size()> closed_ = {};
  RateLimit log_limit_{kLogLinesPerSecond};
  bool stopped_ = false;

  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Create(const ListenerOptions& options) {
  auto listener = std::make_unique<OwnListener>(options);
  ORBSERVE_RETURN_IF_ERROR(listener->Open());
  return listener;
}

}  // namespace orbserve
