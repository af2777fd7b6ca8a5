// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Reads what comes before a client is known: frames of HTTP/2, requests at the HTTP port, and the
// texts that say who calls. The first byte chooses. Beside what the sanitizers see, the answer must
// not depend on the pieces in which bytes come, and a refusal must have a reason in words.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/clients/identity.h"
#include "server/clients/peer.h"
#include "server/clients/token_file.h"
#include "server/edge/guard/http2_guard.h"
#include "server/edge/http/http_request.h"
#include "tests/fuzz/require.h"

namespace orbserve {
namespace {

using Bytes = absl::string_view;

const uint8_t* Data(Bytes bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

constexpr Http2GuardLimits kLimits;
constexpr uint32_t kMaxCalls = 8;

// A byte says which side sends next and how many bytes, which follow. One guard gets them so, the
// other one by one.
void FuzzFrames(Bytes bytes) {
  ResetBudget budgets[2];
  Http2Guard whole(&kLimits, &budgets[0], kMaxCalls, 0);
  Http2Guard divided(&kLimits, &budgets[1], kMaxCalls, 0);
  constexpr Bytes kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  whole.Received(Data(kPreface), kPreface.size(), 0);
  divided.Received(Data(kPreface), kPreface.size(), 0);
  int64_t received = 0;
  for (int64_t now_ms = 0; !bytes.empty(); ++now_ms) {
    const auto head = static_cast<uint8_t>(bytes.front());
    const Bytes next = bytes.substr(1, 1 + head / 2);
    bytes.remove_prefix(std::min(bytes.size(), 1 + next.size()));
    if (head % 2 == 0) {
      received += static_cast<int64_t>(next.size());
      const CloseReason violation = whole.Received(Data(next), next.size(), now_ms);
      CloseReason last = CloseReason::kEnded;
      for (const char& byte : next) last = divided.Received(Data(Bytes(&byte, 1)), 1, now_ms);
      Require(next.empty() || violation == last, "the bound does not depend on the pieces");
      if (violation != CloseReason::kEnded) return;
    } else {
      whole.Sent(Data(next), next.size());
      for (const char& byte : next) divided.Sent(Data(Bytes(&byte, 1)), 1);
    }
    Require(whole.calls() == divided.calls(), "calls");
    Require(whole.unfinished_bytes() == divided.unfinished_bytes(), "unfinished bytes");
    Require(whole.cost_ns() == divided.cost_ns() && whole.cost_ns() >= 0, "cost");
    Require(whole.unfinished_bytes() >= 0 && whole.unfinished_bytes() <= received,
            "no more is unfinished than has come");
  }
}

void FuzzHttp(Bytes bytes) {
  using State = HttpRequest::State;
  const HttpRequest request = ReadHttpRequest(bytes);
  if (request.state != State::kComplete) {
    Require(request.path.empty() && request.method.empty(), "only a request has parts");
    return;
  }
  Require(!request.method.empty(), "a request has a method");
  Require(!absl::StrContains(request.path, '?'), "the query is no part of the path");
  const HttpRequest longer = ReadHttpRequest(std::string(bytes) + "more");
  Require(longer.state == State::kComplete && longer.path == request.path &&
              longer.query == request.query && longer.method == request.method,
          "what follows a request does not change it");
}

void FuzzTokens(Bytes bytes) {
  const auto entries = ParseTokens(bytes, "file");
  RequireReason(entries.status());
  if (!entries.ok()) return;
  for (const TokenEntry& entry : *entries) {
    Require(!entry.name.empty() && entry.weight > 0, "an entry has a name and a weight");
  }
  const TokenTable table(*entries);
  Require(table.Find("no token of the file") == nullptr, "no such token");
}

// Lines: the name of an owner, an id, names of a certificate, trusted proxies, a list of addresses.
void FuzzIdentity(Bytes bytes) {
  std::vector<std::string> lines = absl::StrSplit(bytes, '\n');
  lines.resize(7);
  const Bytes id = lines[1];
  const auto client = ClientOfOwner("token:", lines[0], id.empty() ? nullptr : &id);
  RequireReason(client.status());
  if (client.ok()) {
    Require(client->owner == "token:" + lines[0], "an id does not change the owner");
    Require(absl::StartsWith(client->name, client->owner), "a name belongs to its owner");
    Require(!DisplayName(*client).empty(), "a client can be shown");
  }
  RequireReason(NameOfCertificate(lines[2], lines[3], lines[4]).status());
  const auto proxies = PeerSet::Create(absl::StrSplit(lines[5], ','), "trusted_proxies");
  RequireReason(proxies.status());
  const auto owner =
      ForwardedOwner("addr:192.0.2.1", lines[6], proxies.ok() ? *proxies : PeerSet());
  RequireReason(owner.status());
  Require(!owner.ok() || !owner->empty(), "an owner has a name");
}

void Fuzz(uint8_t kind, Bytes bytes) {
  switch (kind % 4) {
    case 0:
      FuzzFrames(bytes);
      return;
    case 1:
      FuzzHttp(bytes);
      return;
    case 2:
      FuzzTokens(bytes);
      return;
    default:
      FuzzIdentity(bytes);
  }
}

}  // namespace
}  // namespace orbserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  orbserve::Fuzz(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
