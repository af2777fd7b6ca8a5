// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_HANDSHAKE_THREAD_H_
#define ORBSERVE_SERVER_EDGE_HANDSHAKE_THREAD_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "server/edge/tls_handshake.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

// A connection whose client has spoken, taken out of the table to be served.
struct ArrivedConnection {
  uint64_t number = 0;  // in the table
  FileDescriptor socket;
  TlsSession handshake;  // null before its first step, and where gRPC makes it or there is none
  bool wants_handshake = false;  // and has none yet
  bool is_self_check = false;
  HandshakeProgress progress = HandshakeProgress::kDone;
  HandshakeFailure failure;  // if kFailed
};

// Makes TLS handshakes, while others are accepted, ordered and preempted. Thread-safe.
class HandshakeThread {
 public:
  // All are called by the thread.
  struct Calls {
    // Up to so many connections that are to be served next.
    std::function<std::vector<ArrivedConnection>(size_t most)> take;
    // Null where gRPC is to make the handshake.
    std::function<TlsSession(int socket)> begin;
    // Handshakes that wait for their clients again or have failed, as `progress` tells; the others
    // are left as they are.
    std::function<void(std::vector<ArrivedConnection>& connections)> put_back;
    // The handshake is complete, or there is none.
    std::function<void(ArrivedConnection& connection)> hand_over;
  };

  explicit HandshakeThread(Calls calls);
  // Ends the thread after what it is doing.
  ~HandshakeThread();
  HandshakeThread(const HandshakeThread&) = delete;
  HandshakeThread& operator=(const HandshakeThread&) = delete;

  // There are connections to be taken.
  void Notify();
  // Frees a handshake in the thread, before what it does next, as that takes long.
  void Discard(TlsSession handshake);

 private:
  void Run();
  // False where there was nothing to do.
  bool Serve();

  const Calls calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_arrivals_ = false;
  bool ending_ = false;
  std::vector<TlsSession> discarded_;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_HANDSHAKE_THREAD_H_
