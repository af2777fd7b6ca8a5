// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From the INPUT arguments to the list of files to read and the names of what is written for them.

#ifndef ORBSERVE_CLIENT_CLI_INPUTS_H_
#define ORBSERVE_CLIENT_CLI_INPUTS_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve::cli {

struct InputFile {
  std::string path;      // to open
  std::string relative;  // names outputs: below its folder, or as given (docs/cli.md)
};

// The `index`-th of `count` shards; 0 <= index < count.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;
};

// Less when `a` comes before `b` as people count: runs of digits by their value, the rest byte by
// byte, folders before what sorts after their name. A total order.
bool NaturalLess(absl::string_view a, absl::string_view b);

// "I/N". INVALID_ARGUMENT.
absl::StatusOr<Shard> ParseShard(absl::string_view text);

// The files that INPUT arguments stand for, in their order: a file itself, whatever its name; of a
// folder every file with a known ending (jpg, jpeg, png, pgm, ppm, pnm in any case), recursively in
// natural order, hidden entries left out; for "-" the names in `names`, one a line. Folders equal
// to `excluded_folder` (may be empty) are not entered, nor are links to folders. An input that is
// not there, a broken link with a known ending and a folder below that cannot be read are listed
// all the same: opening them tells why. INVALID_ARGUMENT: a folder without any image; two inputs of
// the same relative path.
absl::StatusOr<std::vector<InputFile>> ExpandInputs(absl::Span<const std::string> inputs,
                                                    std::istream& names,
                                                    const std::string& excluded_folder);

// Every `count`-th of the files by byte-sorted relative path, from the `index`-th on; kept in their
// order. The shards of one count part the files between them.
std::vector<InputFile> TakeShard(std::vector<InputFile> files, const Shard& shard);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_INPUTS_H_
