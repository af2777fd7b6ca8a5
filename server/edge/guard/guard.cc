// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/guard.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/edge/connection_table.h"
#include "server/edge/guard/guard_table.h"
#include "server/edge/guard/read_turn.h"
#include "server/process/file_descriptor.h"

namespace orbserve {
namespace {

constinit thread_local TlsSession* offered_session = nullptr;
constinit thread_local int offered_descriptor = -1;
std::atomic<bool> adoption_is_used{false};

// Part of the processors' time that gRPC may take to read from connections that always have more.
// Their requests need the rest.
constexpr double kReadingPart = 0.5;

class ListenerGuard final : public ConnectionGuard {
 public:
  explicit ListenerGuard(const GuardBounds& bounds) : bounds_(bounds) {}
  ~ListenerGuard() override { guards_.BeginTurns(); }  // of another server of this process

  // False where the system has no descriptors left; errno says why.
  bool Open(int epoll, uint64_t about) {
    event_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    timer_.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = about;
    return event_ && timer_ && epoll_ctl(epoll, EPOLL_CTL_ADD, event_.get(), &event) == 0 &&
           epoll_ctl(epoll, EPOLL_CTL_ADD, timer_.get(), &event) == 0;
  }

  void Start() override {
    GuardTable::room().SetBounds(bounds_.shared_message_bytes, bounds_.takes_messages);
    guards_.Attach(event_.get(), bounds_.max_unfinished_bytes, bounds_.max_unproven_calls);
  }
  void Stop() override {
    guards_.Attach(-1, 0, 0);
    GuardTable::room().SetBounds(INT64_MAX, nullptr);
    guards_.ReadOn();
  }

  // Begins the next turns, unless the last ones have not had their time: then the timer runs until
  // they have.
  void BeginTurns() override {
    for (const FileDescriptor* told : {&event_, &timer_}) {
      uint64_t count = 0;  // makes it unreadable until the next time
      [[maybe_unused]] const ssize_t size = read(told->get(), &count, sizeof(count));
    }
    const Clock::time_point now = Clock::now();
    if (now < next_turns_) {
      constexpr int64_t kSecondNs = 1'000'000'000;
      const int64_t at_ns = std::chrono::nanoseconds(next_turns_.time_since_epoch()).count();
      itimerspec timer = {};
      timer.it_value.tv_sec = at_ns / kSecondNs;
      timer.it_value.tv_nsec = at_ns % kSecondNs;
      timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
      return;
    }
    static const double processors = std::max(1u, std::thread::hardware_concurrency());
    const double taken_ns =
        guards_.BeginTurns() * double{ReadTurn::kTurnNs} / (kReadingPart * processors);
    next_turns_ = now + std::chrono::nanoseconds(static_cast<int64_t>(taken_ns));
  }

  // gRPC would make room by closing connections of anybody; these hold the most.
  void CloseHeaviest(const ConnectionTable& table) override {
    while (guards_.unfinished_bytes() > bounds_.max_unfinished_bytes &&
           CloseOne(table, &GuardView::unfinished_bytes, /*by_network=*/false,
                    CloseReason::kUnfinished)) {
    }
    while (
        guards_.unproven_calls() > bounds_.max_unproven_calls &&
        CloseOne(table, &GuardView::unproven_calls, /*by_network=*/true, CloseReason::kUnproven)) {
    }
  }

  bool Arm(int descriptor, bool is_plain, absl::string_view address) override {
    return guards_.Arm(descriptor, is_plain, address,
                       static_cast<uint32_t>(bounds_.max_calls_per_connection));
  }
  void Disarm(int descriptor) override { guards_.Disarm(descriptor); }
  GuardView View(int descriptor) const override {
    return guards_.is_used() ? guards_.View(descriptor) : ConnectionGuard::View(descriptor);
  }
  void Prove(int descriptor) override { guards_.Prove(descriptor); }
  bool has_paused() const override { return guards_.paused() > 0; }
  void Resume(int descriptor) override { guards_.Resume(descriptor); }
  bool has_waiting() const override { return GuardTable::room().waiting() > 0; }
  void ReadOn(const ConnectionTable& table) override {
    const int late = guards_.ReadOn();
    for (const auto& [number, connection] : table.all()) {
      if (late >= 0 && connection.descriptor == late)
        CloseConnection(connection, CloseReason::kUnfinished);
    }
  }
  void Close(int descriptor) override { guards_.Close(descriptor, CloseReason::kUnfinished); }

 private:
  using Clock = std::chrono::steady_clock;  // that of timerfd

  // Closes the connection that holds the most, of the address that holds the most, and that of the
  // network where networks count. False where another server of this process holds it all.
  bool CloseOne(const ConnectionTable& table, int64_t GuardView::*held, bool by_network,
                CloseReason reason) {
    const auto network_of = [by_network](const TrackedConnection& connection) {
      return by_network ? absl::string_view(connection.peer.network) : absl::string_view();
    };
    absl::flat_hash_map<absl::string_view, int64_t> of_networks;
    absl::flat_hash_map<absl::string_view, int64_t> of_addresses;
    for (const auto& [number, connection] : table.all()) {
      const int64_t own = guards_.View(connection.descriptor).*held;
      of_networks[network_of(connection)] += own;
      of_addresses[connection.peer.address] += own;
    }
    const TrackedConnection* heaviest = nullptr;
    std::array<int64_t, 3> most = {0, 0, 0};
    for (const auto& [number, connection] : table.all()) {
      const std::array<int64_t, 3> weight = {of_networks[network_of(connection)],
                                             of_addresses[connection.peer.address],
                                             guards_.View(connection.descriptor).*held};
      if (weight[2] > 0 && weight > most) {
        most = weight;
        heaviest = &connection;
      }
    }
    if (heaviest == nullptr) return false;
    CloseConnection(*heaviest, reason);
    return true;
  }

  void CloseConnection(const TrackedConnection& connection, CloseReason reason) {
    guards_.Close(connection.descriptor, reason);
    shutdown(connection.duplicate.get(), SHUT_RDWR);
  }

  const GuardBounds bounds_;
  GuardTable& guards_ = GuardTable::Get();
  FileDescriptor event_;
  FileDescriptor timer_;
  Clock::time_point next_turns_{};
};

}  // namespace

std::unique_ptr<ConnectionGuard> ConnectionGuard::Make(const GuardBounds& bounds, int epoll,
                                                       uint64_t about) {
  auto guard = std::make_unique<ListenerGuard>(bounds);
  if (!guard->Open(epoll, about)) return nullptr;
  return guard;
}

TlsAdoption::TlsAdoption(int descriptor, TlsSession session) : session_(std::move(session)) {
  offered_session = &session_;
  offered_descriptor = descriptor;
}

TlsAdoption::~TlsAdoption() { offered_session = nullptr; }

bool TlsAdoption::is_used() { return adoption_is_used.load(std::memory_order_relaxed); }

void ExpectTlsAdoption() { adoption_is_used.store(true, std::memory_order_relaxed); }

OfferedTls TakeOfferedTls() {
  if (offered_session == nullptr) return {};
  adoption_is_used.store(true, std::memory_order_relaxed);
  return {offered_descriptor, offered_session->release()};
}

}  // namespace orbserve
