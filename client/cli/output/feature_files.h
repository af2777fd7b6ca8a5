// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Features as files: NPZ, JSON lines, CSV. Arrays, keys and columns are described in
// docs/formats.md. Equal features give equal bytes.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FEATURE_FILES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FEATURE_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

enum class FeatureFormat { kNpz, kJsonLines, kCsv };

// Name of a format and ending of its files: "npz", "jsonl" or "csv".
absl::string_view FormatName(FeatureFormat format);

// Returns the format called `name`. INVALID_ARGUMENT: unknown, with the available formats in the
// message; UNIMPLEMENTED: known, but not available.
absl::StatusOr<FeatureFormat> ParseFormat(absl::string_view name);

// Returns the bytes of a feature file. `image`: relative path of the image, which the text formats
// carry. `csv_header`: CSV begins with a line of column names.
std::string EncodeFeatures(const v1::FeatureSet& features, FeatureFormat format,
                           absl::string_view image, bool csv_header = true);

// Returns the features in an NPZ file, of this or of another program, that has at least the arrays
// `xy` and `descriptors`. INVALID_ARGUMENT.
absl::StatusOr<v1::FeatureSet> DecodeFeatures(absl::string_view npz);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FEATURE_FILES_H_
