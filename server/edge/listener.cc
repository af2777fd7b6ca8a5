// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/edge/arrival.h"
#include "server/edge/connection_table.h"
#include "server/edge/descriptor_limit.h"
#include "server/edge/guard/guard_table.h"
#include "server/edge/guard/read_turn.h"
#include "server/edge/listen_sockets.h"
#include "server/edge/parked_connections.h"
#include "server/process/log.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

// Descriptors for everything but connections: the HTTP endpoint, probes, files, devices.
constexpr int kReservedDescriptors = 20;
constexpr size_t kMaxSelfChecks = 64;
constexpr int kMaxEvents = 64;
constexpr int kMaxAcceptsAtOnce = 64;
constexpr size_t kMaxServedAtOnce = 16;
constexpr int kMaxArrivals = 64;
constexpr size_t kClosedAtOnce = 64;  // of parked connections where descriptors are wanted
constexpr int kMaxFlights = 2;        // that a client of TLS 1.2 or 1.3 answers
constexpr int kWaitMs = 2;            // for a place to become free
constexpr int kRetryMs = 10;          // after a failure that may pass
constexpr int kLinesPerSecond = 5;    // of the log
// Time in which a client must have begun to speak, and between looks for those that have not and
// for those that are paused.
constexpr int64_t kArrivalMs = 10'000;
constexpr int kLookMs = 1000;
// Part of the processors' time that gRPC may take to read from connections that always have more.
// Their requests need the rest.
constexpr double kReadingPart = 0.5;

// An event of epoll is about a connection, by its number, or about one of these.
constexpr uint64_t kWake = uint64_t{1} << 63;
constexpr uint64_t kTurns = uint64_t{1} << 61;
constexpr uint64_t kParked = uint64_t{1} << 60;     // plus the number of the parked connection
constexpr uint64_t kListening = uint64_t{1} << 62;  // plus the index of the socket

std::string ErrorText(int error) { return std::generic_category().message(error); }

CloseReason CloseReasonOf(Http2Violation violation) {
  switch (violation) {
    case Http2Violation::kNone:
      return CloseReason::kEnded;
    case Http2Violation::kHeaderBlock:
      return CloseReason::kHeaderBlock;
    case Http2Violation::kResets:
      return CloseReason::kResets;
    case Http2Violation::kFrames:
      return CloseReason::kFrames;
    case Http2Violation::kMalformed:
      return CloseReason::kMalformed;
    case Http2Violation::kUnfinished:
      return CloseReason::kUnfinished;
    case Http2Violation::kUnproven:
      return CloseReason::kUnproven;
    case Http2Violation::kPings:
      return CloseReason::kPings;
    case Http2Violation::kUnacknowledged:
      return CloseReason::kUnacknowledged;
  }
  return CloseReason::kEnded;
}

// The self-check stands for a client of its own.
const PeerKeys& SelfCheckPeer() {
  static const PeerKeys peer = {"self-check", "self-check", "self-check"};
  return peer;
}

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

}  // namespace

class Listener::Impl {
 public:
  explicit Impl(const ListenerOptions& options) : options_(options) {}

  ~Impl() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    arrivals_.notify_all();
    Wake();
    if (thread_.joinable()) {
      GuardTable::Get().Attach(-1, 0, 0);
      thread_.join();
      if (handshakes_thread_.joinable()) handshakes_thread_.join();
      GuardTable::Get().BeginTurns();  // of another server of this process
    }
    if (table_ == nullptr) return;
    for (const auto& [number, connection] : table_->all()) {
      shutdown(connection.duplicate.get(), SHUT_RDWR);
      GuardTable::Get().Resume(connection.descriptor);
    }
  }

  absl::Status Open() {
    ORBSERVE_ASSIGN_OR_RETURN(sockets_,
                              ListenSockets::Bind(options_.address, options_.user_timeout));
    port_ = sockets_.port();
    for (const FileDescriptor& socket : sockets_.sockets()) {
      targets_.push_back(OwnTarget(LocalAddressOf(socket.get())));
    }
    epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
    wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    turns_timer_.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    spare_.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!epoll_ || !wake_ || !turns_timer_ || !spare_ || !Watch(wake_.get(), EPOLLIN, kWake) ||
        !Watch(turns_timer_.get(), EPOLLIN, kTurns)) {
      return absl::UnavailableError(
          absl::StrCat("cannot serve on ", options_.address, ": ", ErrorText(errno)));
    }
    const int reserved = kReservedDescriptors + options_.reserved_descriptors;
    bounds_.max_connections = AffordableConnections(options_.max_connections, reserved);
    // They have one descriptor each, of those that are left.
    parked_.SetMax(static_cast<size_t>(AffordableConnections(
        2 * bounds_.max_connections, reserved + 2 * bounds_.max_connections)));
    bounds_.max_connections_per_address =
        std::min(options_.max_connections_per_address, bounds_.max_connections);
    if (bounds_.max_connections < options_.max_connections) {
      spdlog::warn("event=connections_capped wanted={} max_connections={} reason=descriptor_limit",
                   options_.max_connections, bounds_.max_connections);
    }
    bounds_.has_credentials = options_.has_credentials;
    bounds_.makes_handshakes = !options_.is_plain && options_.begin_handshake;
    table_ = std::make_unique<ConnectionTable>(bounds_, [](const TrackedConnection& connection) {
      GuardView view = GuardTable::Get().View(connection.descriptor);
      // Without a look at their traffic idle connections cannot be told from others.
      if (!GuardTable::Get().is_used()) view.last_call_ms = GuardTable::NowMs();
      return view;
    });
    return absl::OkStatus();
  }

  void Start(HandOver hand_over) {
    hand_over_ = std::move(hand_over);
    for (size_t i = 0; i < sockets_.sockets().size(); ++i) {
      Watch(sockets_.sockets()[i].get(), EPOLLIN, kListening + i);
    }
    GuardTable::Get().Attach(wake_.get(), options_.max_unfinished_bytes,
                             options_.max_unproven_calls);
    if (bounds_.makes_handshakes) handshakes_thread_ = std::thread([this] { MakeHandshakes(); });
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
          table_->RoomForProven(connection.peer, owner, GuardTable::NowMs());
      if (room.room == ConnectionTable::Room::kFull) {
        Close(number, CloseReason::kFull);
        continue;
      }
      GuardTable::Get().Prove(connection.descriptor);
      if (room.room == ConnectionTable::Room::kPreempt) {
        Close(room.preempted, CloseReason::kPreempted);
      }
      table_->Prove(number, owner);
    }
  }

  bool is_self_check_refused() const {
    const std::scoped_lock lock(mutex_);
    return is_self_check_refused_;
  }

  absl::StatusOr<FileDescriptor> ConnectSelfCheck() {
    const auto failed = [](const char* call) {
      return absl::UnavailableError(
          absl::StrCat("the server cannot reach itself: ", call, ": ", ErrorText(errno)));
    };
    const SocketAddress& target = targets_.front();
    FileDescriptor made(socket(target.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return failed("socket");
    GuardTable::Get().Disarm(made.get());  // the number may be that of a former connection
    // The address is known before the connection is made, so it is told from those of clients.
    SocketAddress own = target;
    if (own.family() == AF_UNIX) {
      own = {};
      own.storage.ss_family = AF_UNIX;
      own.size = sizeof(sa_family_t);  // the system gives it a name
    } else {
      SetPort(own, 0);
    }
    if (bind(made.get(), own.get(), own.size) != 0) return failed("bind");
    const std::string name = PeerKeysOf(LocalAddressOf(made.get())).endpoint;
    {
      const std::scoped_lock lock(mutex_);
      // Those that were never accepted were given up long ago.
      if (self_checks_.size() >= kMaxSelfChecks) self_checks_.clear();
      self_checks_.insert(name);
      is_self_check_refused_ = false;
    }
    if (connect(made.get(), target.get(), target.size) != 0 && errno != EINPROGRESS) {
      const absl::Status status = failed("connect");
      const std::scoped_lock lock(mutex_);
      self_checks_.erase(name);
      return status;
    }
    return made;
  }

  int port() const { return port_; }

  ListenerUse use() const {
    const std::scoped_lock lock(mutex_);
    ListenerUse use;
    use.connections = table_->size();
    use.max_connections = bounds_.max_connections;
    use.max_connections_per_address = bounds_.max_connections_per_address;
    use.closed = closed_;
    return use;
  }

 private:
  using Clock = std::chrono::steady_clock;  // that of timerfd
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
    const bool serves_here = !bounds_.makes_handshakes;
    std::array<epoll_event, kMaxEvents> events;
    for (;;) {
      const bool looks = arriving_ > 0 || has_parked_ || GuardTable::Get().paused() > 0;
      const int wait_ms = serves_here && HasArrivals()    ? 0
                          : waiting_.socket || is_behind_ ? kWaitMs
                          : looks                         ? kLookMs
                                                          : -1;
      const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, wait_ms);
      bool has_arrivals = false;
      for (int i = 0; i < count; ++i) {
        const uint64_t about = events[static_cast<size_t>(i)].data.u64;
        if (about == kWake) {
          Drain(wake_);
          BeginTurns();
          const std::scoped_lock lock(mutex_);
          if (ending_) return;
          FreeUnfinished();
          EndUnprovenCalls();
        } else if (about == kTurns) {
          Drain(turns_timer_);
          BeginTurns();
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
      if (has_arrivals && !serves_here) arrivals_.notify_one();
      if (waiting_.socket || is_behind_) RetryWaiting();
      if (serves_here) ServeArrivals(1);
      if (looks) Look();
    }
  }

  bool HasArrivals() const {
    const std::scoped_lock lock(mutex_);
    return table_->has_arrivals();
  }

  // Makes a descriptor with a counter unreadable until it counts again.
  static void Drain(const FileDescriptor& counter) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = read(counter.get(), &count, sizeof(count));
  }

  // Connections whose turn is over get their next one, when the last ones have had their time.
  void BeginTurns() {
    const Clock::time_point now = Clock::now();
    if (now < next_turns_) {
      constexpr int64_t kSecondNs = 1'000'000'000;
      const int64_t at_ns = std::chrono::nanoseconds(next_turns_.time_since_epoch()).count();
      itimerspec timer = {};
      timer.it_value.tv_sec = at_ns / kSecondNs;
      timer.it_value.tv_nsec = at_ns % kSecondNs;
      timerfd_settime(turns_timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
      return;
    }
    static const double processors = std::max(1u, std::thread::hardware_concurrency());
    const int begun = GuardTable::Get().BeginTurns();
    const double taken_ns = begun * double{ReadTurn::kTurnNs} / (kReadingPart * processors);
    next_turns_ = now + std::chrono::nanoseconds(static_cast<int64_t>(taken_ns));
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
    connection.opened_ms = GuardTable::NowMs();
    {
      const std::scoped_lock lock(mutex_);
      // gRPC has closed this number, and the event has not arrived yet.
      End(table_->NumberOf(accepted.get()));
      connection.is_self_check = self_checks_.contains(connection.peer.endpoint);
      switch (MakeRoom(connection)) {
        case Place::kGiven:
          break;
        case Place::kLater:
          waiting_ = {std::move(accepted), peer};
          Listen(0);
          return;
        case Place::kRefused:
          self_checks_.erase(connection.peer.endpoint);
          return;
      }
      self_checks_.erase(connection.peer.endpoint);
      connection.duplicate.Reset(fcntl(accepted.get(), F_DUPFD_CLOEXEC, 0));
      if (!connection.duplicate || accepted.get() >= GuardTable::kDescriptors) {
        Count(CloseReason::kNoDescriptor, connection.peer.address);
        return;
      }
      const int duplicate = connection.duplicate.get();
      // Armed before gRPC can read the first byte.
      GuardTable::Get().Arm(accepted.get(), IsPlain(connection), connection.peer.address,
                            static_cast<uint32_t>(options_.max_calls_per_connection));
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
      const Arrival arrival = ArrivalOf(connection->duplicate.get(), IsPlain(*connection));
      if (arrival == Arrival::kEnded) return End(number);
      if (arrival == Arrival::kIncomplete) return;
    }
    table_->SetArrived(number);
  }

  // A connection that has arrived, while it is served.
  struct Served {
    uint64_t number = 0;
    FileDescriptor socket;
    TlsSession handshake;  // null: gRPC makes it, or there is none
    bool is_plain = true;
    bool is_self_check = false;
    Stage stage = Stage::kSilent;
    HandshakeProgress progress = HandshakeProgress::kDone;
  };

  // The thread that makes handshakes. Others are accepted, ordered and preempted meanwhile.
  void MakeHandshakes() {
    std::unique_lock lock(mutex_);
    for (;;) {
      arrivals_.wait(lock, [this] { return ending_ || table_->has_arrivals(); });
      if (ending_) return;
      lock.unlock();
      ServeArrivals(kMaxServedAtOnce);
      lock.lock();
    }
  }

  // Serves connections that have arrived: makes a step of their handshakes, or hands them over. A
  // few at a time, as two threads would wait for each other's lock.
  void ServeArrivals(size_t most) {
    std::vector<Served> batch;
    std::vector<TlsSession> discarded;
    {
      const std::scoped_lock lock(mutex_);
      while (batch.size() < most && table_->has_arrivals()) {
        batch.push_back(TakeArrival(table_->NextArrival()));
      }
      discarded_.swap(discarded);
    }
    discarded.clear();
    for (Served& served : batch) Advance(served);
    {
      const std::scoped_lock lock(mutex_);
      for (Served& served : batch) {
        if (served.progress == HandshakeProgress::kWaits) PutBack(served);
        if (served.progress == HandshakeProgress::kFailed) End(served.number);
      }
    }
    for (Served& served : batch) {
      if (served.progress == HandshakeProgress::kDone) HandOverServed(served);
    }
  }

  Served TakeArrival(uint64_t number) {
    TrackedConnection& connection = *table_->Find(number);
    connection.is_taken = true;
    connection.has_spoken = false;
    return {number,
            std::move(connection.arriving),
            std::move(connection.handshake),
            IsPlain(connection),
            connection.is_self_check,
            connection.stage};
  }

  void Advance(Served& served) {
    if (served.stage == Stage::kSilent && !served.is_plain && options_.begin_handshake) {
      served.handshake = options_.begin_handshake(served.socket.get());
    }
    if (served.handshake != nullptr) served.progress = ContinueHandshake(served.handshake.get());
  }

  // The handshake waits for the client.
  void PutBack(Served& served) {
    TrackedConnection* const connection = table_->Find(served.number);
    if (connection == nullptr) return;  // preempted meanwhile
    connection->stage = Stage::kHandshake;
    // A client that sends a byte at a time is not given time for each.
    if (++connection->steps <= kMaxFlights) connection->turn_ms = GuardTable::NowMs();
    connection->arriving = std::move(served.socket);
    connection->handshake = std::move(served.handshake);
    connection->is_taken = false;
    if (connection->has_spoken) table_->SetArrived(served.number);
  }

  void HandOverServed(Served& served) {
    const std::scoped_lock hand_over_lock(hand_over_mutex_);
    {
      const std::scoped_lock lock(mutex_);
      TrackedConnection* const connection = table_->Find(served.number);
      if (connection == nullptr) return;  // preempted meanwhile
      if (!hands_over_) return End(served.number);
      epoll_event event = {};
      event.events = EPOLLET | EPOLLRDHUP;  // only hang-ups are reported from now on
      event.data.u64 = served.number;
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection->duplicate.get(), &event);
      connection->stage = Stage::kServed;
      if (bounds_.makes_handshakes) connection->turn_ms = GuardTable::NowMs();
      connection->is_taken = false;
      --arriving_;
    }
    hand_over_(std::move(served.socket), std::move(served.handshake), served.is_self_check);
  }

  // Ends connections whose clients have not begun to speak in time, and resumes those that are
  // paused and need not be.
  void Look() {
    const int64_t now_ms = GuardTable::NowMs();
    if (now_ms < next_look_ms_) return;
    next_look_ms_ = now_ms + kLookMs;
    const std::scoped_lock lock(mutex_);
    std::vector<uint64_t> late;
    for (const auto& [number, connection] : table_->all()) {
      if (connection.stage != Stage::kServed && now_ms - connection.opened_ms >= kArrivalMs) {
        late.push_back(number);
      }
      GuardTable::Get().Resume(connection.descriptor);
    }
    for (const uint64_t number : late) End(number);
    parked_.CloseLate(now_ms);
    has_parked_ = parked_.size() > 0;
  }

  // Closes connections whose unfinished messages hold the most, of the address that holds the most,
  // until the others have room.
  void FreeUnfinished() {
    while (GuardTable::Get().unfinished_bytes() > options_.max_unfinished_bytes) {
      absl::flat_hash_map<absl::string_view, int64_t> of_addresses;
      for (const auto& [number, connection] : table_->all()) {
        of_addresses[connection.peer.address] +=
            GuardTable::Get().View(connection.descriptor).unfinished_bytes;
      }
      const TrackedConnection* largest = nullptr;
      std::pair<int64_t, int64_t> most = {0, 0};  // bytes of the address, bytes of the connection
      for (const auto& [number, connection] : table_->all()) {
        const std::pair<int64_t, int64_t> held = {
            of_addresses[connection.peer.address],
            GuardTable::Get().View(connection.descriptor).unfinished_bytes};
        if (held.second > 0 && held > most) {
          most = held;
          largest = &connection;
        }
      }
      if (largest == nullptr) return;  // another server of this process holds them
      GuardTable::Get().Close(largest->descriptor, Http2Violation::kUnfinished);
      shutdown(largest->duplicate.get(), SHUT_RDWR);
    }
  }

  // Closes unproven connections that have the most open calls, of the network and in it of the
  // address that have the most, until there are few enough. Calls hold memory of gRPC, which makes
  // room by closing connections of anybody.
  void EndUnprovenCalls() {
    while (GuardTable::Get().unproven_calls() > options_.max_unproven_calls) {
      absl::flat_hash_map<absl::string_view, int64_t> of_networks;
      absl::flat_hash_map<absl::string_view, int64_t> of_addresses;
      for (const auto& [number, connection] : table_->all()) {
        const int64_t calls = GuardTable::Get().View(connection.descriptor).unproven_calls;
        of_networks[connection.peer.network] += calls;
        of_addresses[connection.peer.address] += calls;
      }
      const TrackedConnection* largest = nullptr;
      std::array<int64_t, 3> most = {0, 0, 0};
      for (const auto& [number, connection] : table_->all()) {
        const std::array<int64_t, 3> open = {
            of_networks[connection.peer.network], of_addresses[connection.peer.address],
            GuardTable::Get().View(connection.descriptor).unproven_calls};
        if (open[2] > 0 && open > most) {
          most = open;
          largest = &connection;
        }
      }
      if (largest == nullptr) return;  // another server of this process has them
      GuardTable::Get().Close(largest->descriptor, Http2Violation::kUnproven);
      shutdown(largest->duplicate.get(), SHUT_RDWR);
    }
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
      is_self_check_refused_ =
          room.room == Room::kFull ||
          table_->RoomForProven(peer, peer.address, connection.opened_ms).room == Room::kFull;
      return is_self_check_refused_ ? Place::kRefused : Place::kGiven;
    }
    switch (room.room) {
      case Room::kPreempt:
        Close(room.preempted, CloseReason::kPreempted);
        return Place::kGiven;
      case Room::kFull:
        Count(CloseReason::kFull, peer.address);
        return Place::kRefused;
      case Room::kAddressFull:
        Count(CloseReason::kAddressFull, peer.address);
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
    const Http2Violation violation = GuardTable::Get().View(connection->descriptor).violation;
    CloseReason reason = CloseReasonOf(violation);
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
    event.data.u64 = kParked + parked_.Add(std::move(connection.duplicate), GuardTable::NowMs());
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
    has_parked_ = true;
    return true;
  }

  void Forget(uint64_t number) {
    // The guard stays armed, because gRPC may still have the descriptor. It is armed anew with the
    // number.
    TrackedConnection& connection = *table_->Find(number);
    GuardTable::Get().Close(connection.descriptor, Http2Violation::kUnfinished);
    if (connection.stage != Stage::kServed) --arriving_;
    // The other thread frees it, as that takes long.
    if (connection.handshake != nullptr) discarded_.push_back(std::move(connection.handshake));
    table_->Remove(number);
  }

  void Count(CloseReason reason, const std::string& address) {
    ++closed_[static_cast<size_t>(reason)];
    if (reason == CloseReason::kEnded || reason == CloseReason::kStopped) return;
    const int64_t second = GuardTable::NowMs() / 1000;
    if (second != log_second_) {
      log_second_ = second;
      log_lines_ = 0;
    }
    if (log_lines_ >= kLinesPerSecond) {
      ++lines_left_out_;
      return;
    }
    ++log_lines_;
    spdlog::warn("event=connection_closed reason={} address={} connections={} left_out={}",
                 kCloseReasonNames[static_cast<size_t>(reason)], LogValue(address), table_->size(),
                 std::exchange(lines_left_out_, 0));
  }

  const ListenerOptions options_;
  std::vector<SocketAddress> targets_;
  int port_ = 0;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  FileDescriptor turns_timer_;
  HandOver hand_over_;
  ConnectionBounds bounds_;

  std::mutex accept_mutex_;     // taken before mutex_
  ListenSockets sockets_;       // under accept_mutex_ once the thread runs
  std::mutex hand_over_mutex_;  // taken before mutex_
  bool hands_over_ = true;      // under hand_over_mutex_
  // The thread uses these: a descriptor to give up when there is none left, the connection that
  // waits for a place, while nothing is accepted, and when turns may begin again.
  FileDescriptor spare_;
  struct {
    FileDescriptor socket;
    SocketAddress peer;
  } waiting_;
  bool is_behind_ = false;  // IsBehind() was true, and nothing is accepted
  int queued_ = 0;          // connections that waited to be accepted a moment ago
  Clock::time_point next_turns_{};
  int64_t next_look_ms_ = 0;

  mutable std::mutex mutex_;          // guards everything below
  std::condition_variable arrivals_;  // a connection has arrived, or the listener ends
  std::unique_ptr<ConnectionTable> table_;
  ParkedConnections parked_;
  std::vector<TlsSession> discarded_;  // of handshakes that have ended
  std::set<std::string> self_checks_;  // endpoints of self-checks that are not accepted yet
  bool is_self_check_refused_ = false;
  std::atomic<bool> has_parked_{false};
  std::atomic<int> arriving_{0};  // connections that gRPC has not got yet
  std::array<int64_t, kCloseReasonNames.size()> closed_ = {};
  bool stopped_ = false;
  bool ending_ = false;
  int64_t log_second_ = 0;
  int log_lines_ = 0;
  int64_t lines_left_out_ = 0;

  std::thread thread_;
  std::thread handshakes_thread_;  // with TLS
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
absl::StatusOr<FileDescriptor> Listener::ConnectSelfCheck() { return impl_->ConnectSelfCheck(); }
bool Listener::is_self_check_refused() const { return impl_->is_self_check_refused(); }
int Listener::port() const { return impl_->port(); }
ListenerUse Listener::use() const { return impl_->use(); }

}  // namespace orbserve
