// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tokens by which clients are known. The file has a line for each token:
//
//   NAME sha256:HASH [weight=W] [expires=TIME]
//
// NAME: 1 to 128 letters, digits, '.', '_' and '-'. HASH: SHA-256 of the token, as 64 digits of
// base 16. W: of the client's share, 0.01 to 100, default 1. TIME: when the token stops to be good,
// as 2027-01-31 (the beginning of that day, UTC) or 2027-01-31T12:00:00Z; default: never. Empty
// lines and lines that begin with '#' mean nothing. A client may have several lines, all with the
// same weight: its token can then be changed without a gap.
//
// One round of SHA-256 is enough because tokens are random numbers of 256 bits, not passwords:
// there are too many to try.

#ifndef ORBSERVE_SERVER_CLIENTS_TOKEN_FILE_H_
#define ORBSERVE_SERVER_CLIENTS_TOKEN_FILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace orbserve {

using Sha256 = std::array<uint8_t, 32>;

struct TokenEntry {
  std::string name;  // of the client
  Sha256 hash = {};
  double weight = 1;
  absl::Time expires = absl::InfiniteFuture();
};

inline constexpr size_t kMaxTokenNameBytes = 128;

// True for a name that a line of the file may have.
bool IsTokenName(absl::string_view text);

// `origin` names the text in errors. BAD_OPTIONS, with the line and what is wrong with it. A hash
// is never part of an error.
absl::StatusOr<std::vector<TokenEntry>> ParseTokens(absl::string_view text,
                                                    absl::string_view origin);
absl::StatusOr<std::vector<TokenEntry>> ReadTokenFile(const std::string& path);

// The entries of a file, to look tokens up. Immutable, thread-safe.
class TokenTable {
 public:
  explicit TokenTable(const std::vector<TokenEntry>& entries);

  // The client with this token, which may have expired; null if there is none. The time that this
  // takes may say something about the hashes in the table, which lead nobody to a token.
  const TokenEntry* Find(absl::string_view token) const;
  // True if the client has a token that has not expired.
  bool Knows(absl::string_view name, absl::Time now) const;

 private:
  absl::flat_hash_map<Sha256, TokenEntry> by_hash_;
  absl::flat_hash_map<std::string, absl::Time> known_until_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_TOKEN_FILE_H_
