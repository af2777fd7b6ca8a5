// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Names of outputs: their paths, checks that no file is lost, and names as one line of text.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_OUTPUT_NAMES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_OUTPUT_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/images/inputs.h"

namespace orbserve::cli {

// Path of the picture that is drawn for the input called `relative`.
std::string PicturePath(const std::string& picture_folder, const std::string& relative);

// Check of --draw FILE: pictures are PNG, and a file of another name would mislead.
// INVALID_ARGUMENT.
absl::Status CheckPictureFile(const std::string& path);

// Check of --draw DIR: INVALID_ARGUMENT for a name like that of a picture or a video, unless there
// is a folder of that name.
absl::Status CheckPictureFolder(const std::string& path);

// INVALID_ARGUMENT: two of the files have the same relative path, so one output would replace the
// other.
absl::Status CheckOneOutputEach(absl::Span<const InputFile> files);

// INVALID_ARGUMENT: one of the files to be written, `outputs`, is also one of `inputs`, which would
// be lost. Empty names are ignored.
absl::Status CheckNoInputReplaced(absl::Span<const std::string> inputs,
                                  absl::Span<const std::string> outputs);

// CheckNoInputReplaced for the pictures that are drawn into `picture_folder`: one for each file, or
// for each frame of a video, which has no files and whose frames are called by number. `others`:
// inputs beside the files.
absl::Status CheckNoInputDrawnOver(absl::Span<const InputFile> files,
                                   absl::Span<const std::string> others,
                                   const std::string& picture_folder);

// `name` as TerminalLine(), with backslashes doubled: different names give different text.
std::string NameOnOneLine(absl::string_view name);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_OUTPUT_NAMES_H_
