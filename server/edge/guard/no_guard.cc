// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Stands for the guard where it is left out (ORBSERVE_GRPC_GUARD=OFF).

#include <utility>

#include "server/edge/guard/guard.h"

namespace orbserve {

std::unique_ptr<ConnectionGuard> ConnectionGuard::Make(const GuardBounds&, int, uint64_t) {
  return std::make_unique<ConnectionGuard>();
}

TlsAdoption::TlsAdoption(int, TlsSession session) : session_(std::move(session)) {}
TlsAdoption::~TlsAdoption() = default;
bool TlsAdoption::is_used() { return false; }

bool SeesTraffic() { return false; }

}  // namespace orbserve
