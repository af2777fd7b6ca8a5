// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matches of one pair of images as an NPZ file. docs/formats.md describes the arrays.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_MATCH_FILES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_MATCH_FILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/output/feature_store.h"

namespace orbserve::cli {

// Path of a pair's file in the output folder: "matches/QUERY.with/TRAIN.npz".
std::string MatchFileName(absl::string_view query, absl::string_view train);

// Returns the bytes of the file. Equal matches give equal bytes.
std::string EncodeMatches(const MatchedPair& pair);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_MATCH_FILES_H_
