// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/call_context.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/rpc/peer.h"

namespace orbserve {

absl::StatusOr<ClientId> ClientOf(const grpc::ServerContextBase& context) {
  constexpr char kKey[] = "x-client-id";
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range(kKey);
  const std::string peer = context.peer();
  ClientId client;
  client.owner = PeerOwner(peer);
  if (first == last) {
    client.name = absl::StrCat("peer:", peer);
    return client;
  }
  if (std::next(first) != last) {
    return MakeError(ErrorReason::kBadRequest, "metadata x-client-id must be given once");
  }
  const absl::string_view id(first->second.data(), first->second.size());
  if (id.empty() || id.size() > 128 || !std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isprint(static_cast<unsigned char>(c));
      })) {
    return MakeError(ErrorReason::kBadRequest,
                     "metadata x-client-id must be 1 to 128 bytes of printable ASCII");
  }
  client.name = absl::StrCat("id:", id);
  return client;
}

SteadyTime DeadlineOf(const grpc::ServerContextBase& context) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return kNever;
  // The wire carries the time left. gRPC adds the wall clock and this subtracts it again, which is
  // wrong only if the clock is set in between. Far deadlines would overflow the sum.
  const auto left = deadline - system_clock::now();
  if (left > std::chrono::hours(24 * 365)) return kNever;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
}

}  // namespace orbserve
