// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/extract_plan.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/output/files/feature_store.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {
namespace {

absl::Status CheckOutputs(const ExtractOptions& options, FeatureFormat format, const Shard& shard,
                          const std::vector<InputFile>& files) {
  const bool to_files = !options.out_folder.empty();
  const bool draws = !options.draw_folder.empty();
  if (!to_files && !draws && options.sheet_file.empty()) return absl::OkStatus();
  if (absl::Status status = CheckOneOutputEach(files); !status.ok()) return status;
  std::vector<std::string> inputs = {options.image.mask_file};
  std::vector<std::string> outputs = {options.sheet_file};
  for (const InputFile& file : files) {
    inputs.push_back(file.path);
    if (draws) outputs.push_back(PicturePath(options.draw_folder, file.relative));
    if (to_files && !KeepsAllInOneFile(format)) {
      outputs.push_back(
          (std::filesystem::path(options.out_folder) / FeatureFileName(file, format)).native());
    }
  }
  if (to_files && KeepsAllInOneFile(format)) {
    outputs.push_back(FeatureStorePath(format, {.folder = options.out_folder, .shard = shard}));
  }
  return CheckNoInputReplaced(inputs, outputs);
}

}  // namespace

absl::StatusOr<ExtractPlan> MakeExtractPlan(const ExtractOptions& options) {
  ExtractPlan plan;
  absl::StatusOr<RequestSetup> setup = ReadRequestSetup(options.image);
  if (!setup.ok()) return setup.status();
  plan.setup = *std::move(setup);
  const bool to_files = !options.out_folder.empty();
  if (!options.format.empty()) {
    const absl::StatusOr<FeatureFormat> format = ParseFormat(options.format);
    if (!format.ok()) return format.status();
    plan.format = *format;
    const bool text =
        plan.format == FeatureFormat::kJsonLines || plan.format == FeatureFormat::kCsv;
    if (!to_files && !text) {
      return absl::InvalidArgumentError(
          absl::StrCat("--format ", options.format, " needs --out DIR"));
    }
  }
  const absl::StatusOr<ColmapCamera> camera =
      CameraFor(options.camera, plan.format == FeatureFormat::kColmap);
  if (!camera.ok()) return camera.status();
  plan.camera = *camera;
  if (options.resume && !to_files) return absl::InvalidArgumentError("--resume needs --out DIR");
  if (options.common.json) {
    if (!to_files && !options.format.empty()) {
      return absl::InvalidArgumentError(
          "--json and --format without --out both write to standard output; give only one of them");
    }
    plan.listing = ExtractListing::Kind::kJson;
  } else if (!to_files) {
    plan.listing =
        options.format.empty() ? ExtractListing::Kind::kTable : ExtractListing::Kind::kFeatures;
  }
  if (options.timings && plan.listing == ExtractListing::Kind::kFeatures) {
    return absl::InvalidArgumentError(
        "--timings and --format without --out both write to standard output; give --out DIR, too");
  }
  if (!options.shard.empty()) {
    const absl::StatusOr<Shard> shard = ParseShard(options.shard);
    if (!shard.ok()) return shard.status();
    plan.shard = *shard;
  }
  if (absl::Status draw = CheckPictureFolder(options.draw_folder); !draw.ok()) return draw;
  absl::StatusOr<std::vector<InputFile>> files =
      ExpandInputs(options.inputs, std::cin, options.draw_folder);
  if (!files.ok()) return files.status();
  if (absl::Status status = CheckOutputs(options, plan.format, plan.shard, *files); !status.ok()) {
    return status;
  }
  plan.files = TakeShard(*std::move(files), plan.shard);
  return plan;
}

std::string FeatureFileName(const InputFile& file, FeatureFormat format) {
  return absl::StrCat(file.relative, ".", std::string(FormatName(format)));
}

std::string PartsFolder(const Shard& shard) {
  return absl::StrCat(".orbserve-parts.", shard.index, "-of-", shard.count);
}

std::string OutputName(const ExtractPlan& plan, const InputFile& file) {
  if (!KeepsAllInOneFile(plan.format)) return FeatureFileName(file, plan.format);
  return absl::StrCat(PartsFolder(plan.shard), "/", FeatureFileName(file, FeatureFormat::kNpz));
}

std::string PlanFingerprint(const ExtractPlan& plan) {
  return SetupFingerprint(plan.setup,
                          absl::StrCat("|format ", std::string(FormatName(plan.format))));
}

}  // namespace orbserve::cli
