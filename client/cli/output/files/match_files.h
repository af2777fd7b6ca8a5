// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matches of one pair of images as an NPZ file. docs/formats.md describes the arrays.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FILES_MATCH_FILES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FILES_MATCH_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/output/files/feature_store.h"

namespace orbserve::cli {

// Path of a pair's file in the output folder: "matches/QUERY.with/TRAIN.npz".
std::string MatchFileName(absl::string_view query, absl::string_view train);

// Returns the bytes of the file. Equal matches give equal bytes.
std::string EncodeMatches(const MatchedPair& pair);

// Returns the matches of such a file, for the pair of these names. INVALID_ARGUMENT: its arrays are
// missing or do not fit together.
absl::StatusOr<MatchedPair> DecodeMatches(absl::string_view npz, absl::string_view query,
                                          absl::string_view train);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FILES_MATCH_FILES_H_
