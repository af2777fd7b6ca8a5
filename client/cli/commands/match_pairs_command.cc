// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve match with --pairs, --exhaustive or --sequential

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/extract_run.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/pair_plan.h"
#include "client/cli/commands/pair_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/files/feature_store.h"
#include "client/cli/output/files/match_files.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/resume_log.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

std::string InFolder(const MatchCommandOptions& options, const std::string& output) {
  return (std::filesystem::path(options.out_folder) / output).native();
}

// Work that earlier runs have left.
struct Work {
  std::vector<ImagePair> pairs;  // to match, in their order
  std::vector<bool> load;        // image -> its features are needed
  std::vector<bool> has_output;  // image -> its NPZ file or part is there
  std::vector<bool> in_store;    // image -> only the store has it
  size_t pairs_done = 0;

  bool none() const {
    return pairs.empty() && std::find(load.begin(), load.end(), true) == load.end();
  }
};

// `log`, `store`: null where there is none. Removes parts that were made from other images or with
// other options: a pair that fails now shall not have the matches of another run.
Work FindWork(const MatchCommandOptions& options, const PairPlan& plan, const ResumeLog* log,
              const FeatureStore* store) {
  const size_t count = plan.files.size();
  Work work{.load = std::vector<bool>(count, false),
            .has_output = std::vector<bool>(count, false),
            .in_store = std::vector<bool>(count, false)};
  const auto is_done = [&](const std::vector<std::string>& inputs, const std::string& output) {
    if (!options.resume) return false;
    if (log->IsDone(inputs, output)) return true;
    std::error_code ignored;
    if (store != nullptr) std::filesystem::remove(InFolder(options, output), ignored);
    return false;
  };
  for (size_t i = 0; i < count; ++i) {
    const InputFile& file = plan.files[i];
    const std::string output = FeatureOutput(plan, file);
    work.has_output[i] = is_done({file.path}, output);
    work.in_store[i] = options.resume && !work.has_output[i] && store != nullptr &&
                       store->HasFeatures(file.relative) && log->WasDone({file.path}, output);
    // NPZ files of an earlier run are not written again as NPZ.
    const bool has_no_output = log == nullptr || (store == nullptr && IsFeatureFile(file.path));
    work.load[i] = !has_no_output && !work.has_output[i] && !work.in_store[i];
  }
  for (const ImagePair& pair : plan.pairs) {
    const std::vector<std::string> inputs = plan.InputsOf(pair);
    const std::string output = MatchOutput(plan, pair);
    if (is_done(inputs, output) ||
        (options.resume && store != nullptr && log->WasDone(inputs, output) &&
         store->HasMatches(plan.files[pair.query].relative, plan.files[pair.train].relative))) {
      ++work.pairs_done;
      continue;
    }
    work.pairs.push_back(pair);
    work.load[pair.query] = work.load[pair.train] = true;
  }
  return work;
}

// Features of the files that are needed: read from NPZ files, or made by the engine.
class FeatureLoader {
 public:
  // Every pointer outlives the loader. `log`: null without output files.
  FeatureLoader(const MatchCommandOptions& options, const PairPlan& plan, const Work& work,
                Engine* engine, Console* console, ResumeLog* log)
      : options_(options),
        plan_(plan),
        work_(work),
        engine_(engine),
        console_(console),
        log_(log) {}

  // Fills `images`, one for each file, without features for those that failed or are not needed.
  ExtractTotals Load(std::vector<NamedFeatures>* images) {
    images_ = images;
    std::vector<InputFile> to_extract;
    for (size_t i = 0; i < plan_.files.size(); ++i) {
      const InputFile& file = plan_.files[i];
      images->push_back({.name = file.relative});
      index_[file.relative] = i;
      if (work_.load[i] && !IsRead(i)) to_extract.push_back(file);
    }
    ExtractTotals totals;
    if (!to_extract.empty()) {
      ExtractRun run(
          engine_, console_, &plan_.setup,
          [this](const InputFile& file,
                 const v1::ExtractResponse& response) -> ExtractRun::Outcome {
            return {.text = Take(file, response.features()), .picture = absl::OkStatus()};
          },
          [this](const InputFile& file, const ExtractRun::Outcome& outcome) {
            if (!outcome.text.ok()) Complain(file, outcome.text.status());
          });
      console_->StartProgress(static_cast<int64_t>(to_extract.size()), "images");
      totals = run.Run(to_extract);
      console_->EndProgress();
    }
    if (totals.interrupted || !totals.lost.ok()) return totals;
    for (size_t i = 0; i < plan_.files.size() && !Interrupted(); ++i) {
      if (work_.load[i] && IsRead(i)) Read(i, &totals);
    }
    totals.interrupted = Interrupted();
    return totals;
  }

 private:
  bool IsRead(size_t i) const { return work_.has_output[i] || IsFeatureFile(plan_.files[i].path); }

  absl::StatusOr<std::string> Take(const InputFile& file, const v1::FeatureSet& features) {
    const size_t i = index_.at(file.relative);
    if (log_ != nullptr) {
      const absl::Status written =
          WriteOutput(i, EncodeFeatures(features, FeatureFormat::kNpz, file.relative));
      if (!written.ok()) return written;
    }
    // Writer threads take different images: each has a place of its own.
    std::optional<v1::FeatureSet>& kept = (*images_)[i].features;
    kept = features;
    KeepMatchingColumns(&*kept);
    return std::string();
  }

  void Read(size_t i, ExtractTotals* totals) {
    const InputFile& file = plan_.files[i];
    const absl::Status problem = file.problem.ok() ? ReadFeatures(i) : file.problem;
    if (problem.ok()) {
      totals->features += (*images_)[i].features->x_size();
      ++totals->done;
      return;
    }
    ++totals->failed;
    Complain(file, problem);
  }

  absl::Status ReadFeatures(size_t i) {
    const InputFile& file = plan_.files[i];
    const absl::StatusOr<std::string> bytes =
        ReadFile(work_.has_output[i] ? InFolder(options_, FeatureOutput(plan_, file)) : file.path);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<v1::FeatureSet> features = DecodeFeatures(*bytes);
    if (!features.ok()) return features.status();
    if (plan_.in_one() && !work_.has_output[i]) {
      if (absl::Status written = WriteOutput(i, *bytes); !written.ok()) return written;
    }
    (*images_)[i].features = *std::move(features);
    KeepMatchingColumns(&*(*images_)[i].features);
    return absl::OkStatus();
  }

  // Writes the NPZ file or the part of an image. A store that has the image needs no part.
  absl::Status WriteOutput(size_t i, const std::string& bytes) {
    if (work_.in_store[i]) return absl::OkStatus();
    const InputFile& file = plan_.files[i];
    const std::string output = FeatureOutput(plan_, file);
    if (absl::Status status = WriteFile(InFolder(options_, output), bytes); !status.ok()) {
      return status;
    }
    return log_->MarkDone({file.path}, output, bytes.size());
  }

  void Complain(const InputFile& file, const absl::Status& error) {
    console_->Error(absl::StrCat(NameOnOneLine(file.path), ": ", ErrorText(error)));
  }

  const MatchCommandOptions& options_;
  const PairPlan& plan_;
  const Work& work_;
  Engine* const engine_;
  Console* const console_;
  ResumeLog* const log_;
  std::vector<NamedFeatures>* images_ = nullptr;
  absl::flat_hash_map<std::string, size_t> index_;
};

// Prints a row for each pair and writes its matches.
class PairOutput {
 public:
  // `log`: null without output files.
  PairOutput(const MatchCommandOptions& options, const PairPlan& plan, ResumeLog* log,
             Console* console)
      : options_(options), plan_(plan), log_(log), console_(console) {
    for (const InputFile& file : plan.files) {
      name_columns_ =
          std::max(name_columns_, static_cast<int>(NameOnOneLine(file.relative).size()));
    }
    table_ = !options.common.json && !plan.format.has_value();
  }

  bool has_table() const { return table_; }

  void PrintHeading() const {
    if (!table_) return;
    PrintTable(absl::StrFormat("%-*s  %-*s  %7s%s  %8s\n", name_columns_, "query", name_columns_,
                               "train", "matches", options_.verify ? "  inliers" : "", "match/ms"));
  }

  absl::Status Report(const ImagePair& pair, const absl::StatusOr<PairRun::Result>& result) {
    absl::Status status = result.status();
    if (status.ok()) status = Write(pair, result->pair);
    const std::string& query = plan_.files[pair.query].relative;
    const std::string& train = plan_.files[pair.train].relative;
    if (!status.ok()) {
      console_->Error(absl::StrCat(NameOnOneLine(query), " and ", NameOnOneLine(train), ": ",
                                   ErrorText(status)));
    }
    if (options_.common.json) {
      PrintJson(pair, status, result);
    } else if (table_ && status.ok()) {
      const int inliers =
          result->pair.geometry.has_value() ? result->pair.geometry->inlier_count : 0;
      PrintTable(absl::StrFormat("%-*s  %-*s  %7d%s  %8s\n", name_columns_, NameOnOneLine(query),
                                 name_columns_, NameOnOneLine(train),
                                 result->pair.matches.query_index_size(),
                                 options_.verify ? absl::StrFormat("  %7d", inliers) : "",
                                 MillisecondsCell(result->timings.match_ns())));
    }
    return status;
  }

 private:
  absl::Status Write(const ImagePair& images, const MatchedPair& pair) {
    if (log_ == nullptr) return absl::OkStatus();
    const std::string output = MatchOutput(plan_, images);
    const std::string bytes = EncodeMatches(pair);
    if (absl::Status status = WriteFile(InFolder(options_, output), bytes); !status.ok()) {
      return status;
    }
    return log_->MarkDone(plan_.InputsOf(images), output, bytes.size());
  }

  void PrintJson(const ImagePair& pair, const absl::Status& status,
                 const absl::StatusOr<PairRun::Result>& result) const {
    JsonWriter json;
    json.BeginObject().Key("query").String(plan_.files[pair.query].relative);
    json.Key("train").String(plan_.files[pair.train].relative);
    if (!status.ok()) {
      AddError(status, &json);
    } else {
      json.Key("matches").Int(result->pair.matches.query_index_size());
      if (options_.verify) {
        const std::optional<FundamentalMatrix>& geometry = result->pair.geometry;
        json.Key("inliers").Int(geometry.has_value() ? geometry->inlier_count : 0);
      }
      if (plan_.format == FeatureFormat::kNpz) {
        json.Key("output").String(InFolder(options_, MatchOutput(plan_, pair)));
      }
      json.Key("match_ms").Double(static_cast<double>(result->timings.match_ns()) / 1e6);
    }
    json.EndObject();
    PrintLine(json.text());
  }

  const MatchCommandOptions& options_;
  const PairPlan& plan_;
  ResumeLog* const log_;
  Console* const console_;
  bool table_ = false;
  int name_columns_ = 5;
};

// Moves the parts into the store and publishes it, if anything has changed.
absl::Status Assemble(const MatchCommandOptions& options, const PairPlan& plan,
                      FeatureStore* store) {
  const std::string parts = InFolder(options, kPairParts);
  std::error_code ignored;
  const bool has_parts = std::filesystem::exists(parts, ignored);
  if (!has_parts && !plan.place.camera.has_focal()) return absl::OkStatus();
  const auto each_part = [&](const std::string& output, const auto& put) -> absl::Status {
    const std::string path = InFolder(options, output);
    // A pair without a part has failed, or is in the store already.
    if (!std::filesystem::exists(path, ignored)) return absl::OkStatus();
    const absl::StatusOr<std::string> bytes = ReadFile(path);
    return bytes.ok() ? put(*bytes) : bytes.status();
  };
  for (const InputFile& file : plan.files) {
    absl::Status status =
        each_part(FeatureOutput(plan, file), [&](const std::string& bytes) -> absl::Status {
          const absl::StatusOr<v1::FeatureSet> features = DecodeFeatures(bytes);
          return features.ok() ? store->PutFeatures(file.relative, *features) : features.status();
        });
    if (!status.ok()) return status;
  }
  for (const ImagePair& pair : plan.pairs) {
    absl::Status status =
        each_part(MatchOutput(plan, pair), [&](const std::string& bytes) -> absl::Status {
          const absl::StatusOr<MatchedPair> matches = DecodeMatches(
              bytes, plan.files[pair.query].relative, plan.files[pair.train].relative);
          return matches.ok() ? store->PutMatches(*matches) : matches.status();
        });
    if (!status.ok()) return status;
  }
  if (absl::Status status = store->Publish(); !status.ok()) return status;
  RemoveParts(parts);
  return absl::OkStatus();
}

}  // namespace

int RunMatchPairs(const MatchCommandOptions& options) {
  Console console(options.common.quiet);
  const absl::StatusOr<PairPlan> plan = MakePairPlan(options);
  if (!plan.ok()) return Fail(&console, plan.status());
  std::unique_ptr<ResumeLog> log;
  if (plan->format.has_value()) {
    absl::StatusOr<std::unique_ptr<ResumeLog>> opened =
        ResumeLog::Open(options.out_folder, Shard(), PairFingerprint(options, *plan));
    if (!opened.ok()) return Fail(&console, opened.status());
    log = *std::move(opened);
  }
  std::unique_ptr<FeatureStore> store;
  if (plan->in_one()) {
    absl::StatusOr<std::unique_ptr<FeatureStore>> opened =
        OpenFeatureStore(*plan->format, plan->place);
    if (!opened.ok()) return Fail(&console, opened.status());
    store = *std::move(opened);
    if (!options.resume) RemoveParts(InFolder(options, kPairParts));
  }
  const Work work = FindWork(options, *plan, log.get(), store.get());
  if (work.pairs_done > 0) console.Note(absl::StrCat(work.pairs_done, " pairs were done before"));
  if (work.none()) {
    if (store == nullptr) return kExitOk;
    // A run that was killed before this step has left its parts.
    const absl::Status assembled = Assemble(options, *plan, store.get());
    return assembled.ok() ? kExitOk : Fail(&console, assembled);
  }

  CatchInterrupts();
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status accepted = CheckRequestSetup(plan->setup, engine->get());
  if (!accepted.ok()) return Fail(&console, accepted);
  const auto interrupted = [&] {
    console.Error(log != nullptr
                      ? "interrupted; finished outputs are kept, --resume continues from there"
                      : "interrupted");
    return kExitInterrupted;
  };

  const absl::Time start = absl::Now();
  std::vector<NamedFeatures> images;
  const ExtractTotals loaded =
      FeatureLoader(options, *plan, work, engine->get(), &console, log.get()).Load(&images);
  if (!loaded.lost.ok()) return Fail(&console, loaded.lost);
  if (loaded.interrupted) return interrupted();

  const absl::Time matching = absl::Now();
  PairOutput output(options, *plan, log.get(), &console);
  output.PrintHeading();
  PairRun run(engine->get(), &console, &images,
              {.pipeline = plan->setup.pipeline,
               .verify = options.verify,
               .geometry = {.max_error_px = options.verify_px.value_or(kVerifyPx)}},
              [&output](const ImagePair& pair, const absl::StatusOr<PairRun::Result>& result) {
                return output.Report(pair, result);
              });
  if (!output.has_table() || isatty(STDOUT_FILENO) != 1) {
    console.StartProgress(static_cast<int64_t>(work.pairs.size()), "pairs");
  }
  const PairTotals totals = run.Run(work.pairs);
  console.EndProgress();
  std::fflush(stdout);
  if (!totals.lost.ok()) return Fail(&console, totals.lost);
  if (totals.interrupted) return interrupted();
  if (log != nullptr) {
    if (const absl::Status status = log->Close(); !status.ok()) return Fail(&console, status);
  }
  if (store != nullptr) {
    const absl::Status assembled = Assemble(options, *plan, store.get());
    if (!assembled.ok()) return Fail(&console, assembled);
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
