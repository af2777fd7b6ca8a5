// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From the INPUT arguments to the list of files to read.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_INPUTS_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_INPUTS_H_

#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve::cli {

struct InputFile {
  std::string path;  // to open
  std::string
      relative;  // names the outputs: path below the folder given, or as given (docs/cli.md)
  absl::Status problem;  // not OK: there is nothing to open, and this is why
};

// True if `a` comes before `b` in natural order: runs of digits compare by value, everything else
// byte by byte, and the content of a folder before names that merely begin like it. A total order.
bool NaturalLess(absl::string_view a, absl::string_view b);

// Returns the files that the INPUT arguments stand for, in the order of the arguments:
// - a file: itself, whatever its name;
// - a folder: every file below it with a known ending (jpg, jpeg, png, pgm, ppm, pnm in any case),
//   in natural order, without hidden entries. Links to folders, and folders equal to
//   `picture_folder` (destination of drawn pictures, may be empty), are not entered;
// - "-": the inputs that `names` lists, one per line.
// An input that does not exist, a broken link with a known ending, and an unreadable folder below
// one that was given are listed too: opening them reports the error. A folder that was given and
// cannot be read or has no image is listed with its problem.
// INVALID_ARGUMENT: every input is such a folder; or `picture_folder` itself is an input, and the
// next run would take its pictures for images.
absl::StatusOr<std::vector<InputFile>> ExpandInputs(absl::Span<const std::string> inputs,
                                                    std::istream& names,
                                                    const std::string& picture_folder);

// Returns the files that the INPUT arguments of a command stand for that reads images or, of an
// earlier run, their features: as ExpandInputs(), but a folder without images gives the NPZ files
// in it. The relative name of an NPZ file is that of its image, without ".npz".
absl::StatusOr<std::vector<InputFile>> ExpandImagesOrFeatures(absl::Span<const std::string> inputs,
                                                              std::istream& names);

// True if the file is called like one with features.
bool IsFeatureFile(absl::string_view path);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_INPUTS_H_
