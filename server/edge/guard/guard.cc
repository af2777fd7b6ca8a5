// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/guard.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/edge/guard/close_heaviest.h"
#include "server/edge/guard/guard_table.h"
#include "server/edge/guard/turn_timer.h"
#include "server/process/file_descriptor.h"

namespace orbserve {
namespace {

class ListenerGuard final : public ConnectionGuard {
 public:
  explicit ListenerGuard(const GuardBounds& bounds) : bounds_(bounds) {}
  ~ListenerGuard() override { guards_.BeginTurns(); }  // of another server of this process

  // False where the system has no descriptors left; errno says why.
  bool Open(int epoll, uint64_t about) {
    event_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event_ || !timer_.Open()) return false;
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = about;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, event_.get(), &event) == 0 &&
           epoll_ctl(epoll, EPOLL_CTL_ADD, timer_.descriptor(), &event) == 0;
  }

  void Start() override {
    guards_.Attach(event_.get(), bounds_.max_unfinished_bytes, bounds_.max_unproven_calls);
  }
  void Stop() override { guards_.Attach(-1, 0, 0); }
  void BeginTurns() override {
    uint64_t count = 0;  // makes the event unreadable until the next one
    [[maybe_unused]] const ssize_t size = read(event_.get(), &count, sizeof(count));
    timer_.BeginTurns();
  }
  void CloseHeaviest(const ConnectionTable& table) override {
    CloseUnfinished(table, bounds_.max_unfinished_bytes);
    CloseUnproven(table, bounds_.max_unproven_calls);
  }

  bool Arm(int descriptor, bool is_plain, absl::string_view address) override {
    return guards_.Arm(descriptor, is_plain, address, bounds_.max_calls_per_connection);
  }
  void Disarm(int descriptor) override { guards_.Disarm(descriptor); }
  GuardView View(int descriptor) const override {
    return guards_.is_used() ? guards_.View(descriptor) : ConnectionGuard::View(descriptor);
  }
  void Prove(int descriptor) override { guards_.Prove(descriptor); }
  bool has_paused() const override { return guards_.paused() > 0; }
  void Resume(int descriptor) override { guards_.Resume(descriptor); }
  void Close(int descriptor) override { guards_.Close(descriptor, CloseReason::kUnfinished); }

 private:
  const GuardBounds bounds_;
  GuardTable& guards_ = GuardTable::Get();
  FileDescriptor event_;
  TurnTimer timer_;
};

}  // namespace

std::unique_ptr<ConnectionGuard> ConnectionGuard::Make(const GuardBounds& bounds, int epoll,
                                                       uint64_t about) {
  auto guard = std::make_unique<ListenerGuard>(bounds);
  if (!guard->Open(epoll, about)) return nullptr;
  return guard;
}

}  // namespace orbserve
