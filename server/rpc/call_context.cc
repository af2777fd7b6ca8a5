// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/call_context.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {

absl::StatusOr<std::string> ClientOf(const grpc::ServerContextBase& context) {
  constexpr char kKey[] = "x-client-id";
  const auto& metadata = context.client_metadata();
  const auto [first, last] = metadata.equal_range(kKey);
  if (first == last) return absl::StrCat("peer:", context.peer());
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
  return absl::StrCat("id:", id);
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
