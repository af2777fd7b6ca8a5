// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/tls_adoption.h"

#include <atomic>
#include <utility>

#include "server/edge/guard/guard.h"

namespace orbserve {
namespace {

constinit thread_local TlsSession* offer = nullptr;
std::atomic<bool> used{false};

}  // namespace

TlsAdoption::TlsAdoption(TlsSession session) : session_(std::move(session)) { offer = &session_; }

TlsAdoption::~TlsAdoption() { offer = nullptr; }

bool TlsAdoption::is_used() { return used.load(std::memory_order_relaxed); }

ssl_st* TakeOfferedTls() {
  if (offer == nullptr) return nullptr;
  used.store(true, std::memory_order_relaxed);
  return offer->release();
}

}  // namespace orbserve
