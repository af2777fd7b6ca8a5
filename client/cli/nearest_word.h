// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_NEAREST_WORD_H_
#define ORBSERVE_CLIENT_CLI_NEAREST_WORD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve::cli {

// The word of `words` that `typed` is most like: the fewest letters inserted, left out, replaced or
// exchanged with their neighbour, at most a third of its length; or the only one that begins with
// `typed`. "" if none is like it.
std::string NearestWord(absl::string_view typed, absl::Span<const std::string> words);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_NEAREST_WORD_H_
