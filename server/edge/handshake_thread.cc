// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/handshake_thread.h"

#include <utility>

namespace orbserve {
namespace {

// A few at a time, as two threads would wait for each other's lock of the table.
constexpr size_t kMaxServedAtOnce = 16;

}  // namespace

HandshakeThread::HandshakeThread(Calls calls)
    : calls_(std::move(calls)), thread_([this] { Run(); }) {}

HandshakeThread::~HandshakeThread() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HandshakeThread::Notify() {
  {
    const std::scoped_lock lock(mutex_);
    has_arrivals_ = true;
  }
  changed_.notify_all();
}

void HandshakeThread::Discard(TlsSession handshake) {
  const std::scoped_lock lock(mutex_);
  discarded_.push_back(std::move(handshake));
}

void HandshakeThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || has_arrivals_; });
    if (ending_) return;
    has_arrivals_ = false;
    std::vector<TlsSession> discarded;
    discarded_.swap(discarded);
    lock.unlock();
    discarded.clear();
    const bool has_served = Serve();
    lock.lock();
    has_arrivals_ |= has_served;  // there may be more
  }
}

bool HandshakeThread::Serve() {
  std::vector<ArrivedConnection> batch = calls_.take(kMaxServedAtOnce);
  for (ArrivedConnection& connection : batch) {
    if (connection.wants_handshake) connection.handshake = calls_.begin(connection.socket.get());
    if (connection.handshake != nullptr) {
      connection.progress = ContinueHandshake(connection.handshake.get(), &connection.failure);
    }
  }
  calls_.put_back(batch);
  for (ArrivedConnection& connection : batch) {
    if (connection.progress == HandshakeProgress::kDone) calls_.hand_over(connection);
  }
  return !batch.empty();
}

}  // namespace orbserve
