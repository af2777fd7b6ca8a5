// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/image_pairs.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {

std::vector<ImagePair> ExhaustivePairs(size_t count) { return SequentialPairs(count, count); }

std::vector<ImagePair> SequentialPairs(size_t count, size_t overlap) {
  std::vector<ImagePair> pairs;
  for (size_t query = 0; query < count; ++query) {
    for (size_t train = query + 1; train < count && train - query <= overlap; ++train) {
      pairs.push_back({query, train});
    }
  }
  return pairs;
}

absl::StatusOr<std::vector<ImagePair>> ParsePairs(absl::string_view text,
                                                  absl::Span<const std::string> images) {
  absl::flat_hash_map<absl::string_view, size_t> index;
  for (size_t i = 0; i < images.size(); ++i) index.emplace(images[i], i);
  std::vector<ImagePair> pairs;
  absl::flat_hash_set<std::pair<size_t, size_t>> seen;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    const char separator = absl::StrContains(line, '\t') ? '\t' : ' ';
    const std::vector<absl::string_view> names =
        absl::StrSplit(line, separator, absl::SkipWhitespace());
    if (names.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number,
                       " must have the names of two images, with a tab or one "
                       "space between them; got: ",
                       NameOnOneLine(line)));
    }
    size_t rows[2];
    for (int side = 0; side < 2; ++side) {
      const auto found = index.find(absl::StripAsciiWhitespace(names[side]));
      if (found == index.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", number, ": no input is called ", NameOnOneLine(names[side]),
                         "; names are relative to the folder that is given, for example ",
                         images.empty() ? "a/1.jpg" : NameOnOneLine(images[0])));
      }
      rows[side] = found->second;
    }
    if (rows[0] == rows[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " names the same image twice: ", NameOnOneLine(names[0])));
    }
    if (seen.insert(std::minmax(rows[0], rows[1])).second) pairs.push_back({rows[0], rows[1]});
  }
  return pairs;
}

}  // namespace orbserve::cli
