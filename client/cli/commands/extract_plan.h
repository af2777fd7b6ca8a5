// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The decisions that the options of `orbserve extract` lead to, before anything starts.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_PLAN_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/commands/extract_listing.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/shard.h"
#include "client/cli/options.h"
#include "client/cli/output/files/colmap_camera.h"
#include "client/cli/output/files/feature_files.h"

namespace orbserve::cli {

struct ExtractPlan {
  RequestSetup setup;
  FeatureFormat format = FeatureFormat::kNpz;
  ExtractListing::Kind listing = ExtractListing::Kind::kNothing;
  Shard shard;
  ColmapCamera camera;
  std::vector<InputFile> files;  // of the shard
};

// Reads the inputs and checks that the options agree with each other and that no output replaces an
// input or another output. INVALID_ARGUMENT; UNIMPLEMENTED for a known format that is missing.
absl::StatusOr<ExtractPlan> MakeExtractPlan(const ExtractOptions& options);

// Name of an image's feature file, relative to the output folder.
std::string FeatureFileName(const InputFile& file, FeatureFormat format);

// Folder, relative to the output folder, of the parts of a format that keeps all images in one
// file: an NPZ file for each image, until the run is complete. A run that is killed goes on from
// there.
std::string PartsFolder(const Shard& shard);

// Name of the file that is written as soon as an image is done, relative to the output folder: its
// feature file, or its part of the one file.
std::string OutputName(const ExtractPlan& plan, const InputFile& file);

// Fingerprint of everything in the plan that decides the bytes of an output.
std::string PlanFingerprint(const ExtractPlan& plan);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_PLAN_H_
