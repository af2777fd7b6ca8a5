// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Shards: parts of a list of inputs, each for one of several runs.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_SHARD_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_SHARD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/images/inputs.h"

namespace orbserve::cli {

// Shard number `index` of `count` shards; 0 <= index < count.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;
};

// Parses "I/N". INVALID_ARGUMENT.
absl::StatusOr<Shard> ParseShard(absl::string_view text);

// Sorts the files by the bytes of their relative paths and takes every `count`-th, starting with
// number `index`. The result keeps the order of `files`. The shards of one `count` together contain
// every file once.
std::vector<InputFile> TakeShard(std::vector<InputFile> files, const Shard& shard);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_SHARD_H_
