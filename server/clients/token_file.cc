// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/token_file.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/errors.h"
#include "server/process/text_file.h"

namespace orbserve {
namespace {

constexpr size_t kMaxTokens = 100'000;

bool ParseHash(absl::string_view text, Sha256* hash) {
  if (!absl::ConsumePrefix(&text, "sha256:") || text.size() != 2 * hash->size() ||
      !std::all_of(text.begin(), text.end(),
                   [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); })) {
    return false;
  }
  const std::string bytes = absl::HexStringToBytes(text);
  std::copy(bytes.begin(), bytes.end(), hash->begin());
  return true;
}

bool ParseTime(absl::string_view text, absl::Time* time) {
  std::string error;
  return absl::ParseTime("%Y-%m-%d", text, time, &error) ||
         absl::ParseTime(absl::RFC3339_full, text, time, &error);
}

// Empty when the line is good, else what is wrong with it.
std::string ParseLine(absl::string_view line, TokenEntry* entry) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() < 2) return "a line must be NAME sha256:HASH [weight=W] [expires=TIME]";
  if (!IsTokenName(words[0])) {
    return absl::StrCat("the name must be 1 to ", kMaxTokenNameBytes,
                        " letters, digits, '.', '_' and '-'");
  }
  entry->name = std::string(words[0]);
  if (!ParseHash(words[1], &entry->hash)) {
    return "the name must be followed by sha256: and 64 digits of base 16";
  }
  for (size_t i = 2; i < words.size(); ++i) {
    absl::string_view word = words[i];
    if (absl::ConsumePrefix(&word, "weight=")) {
      if (!absl::SimpleAtod(word, &entry->weight) ||
          !(entry->weight >= 0.01 && entry->weight <= 100)) {
        return absl::StrCat("weight must be in [0.01, 100]; got \"", word, "\"");
      }
    } else if (absl::ConsumePrefix(&word, "expires=")) {
      if (!ParseTime(word, &entry->expires)) {
        return absl::StrCat("expires must be as 2027-01-31 or 2027-01-31T12:00:00Z; got \"", word,
                            "\"");
      }
    } else {
      return absl::StrCat("only weight= and expires= may follow the hash; got \"",
                          word.substr(0, 20), "\"");
    }
  }
  return "";
}

Sha256 HashOf(absl::string_view text) {
  Sha256 hash = {};
  // OpenSSL fails at this only without memory.
  if (EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    std::abort();
  }
  return hash;
}

}  // namespace

bool IsTokenName(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

absl::StatusOr<std::vector<TokenEntry>> ParseTokens(absl::string_view text,
                                                    absl::string_view origin) {
  std::vector<TokenEntry> entries;
  absl::flat_hash_set<Sha256> hashes;
  absl::flat_hash_map<std::string, double> weights;
  int number = 0;
  const auto refusal = [&](absl::string_view why) {
    return MakeError(ErrorReason::kBadOptions, absl::StrCat(origin, ":", number, ": ", why));
  };
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    TokenEntry entry;
    if (const std::string wrong = ParseLine(line, &entry); !wrong.empty()) return refusal(wrong);
    if (!hashes.insert(entry.hash).second)
      return refusal("the hash is that of an earlier line, too");
    const auto [weight, is_new] = weights.try_emplace(entry.name, entry.weight);
    if (!is_new && weight->second != entry.weight) {
      return refusal(absl::StrCat("an earlier line gives ", entry.name, " the weight ",
                                  weight->second, "; got ", entry.weight));
    }
    if (entries.size() == kMaxTokens) {
      return refusal(absl::StrCat("at most ", kMaxTokens, " tokens are allowed"));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::StatusOr<std::vector<TokenEntry>> ReadTokenFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("token_file ", text.status().message()));
  }
  return ParseTokens(*text, absl::StrCat("token_file ", path));
}

TokenTable::TokenTable(const std::vector<TokenEntry>& entries) {
  for (const TokenEntry& entry : entries) {
    by_hash_.emplace(entry.hash, entry);
    absl::Time& until = known_until_.try_emplace(entry.name, absl::InfinitePast()).first->second;
    until = std::max(until, entry.expires);
  }
}

const TokenEntry* TokenTable::Find(absl::string_view token) const {
  const auto found = by_hash_.find(HashOf(token));
  return found == by_hash_.end() ? nullptr : &found->second;
}

bool TokenTable::Knows(absl::string_view name, absl::Time now) const {
  const auto known = known_until_.find(name);
  return known != known_until_.end() && now < known->second;
}

}  // namespace orbserve
