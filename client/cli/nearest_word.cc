// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/nearest_word.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"

namespace orbserve::cli {
namespace {

// Damerau and Levenshtein's distance, in which a pair of letters is exchanged once at most.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string NearestWord(absl::string_view typed, absl::Span<const std::string> words) {
  std::string nearest;
  size_t least = std::max<size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& word : words) {
    const size_t distance = Distance(typed, word);
    if (distance >= least) continue;
    least = distance;
    nearest = word;
  }
  if (!nearest.empty() || typed.size() < 2) return nearest;
  for (const std::string& word : words) {
    if (!absl::StartsWith(word, typed)) continue;
    if (!nearest.empty()) return "";
    nearest = word;
  }
  return nearest;
}

}  // namespace orbserve::cli
