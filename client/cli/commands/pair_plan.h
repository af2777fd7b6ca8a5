// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The decisions that the options of `orbserve match` on folders lead to, before anything starts.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_PAIR_PLAN_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_PAIR_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/commands/image_pairs.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/images/inputs.h"
#include "client/cli/options.h"
#include "client/cli/output/files/feature_files.h"
#include "client/cli/output/files/feature_store.h"

namespace orbserve::cli {

struct PairPlan {
  RequestSetup setup;
  std::optional<FeatureFormat> format;  // none: without files
  StorePlace place;
  std::vector<InputFile> files;  // those that are in a pair, by name
  std::vector<ImagePair> pairs;  // of `files`

  bool in_one() const { return format.has_value() && KeepsAllInOneFile(*format); }
  // Files that both images of a pair come from.
  std::vector<std::string> InputsOf(const ImagePair& pair) const {
    return {files[pair.query].path, files[pair.train].path};
  }
};

// Reads the inputs and checks that the options agree with each other and that no output replaces an
// input or another output. INVALID_ARGUMENT; UNIMPLEMENTED for a known format that is missing.
absl::StatusOr<PairPlan> MakePairPlan(const MatchCommandOptions& options);

// Folder, relative to the output folder, of the parts of a format that keeps everything in one
// file: NPZ files of images and pairs, until the run is complete. A run that is killed goes on from
// there.
inline constexpr char kPairParts[] = ".orbserve-match-parts";

// Names of the NPZ files that are written as soon as an image or a pair is done, relative to the
// output folder.
std::string FeatureOutput(const PairPlan& plan, const InputFile& file);
std::string MatchOutput(const PairPlan& plan, const ImagePair& pair);

// Fingerprint of everything that decides the bytes of these files.
std::string PairFingerprint(const MatchCommandOptions& options, const PairPlan& plan);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_PAIR_PLAN_H_
