// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/shard.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace orbserve::cli {

absl::StatusOr<Shard> ParseShard(absl::string_view text) {
  Shard shard;
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, slash), &shard.index) ||
      !absl::SimpleAtoi(text.substr(slash + 1), &shard.count) || shard.count < 1 ||
      shard.index < 0 || shard.index >= shard.count) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shard must be I/N with 0 <= I < N; got ", std::string(text)));
  }
  return shard;
}

std::vector<InputFile> TakeShard(std::vector<InputFile> files, const Shard& shard) {
  if (shard.count == 1) return files;
  std::vector<size_t> order(files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&files](size_t a, size_t b) {
    return std::tie(files[a].relative, files[a].path) < std::tie(files[b].relative, files[b].path);
  });
  std::vector<size_t> taken;
  for (size_t i = static_cast<size_t>(shard.index); i < order.size();
       i += static_cast<size_t>(shard.count)) {
    taken.push_back(order[i]);
  }
  std::sort(taken.begin(), taken.end());
  std::vector<InputFile> result;
  result.reserve(taken.size());
  for (const size_t i : taken) result.push_back(std::move(files[i]));
  return result;
}

}  // namespace orbserve::cli
