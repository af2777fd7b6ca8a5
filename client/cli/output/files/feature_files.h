// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Features as files: NPZ, JSON lines, CSV. Arrays, keys and columns are described in
// docs/formats.md. Equal features give equal bytes.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FILES_FEATURE_FILES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FILES_FEATURE_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// kHdf5 and kColmap keep all images of a run in one file (feature_store.h).
enum class FeatureFormat { kNpz, kJsonLines, kCsv, kHdf5, kColmap };

// True if the format keeps all images of a run in one file.
bool KeepsAllInOneFile(FeatureFormat format);

// Name of a format: "npz", "jsonl", "csv", "hdf5" or "colmap". The first three are the ending of
// its files, too.
absl::string_view FormatName(FeatureFormat format);

// Returns the format called `name`. INVALID_ARGUMENT: unknown, with the formats in the message.
absl::StatusOr<FeatureFormat> ParseFormat(absl::string_view name);

// Returns the bytes of a feature file, in a format with a file for each image. `image`: relative
// path of the image, which the text formats carry. `csv_header`: CSV begins with a line of column
// names.
std::string EncodeFeatures(const v1::FeatureSet& features, FeatureFormat format,
                           absl::string_view image, bool csv_header = true);

// Returns the features in an NPZ file, of this or of another program, that has at least the arrays
// `xy` and `descriptors`. INVALID_ARGUMENT.
absl::StatusOr<v1::FeatureSet> DecodeFeatures(absl::string_view npz);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FILES_FEATURE_FILES_H_
