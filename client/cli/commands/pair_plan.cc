// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/pair_plan.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/file_io.h"
#include "client/cli/output/files/match_files.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {
namespace {

// Keeps the files that are in a pair.
void DropUnused(PairPlan* plan) {
  std::vector<bool> used(plan->files.size(), false);
  for (const ImagePair& pair : plan->pairs) used[pair.query] = used[pair.train] = true;
  std::vector<size_t> place(plan->files.size());
  size_t kept = 0;
  for (size_t i = 0; i < plan->files.size(); ++i) {
    place[i] = kept;
    if (!used[i]) continue;
    if (kept != i) plan->files[kept] = std::move(plan->files[i]);
    ++kept;
  }
  plan->files.resize(kept);
  for (ImagePair& pair : plan->pairs) pair = {place[pair.query], place[pair.train]};
}

absl::Status CheckOutputs(const MatchCommandOptions& options, const PairPlan& plan) {
  if (absl::Status status = CheckOneOutputEach(plan.files); !status.ok()) return status;
  if (!plan.format.has_value()) return absl::OkStatus();
  std::vector<std::string> inputs = {options.image.mask_file, options.pairs_file};
  std::vector<std::string> outputs;
  absl::flat_hash_map<std::string, std::string> flat;  // hloc's name of an image -> its name
  for (const InputFile& file : plan.files) {
    inputs.push_back(file.path);
    if (*plan.format == FeatureFormat::kNpz && !IsFeatureFile(file.path)) {
      outputs.push_back(
          (std::filesystem::path(options.out_folder) / FeatureOutput(plan, file)).native());
    }
    if (*plan.format != FeatureFormat::kHdf5) continue;
    const auto [other, added] =
        flat.emplace(absl::StrReplaceAll(file.relative, {{"/", "-"}}), file.relative);
    if (!added) {
      return absl::InvalidArgumentError(absl::StrCat("hloc calls two images ", other->first,
                                                     " in its pairs: ", other->second, " and ",
                                                     file.relative, "; rename one"));
    }
  }
  if (*plan.format != FeatureFormat::kNpz) {
    outputs.push_back(FeatureStorePath(*plan.format, plan.place));
  }
  return CheckNoInputReplaced(inputs, outputs);
}

}  // namespace

absl::StatusOr<PairPlan> MakePairPlan(const MatchCommandOptions& options) {
  const char* const of_two_images = !options.reference.empty()   ? "--reference"
                                    : !options.draw_file.empty() ? "--draw"
                                    : options.inliers            ? "--inliers"
                                                                 : nullptr;
  if (of_two_images != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(of_two_images, " cannot be given with --pairs, --exhaustive or --sequential"));
  }
  if (options.verify_px.has_value() && !options.verify) {
    return absl::InvalidArgumentError(
        absl::StrCat("--verify-px ", *options.verify_px, " has no effect: it needs --verify"));
  }
  PairPlan plan;
  absl::StatusOr<RequestSetup> setup = ReadRequestSetup(options.image);
  if (!setup.ok()) return setup.status();
  plan.setup = *std::move(setup);
  if (!options.format.empty()) {
    const absl::StatusOr<FeatureFormat> format = ParseFormat(options.format);
    if (!format.ok() || (*format != FeatureFormat::kNpz && !KeepsAllInOneFile(*format))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--format must be npz, hdf5 or colmap; got ", options.format));
    }
    if (options.out_folder.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--format ", options.format, " needs --out DIR"));
    }
    plan.format = *format;
  } else if (!options.out_folder.empty()) {
    plan.format = FeatureFormat::kNpz;
  }
  if (options.resume && options.out_folder.empty()) {
    return absl::InvalidArgumentError("--resume needs --out DIR");
  }
  const absl::StatusOr<ColmapCamera> camera =
      CameraFor(options.camera, plan.format == FeatureFormat::kColmap);
  if (!camera.ok()) return camera.status();
  plan.place = {.folder = options.out_folder, .keep = options.resume, .camera = *camera};
  absl::StatusOr<std::vector<InputFile>> files = ExpandImagesOrFeatures(options.inputs, std::cin);
  if (!files.ok()) return files.status();
  plan.files = *std::move(files);
  if (!options.pairs_file.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(options.pairs_file);
    std::vector<std::string> names;
    for (const InputFile& file : plan.files) names.push_back(file.relative);
    absl::StatusOr<std::vector<ImagePair>> pairs =
        text.ok() ? ParsePairs(*text, names)
                  : absl::StatusOr<std::vector<ImagePair>>(text.status());
    if (!pairs.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--pairs ", options.pairs_file, ": ",
                                                     std::string(pairs.status().message())));
    }
    plan.pairs = *std::move(pairs);
  } else {
    const auto overlap = static_cast<size_t>(options.sequential);
    plan.pairs = options.exhaustive ? ExhaustivePairs(plan.files.size())
                                    : SequentialPairs(plan.files.size(), overlap);
  }
  if (plan.pairs.empty()) {
    return absl::InvalidArgumentError("there is no pair to match: give two images or more");
  }
  DropUnused(&plan);
  if (absl::Status status = CheckOutputs(options, plan); !status.ok()) return status;
  return plan;
}

std::string FeatureOutput(const PairPlan& plan, const InputFile& file) {
  return absl::StrCat(plan.in_one() ? absl::StrCat(kPairParts, "/") : "", "features/",
                      file.relative, ".npz");
}

std::string MatchOutput(const PairPlan& plan, const ImagePair& pair) {
  return absl::StrCat(
      plan.in_one() ? absl::StrCat(kPairParts, "/") : "",
      MatchFileName(plan.files[pair.query].relative, plan.files[pair.train].relative));
}

std::string PairFingerprint(const MatchCommandOptions& options, const PairPlan& plan) {
  return SetupFingerprint(
      plan.setup, options.verify ? absl::StrCat("|verify ", options.verify_px.value_or(kVerifyPx))
                                 : std::string("|matches"));
}

}  // namespace orbserve::cli
