// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From the INPUT arguments to the list of files to read and the names of what is written for them.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_INPUTS_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_INPUTS_H_

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
  absl::Status problem;  // why there is nothing to open; mostly OK
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
// to `picture_folder` (where pictures are drawn into; may be empty) are not entered, nor are links
// to folders. An input that is not there, a broken link with a known ending and a folder below that
// cannot be read are listed all the same: opening them tells why. A folder given that cannot be
// read or has no image is listed with its problem. INVALID_ARGUMENT: there are only such folders,
// or `picture_folder` is given itself, whose pictures the next run would take for images.
absl::StatusOr<std::vector<InputFile>> ExpandInputs(absl::Span<const std::string> inputs,
                                                    std::istream& names,
                                                    const std::string& picture_folder);

// INVALID_ARGUMENT where two of the files have one relative path, so that one output would replace
// the other.
absl::Status CheckOneOutputEach(absl::Span<const InputFile> files);

// INVALID_ARGUMENT where one of the files to be written, `outputs`, is one of those that are read,
// which would be lost.
absl::Status CheckNoInputReplaced(absl::Span<const std::string> inputs,
                                  absl::Span<const std::string> outputs);

// The picture of the input called `relative`.
std::string PicturePath(const std::string& picture_folder, const std::string& relative);

// `name` for people and for files of lines: control characters and backslashes as \n, \\ or \x1b,
// so that it is on one line, and two names never look alike.
std::string NameOnOneLine(absl::string_view name);

// Every `count`-th of the files by byte-sorted relative path, from the `index`-th on; kept in their
// order. The shards of one count part the files between them.
std::vector<InputFile> TakeShard(std::vector<InputFile> files, const Shard& shard);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_INPUTS_H_
