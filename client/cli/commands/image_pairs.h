// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The pairs of images that `orbserve match` matches in folders.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_IMAGE_PAIRS_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_IMAGE_PAIRS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve::cli {

// Two images, by their place in a list.
struct ImagePair {
  size_t query = 0;
  size_t train = 0;

  bool operator==(const ImagePair&) const = default;
};

// Every pair of `count` images: (0, 1), (0, 2), ...
std::vector<ImagePair> ExhaustivePairs(size_t count);

// Each of `count` images with the `overlap` images behind it.
std::vector<ImagePair> SequentialPairs(size_t count, size_t overlap);

// Parses a list of pairs: two names of `images` on each line, with a tab between them or, without a
// tab, a space. Empty lines and lines that begin with # are skipped. INVALID_ARGUMENT: a line
// without two names, an unknown name, or an image with itself; the message has the line's number. A
// pair that is listed twice, also the other way round, counts once.
absl::StatusOr<std::vector<ImagePair>> ParsePairs(absl::string_view text,
                                                  absl::Span<const std::string> images);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_IMAGE_PAIRS_H_
