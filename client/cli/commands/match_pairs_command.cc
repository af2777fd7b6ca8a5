// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve match with --pairs, --exhaustive or --sequential

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/extract_run.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/image_pairs.h"
#include "client/cli/commands/pair_run.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/images/inputs.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/feature_store.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/match_files.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

struct Plan {
  RequestSetup setup;
  std::optional<FeatureFormat> format;  // none: without files
  std::vector<InputFile> files;         // those that are in a pair, by name
  std::vector<ImagePair> pairs;         // of `files`
};

std::string FeaturePath(const MatchCommandOptions& options, const std::string& image) {
  return (std::filesystem::path(options.out_folder) / "features" / absl::StrCat(image, ".npz"))
      .native();
}

std::string MatchPath(const MatchCommandOptions& options, const std::string& query,
                      const std::string& train) {
  return (std::filesystem::path(options.out_folder) / MatchFileName(query, train)).native();
}

// Keeps the files that are in a pair.
void DropUnused(Plan* plan) {
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

absl::Status CheckOutputs(const MatchCommandOptions& options, const Plan& plan) {
  if (absl::Status status = CheckOneOutputEach(plan.files); !status.ok()) return status;
  if (!plan.format.has_value()) return absl::OkStatus();
  std::vector<std::string> inputs = {options.image.mask_file, options.pairs_file};
  std::vector<std::string> outputs;
  absl::flat_hash_map<std::string, std::string> flat;  // hloc's name of an image -> its name
  for (const InputFile& file : plan.files) {
    inputs.push_back(file.path);
    if (*plan.format == FeatureFormat::kNpz && !IsFeatureFile(file.path)) {
      outputs.push_back(FeaturePath(options, file.relative));
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
    outputs.push_back(FeatureStorePath(*plan.format, {.folder = options.out_folder}));
  }
  return CheckNoInputReplaced(inputs, outputs);
}

absl::StatusOr<Plan> MakePlan(const MatchCommandOptions& options) {
  if (!options.reference.empty() || !options.draw_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.reference.empty() ? "--draw" : "--reference",
                     " cannot be given with --pairs, --exhaustive or --sequential"));
  }
  Plan plan;
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

// Features of every file: read from NPZ files, or made by the engine.
class FeatureLoader {
 public:
  // Every pointer outlives the loader. `store`: takes the features, in their order; may be null.
  FeatureLoader(const MatchCommandOptions& options, const Plan& plan, Engine* engine,
                Console* console, FeatureStore* store)
      : options_(options), plan_(plan), engine_(engine), console_(console), store_(store) {}

  // Fills `images`, one for each file, without features for those that failed.
  ExtractTotals Load(std::vector<NamedFeatures>* images) {
    images_ = images;
    std::vector<InputFile> to_extract;
    for (size_t i = 0; i < plan_.files.size(); ++i) {
      const InputFile& file = plan_.files[i];
      images->push_back({.name = file.relative});
      index_[file.relative] = i;
      if (!IsFeatureFile(file.path)) to_extract.push_back(file);
    }
    ExtractTotals totals;
    if (!to_extract.empty()) {
      ExtractRun run(
          engine_, console_, &plan_.setup,
          [this](const InputFile& file, const v1::ExtractResponse& response) {
            return Take(file, response.features());
          },
          [this](const InputFile& file, const absl::StatusOr<std::string>& text) {
            if (!text.ok()) Complain(file, text.status());
          });
      console_->StartProgress(static_cast<int64_t>(to_extract.size()), "images");
      totals = run.Run(to_extract);
      console_->EndProgress();
    }
    if (totals.interrupted || !totals.lost.ok()) return totals;
    for (size_t i = 0; i < plan_.files.size(); ++i) {
      if (Interrupted()) break;
      const InputFile& file = plan_.files[i];
      if (IsFeatureFile(file.path)) Read(file, &totals);
      std::optional<v1::FeatureSet>& features = (*images_)[i].features;
      if (!features.has_value()) continue;
      if (store_ != nullptr) {
        if (absl::Status status = store_->PutFeatures(file.relative, *features); !status.ok()) {
          totals.lost = status;
          return totals;
        }
      }
      KeepMatchingColumns(&*features);
    }
    totals.interrupted = Interrupted();
    return totals;
  }

 private:
  absl::StatusOr<std::string> Take(const InputFile& file, const v1::FeatureSet& features) {
    if (plan_.format == FeatureFormat::kNpz) {
      const std::string bytes = EncodeFeatures(features, FeatureFormat::kNpz, file.relative);
      const absl::Status written = WriteFile(FeaturePath(options_, file.relative), bytes);
      if (!written.ok()) return written;
    }
    // Writer threads take different images: each has a place of its own.
    std::optional<v1::FeatureSet>& kept = (*images_)[index_.at(file.relative)].features;
    kept = features;
    if (store_ == nullptr) KeepMatchingColumns(&*kept);
    return std::string();
  }

  void Read(const InputFile& file, ExtractTotals* totals) {
    absl::Status problem = file.problem;
    if (problem.ok()) {
      const absl::StatusOr<std::string> bytes = ReadFile(file.path);
      problem = bytes.status();
      if (problem.ok()) {
        absl::StatusOr<v1::FeatureSet> features = DecodeFeatures(*bytes);
        problem = features.status();
        if (problem.ok()) {
          totals->features += features->x_size();
          ++totals->done;
          (*images_)[index_.at(file.relative)].features = *std::move(features);
          return;
        }
      }
    }
    ++totals->failed;
    Complain(file, problem);
  }

  void Complain(const InputFile& file, const absl::Status& error) {
    console_->Error(absl::StrCat(NameOnOneLine(file.path), ": ", ErrorText(error)));
  }

  const MatchCommandOptions& options_;
  const Plan& plan_;
  Engine* const engine_;
  Console* const console_;
  FeatureStore* const store_;
  std::vector<NamedFeatures>* images_ = nullptr;
  absl::flat_hash_map<std::string, size_t> index_;
};

// Prints a row for each pair and puts its matches where they belong.
class PairOutput {
 public:
  PairOutput(const MatchCommandOptions& options, const Plan& plan, FeatureStore* store,
             Console* console)
      : options_(options), plan_(plan), store_(store), console_(console) {
    for (const InputFile& file : plan.files) {
      name_columns_ =
          std::max(name_columns_, static_cast<int>(NameOnOneLine(file.relative).size()));
    }
    table_ = !options.common.json && !plan.format.has_value();
  }

  bool has_table() const { return table_; }

  void PrintHeading() const {
    if (!table_) return;
    PrintText(absl::StrFormat("%-*s  %-*s  %7s%s  %8s\n", name_columns_, "query", name_columns_,
                              "train", "matches", options_.verify ? "  inliers" : "", "match/ms"));
  }

  absl::Status Report(const ImagePair& pair, const absl::StatusOr<PairRun::Result>& result) {
    absl::Status status = result.status();
    if (status.ok()) status = Write(result->pair);
    const std::string& query = plan_.files[pair.query].relative;
    const std::string& train = plan_.files[pair.train].relative;
    if (!status.ok()) {
      console_->Error(absl::StrCat(NameOnOneLine(query), " and ", NameOnOneLine(train), ": ",
                                   ErrorText(status)));
    }
    if (options_.common.json) {
      PrintJson(query, train, status, result);
    } else if (table_ && status.ok()) {
      const int inliers =
          result->pair.geometry.has_value() ? result->pair.geometry->inlier_count : 0;
      PrintText(absl::StrFormat("%-*s  %-*s  %7d%s  %8s\n", name_columns_, NameOnOneLine(query),
                                name_columns_, NameOnOneLine(train),
                                result->pair.matches.query_index_size(),
                                options_.verify ? absl::StrFormat("  %7d", inliers) : "",
                                MillisecondsCell(result->timings.match_ns())));
    }
    return status;
  }

 private:
  absl::Status Write(const MatchedPair& pair) {
    if (store_ != nullptr) return store_->PutMatches(pair);
    if (!plan_.format.has_value()) return absl::OkStatus();
    return WriteFile(MatchPath(options_, pair.query, pair.train), EncodeMatches(pair));
  }

  void PrintJson(const std::string& query, const std::string& train, const absl::Status& status,
                 const absl::StatusOr<PairRun::Result>& result) const {
    JsonWriter json;
    json.BeginObject().Key("query").String(query).Key("train").String(train);
    if (!status.ok()) {
      AddError(status, &json);
    } else {
      json.Key("matches").Int(result->pair.matches.query_index_size());
      if (options_.verify) {
        const std::optional<FundamentalMatrix>& geometry = result->pair.geometry;
        json.Key("inliers").Int(geometry.has_value() ? geometry->inlier_count : 0);
      }
      if (plan_.format == FeatureFormat::kNpz) {
        json.Key("output").String(MatchPath(options_, query, train));
      }
      json.Key("match_ms").Double(static_cast<double>(result->timings.match_ns()) / 1e6);
    }
    json.EndObject();
    PrintLine(json.text());
  }

  const MatchCommandOptions& options_;
  const Plan& plan_;
  FeatureStore* const store_;
  Console* const console_;
  bool table_ = false;
  int name_columns_ = 5;
};

}  // namespace

int RunMatchPairs(const MatchCommandOptions& options) {
  Console console(options.common.quiet);
  const absl::StatusOr<Plan> plan = MakePlan(options);
  if (!plan.ok()) return Fail(&console, plan.status());
  CatchInterrupts();
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status accepted = CheckRequestSetup(plan->setup, engine->get());
  if (!accepted.ok()) return Fail(&console, accepted);
  std::unique_ptr<FeatureStore> store;
  if (plan->format.has_value() && KeepsAllInOneFile(*plan->format)) {
    absl::StatusOr<std::unique_ptr<FeatureStore>> opened =
        OpenFeatureStore(*plan->format, {.folder = options.out_folder});
    if (!opened.ok()) return Fail(&console, opened.status());
    store = *std::move(opened);
  }
  const auto interrupted = [&] {
    console.Error(store != nullptr ? "interrupted; nothing is written"
                                   : "interrupted; finished outputs are kept");
    return kExitInterrupted;
  };

  const absl::Time start = absl::Now();
  std::vector<NamedFeatures> images;
  const ExtractTotals loaded =
      FeatureLoader(options, *plan, engine->get(), &console, store.get()).Load(&images);
  if (!loaded.lost.ok()) return Fail(&console, loaded.lost);
  if (loaded.interrupted) return interrupted();

  const absl::Time matching = absl::Now();
  PairOutput output(options, *plan, store.get(), &console);
  output.PrintHeading();
  PairRun run(engine->get(), &console, &images,
              {.pipeline = plan->setup.pipeline,
               .verify = options.verify,
               .geometry = {.max_error_px = options.verify_px}},
              [&output](const ImagePair& pair, const absl::StatusOr<PairRun::Result>& result) {
                return output.Report(pair, result);
              });
  if (!output.has_table() || isatty(STDOUT_FILENO) != 1) {
    console.StartProgress(static_cast<int64_t>(plan->pairs.size()), "pairs");
  }
  const PairTotals totals = run.Run(plan->pairs);
  console.EndProgress();
  std::fflush(stdout);
  if (!totals.lost.ok()) return Fail(&console, totals.lost);
  if (totals.interrupted) return interrupted();
  if (store != nullptr) {
    if (const absl::Status status = store->Publish(); !status.ok()) return Fail(&console, status);
  }
  const absl::Time end = absl::Now();
  std::string summary = absl::StrFormat(
      "%d images, %d features in %.2f s; %d pairs, %d matches, %d failed in %.2f s", loaded.done,
      loaded.features, absl::ToDoubleSeconds(matching - start), totals.done, totals.matches,
      totals.failed, absl::ToDoubleSeconds(end - matching));
  if (options.verify) {
    absl::StrAppend(&summary, "; ", totals.verified, " pairs verified with ", totals.inliers,
                    " inliers");
  }
  console.Note(summary);
  return loaded.failed + totals.failed > 0 ? kExitFailed : kExitOk;
}

}  // namespace orbserve::cli
