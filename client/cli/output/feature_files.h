// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Features as files: NPZ, JSON lines, CSV. Arrays, keys and columns are described in
// docs/formats.md. The same features give the same bytes.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FEATURE_FILES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FEATURE_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

enum class FeatureFormat { kNpz, kJsonLines, kCsv };

// "npz", "jsonl", "csv": the name of the format and the ending of its files.
absl::string_view FormatName(FeatureFormat format);

// The format called `name`. INVALID_ARGUMENT naming those that there are; UNIMPLEMENTED for those
// that are known and not available.
absl::StatusOr<FeatureFormat> ParseFormat(absl::string_view name);

// The bytes of a feature file. `image` is the image's relative path, which the text formats carry.
// CSV with its line of column names when `csv_header`.
std::string EncodeFeatures(const v1::FeatureSet& features, FeatureFormat format,
                           absl::string_view image, bool csv_header = true);

// The features in an NPZ file of our own, or of another program that has at least `xy` and
// `descriptors`. INVALID_ARGUMENT.
absl::StatusOr<v1::FeatureSet> DecodeFeatures(absl::string_view npz);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FEATURE_FILES_H_
