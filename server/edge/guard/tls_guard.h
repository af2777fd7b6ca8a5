// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_GUARD_TLS_GUARD_H_
#define ORBSERVE_SERVER_EDGE_GUARD_TLS_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "server/edge/guard/guard_table.h"
#include "server/edge/guard/http2_guard.h"

namespace orbserve {

// Guard of what one TLS connection decrypts. Not thread-safe, as the TLS connection is not. gRPC
// decrypts in the thread that has read: the first bytes tell to which descriptor they belong.
class TlsGuard {
 public:
  TlsGuard() = default;
  ~TlsGuard();
  TlsGuard(const TlsGuard&) = delete;
  TlsGuard& operator=(const TlsGuard&) = delete;

  // False when the connection broke a bound, and from then on.
  bool Received(const uint8_t* bytes, size_t size);
  void Sent(const uint8_t* bytes, size_t size);

 private:
  void Begin(int64_t now_ms);
  // The number of the descriptor may belong to another connection by now.
  bool HasSlot() const;

  bool begun_ = false;
  std::mutex mutex_;
  Http2Guard guard_;
  GuardTable::Slot* slot_ = nullptr;  // null where the descriptor is not known
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_TLS_GUARD_H_
