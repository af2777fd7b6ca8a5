// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve extract

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/extract_listing.h"
#include "client/cli/commands/extract_plan.h"
#include "client/cli/commands/extract_run.h"
#include "client/cli/commands/failure.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/png_file.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/drawing/contact_sheet.h"
#include "client/cli/output/drawing/legend.h"
#include "client/cli/output/drawing/overlay.h"
#include "client/cli/output/energy_summary.h"
#include "client/cli/output/files/feature_store.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/resume_log.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"
#include "client/cli/output/timing_summary.h"

namespace orbserve::cli {
namespace {

StorePlace PlaceOf(const ExtractOptions& options, const ExtractPlan& plan) {
  return {.folder = options.out_folder,
          .shard = plan.shard,
          .keep = options.resume,
          .camera = plan.camera};
}

// Writes the picture of one image, if wanted. Returns its path, or "".
absl::StatusOr<std::string> WriteOverlay(const ExtractOptions& options, const PictureLimits& limits,
                                         const InputFile& file, const v1::FeatureSet& features) {
  // An interrupted run drops the pictures that it has not drawn yet: they take longer than
  // features.
  if (options.draw_folder.empty() || Interrupted()) return std::string();
  const absl::StatusOr<Picture> picture = LoadPicture(file.path, limits);
  if (!picture.ok()) return picture.status();
  const absl::StatusOr<std::string> png =
      EncodePng(WithLegend(DrawFeatures(*picture, features), FeatureLegend(features)));
  if (!png.ok()) return png.status();
  const std::string path = PicturePath(options.draw_folder, file.relative);
  if (absl::Status status = WriteFile(path, *png); !status.ok()) return status;
  return path;
}

// Adds the small picture of one image to `sheet`.
absl::Status AddToSheet(const PictureLimits& limits, const InputFile& file,
                        const v1::ExtractResponse& response, ContactSheet* sheet) {
  const absl::StatusOr<Picture> picture = LoadPicture(file.path, limits);
  if (!picture.ok()) return picture.status();
  return sheet->Add(file.relative, *picture, response.features(),
                    static_cast<double>(response.timings().total_ns()) / 1e6);
}

// Writes the feature file of one image, if wanted. Returns its path, or "".
absl::StatusOr<std::string> WriteFeatureFile(const ExtractOptions& options, const ExtractPlan& plan,
                                             ResumeLog* log, const InputFile& file,
                                             const v1::FeatureSet& features) {
  if (options.out_folder.empty()) return std::string();
  const bool in_one = KeepsAllInOneFile(plan.format);
  const std::string name = OutputName(plan, file);
  const std::string path = (std::filesystem::path(options.out_folder) / name).native();
  const std::string bytes =
      EncodeFeatures(features, in_one ? FeatureFormat::kNpz : plan.format, file.relative);
  if (absl::Status status = WriteFile(path, bytes); !status.ok()) return status;
  if (absl::Status status = log->MarkDone({file.path}, name, bytes.size()); !status.ok()) {
    return status;
  }
  return in_one ? FeatureStorePath(plan.format, PlaceOf(options, plan)) : path;
}

// Removes the images that an earlier run finished. `store`: null for a format with a file for each
// image. Returns their number. Parts that were made otherwise are removed: an image that fails now
// shall not have the features of another run.
size_t SkipFinished(const ExtractOptions& options, const ResumeLog& log, const FeatureStore* store,
                    ExtractPlan* plan) {
  return std::erase_if(plan->files, [&](const InputFile& file) {
    const std::string name = OutputName(*plan, file);
    const bool in_store =
        store != nullptr && store->HasFeatures(file.relative) && log.WasDone({file.path}, name);
    const bool is_done = log.IsDone({file.path}, name);
    if (store != nullptr && !is_done) {
      std::error_code ignored;
      std::filesystem::remove(std::filesystem::path(options.out_folder) / name, ignored);
    }
    return file.problem.ok() && (in_store || is_done) &&
           (options.draw_folder.empty() ||
            IsWholePng(PicturePath(options.draw_folder, file.relative)));
  });
}

// Moves the parts of `files` into the store and publishes it.
absl::Status Assemble(const ExtractOptions& options, const ExtractPlan& plan,
                      const std::vector<InputFile>& files, FeatureStore* store) {
  const std::filesystem::path folder = options.out_folder;
  std::error_code ignored;
  for (const InputFile& file : files) {
    const std::string path = (folder / OutputName(plan, file)).native();
    if (!std::filesystem::exists(path, ignored)) continue;  // failed, or in the store already
    const absl::StatusOr<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.status();
    const absl::StatusOr<v1::FeatureSet> features = DecodeFeatures(*bytes);
    if (!features.ok()) return features.status();
    if (absl::Status status = store->PutFeatures(file.relative, *features); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = store->Publish(); !status.ok()) return status;
  RemoveParts((folder / PartsFolder(plan.shard)).native());
  return absl::OkStatus();
}

// Energy of the frames, and of the engine's devices since it was started or asked first.
std::string PowerRows(const ExtractOptions& options, Engine* engine, const EnergySummary& energy,
                      absl::Duration duration) {
  const absl::StatusOr<v1::GetServerInfoResponse> now = engine->client()->GetServerInfo();
  const v1::GetServerInfoResponse& last = now.ok() ? *now : engine->info();
  const EnergySummary::Result result =
      energy.Finish(engine->info(), last, absl::ToDoubleSeconds(duration));
  if (options.common.json) return absl::StrCat(EnergyJson(result), "\n");
  return absl::StrCat("\n", EnergyText(result));  // an empty line separates two tables
}

std::string Summary(const ExtractTotals& totals, absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  return absl::StrFormat("%d images, %d features, %d failed, %.2f s, %.1f images a second",
                         totals.done, totals.features, totals.failed, seconds,
                         static_cast<double>(totals.done) / std::max(seconds, 1e-9));
}

}  // namespace

int RunExtract(const ExtractOptions& options) {
  Console console(options.common.quiet);
  absl::StatusOr<ExtractPlan> plan = MakeExtractPlan(options);
  if (!plan.ok()) return Fail(&console, plan.status());

  std::unique_ptr<ResumeLog> log;
  if (!options.out_folder.empty()) {
    absl::StatusOr<std::unique_ptr<ResumeLog>> opened =
        ResumeLog::Open(options.out_folder, plan->shard, PlanFingerprint(*plan));
    if (!opened.ok()) return Fail(&console, opened.status());
    log = *std::move(opened);
  }
  std::unique_ptr<FeatureStore> store;
  if (KeepsAllInOneFile(plan->format)) {
    absl::StatusOr<std::unique_ptr<FeatureStore>> opened =
        OpenFeatureStore(plan->format, PlaceOf(options, *plan));
    if (!opened.ok()) return Fail(&console, opened.status());
    store = *std::move(opened);
  }
  if (store != nullptr && !options.resume) {
    // The parts of an earlier run that is not resumed.
    RemoveParts((std::filesystem::path(options.out_folder) / PartsFolder(plan->shard)).native());
  }
  const std::vector<InputFile> all_files =
      store != nullptr ? plan->files : std::vector<InputFile>();
  const size_t skipped = options.resume ? SkipFinished(options, *log, store.get(), &*plan) : 0;
  if (skipped > 0) console.Note(absl::StrCat(skipped, " images were done before"));
  if (plan->files.empty()) {
    if (skipped == 0) {
      console.Note(options.shard.empty() ? "nothing to do: there are no names on standard input"
                                         : "nothing to do: this shard has no images");
    }
    if (store == nullptr) return kExitOk;
    // A run that was killed before this step has left its parts.
    const absl::Status assembled = Assemble(options, *plan, all_files, store.get());
    return assembled.ok() ? kExitOk : Fail(&console, assembled);
  }

  CatchInterrupts();
  CommonOptions common = options.common;
  common.time_stages = options.timings || common.json;
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status accepted = CheckRequestSetup(plan->setup, engine->get());
  if (!accepted.ok()) return Fail(&console, accepted);

  const ExtractListing listing(plan->listing, plan->format, plan->files,
                               HasPowerSource((*engine)->info()));
  PrintText(listing.Heading());
  const PictureLimits limits = (*engine)->picture_limits();
  TimingSummary timings;
  std::unique_ptr<ContactSheet> sheet;
  if (!options.sheet_file.empty()) sheet = std::make_unique<ContactSheet>();
  EnergySummary energy;
  const auto write = [&](const InputFile& file,
                         const v1::ExtractResponse& response) -> ExtractRun::Outcome {
    // Features come before pictures, and are kept where a picture fails.
    const absl::StatusOr<std::string> output =
        WriteFeatureFile(options, *plan, log.get(), file, response.features());
    if (!output.ok()) return {.text = output.status(), .picture = absl::OkStatus()};
    if (options.timings) timings.Add(response.timings());
    if (options.power) energy.Add(response.execution());
    const absl::StatusOr<std::string> overlay =
        WriteOverlay(options, limits, file, response.features());
    absl::Status picture = overlay.status();
    if (sheet != nullptr && !Interrupted()) {
      picture.Update(AddToSheet(limits, file, response, sheet.get()));
    }
    return {.text = listing.Row(file, response, *output, overlay.value_or("")), .picture = picture};
  };
  const auto report = [&](const InputFile& file, const ExtractRun::Outcome& outcome) {
    const absl::StatusOr<std::string>& text = outcome.text;
    const absl::Status& error = text.ok() ? outcome.picture : text.status();
    if (!error.ok()) {
      console.Error(absl::StrCat(NameOnOneLine(file.path), ": ", ErrorText(error)));
    }
    PrintText(text.ok() ? *text : listing.ErrorRow(file, error));
  };
  ExtractRun run(engine->get(), &console, &plan->setup, write, report);
  const absl::Time start = absl::Now();
  // Rows that appear on the same terminal show the progress already.
  if (plan->listing == ExtractListing::Kind::kNothing || isatty(STDOUT_FILENO) != 1) {
    console.StartProgress(static_cast<int64_t>(plan->files.size()), "images");
  }
  const ExtractTotals totals = run.Run(plan->files);
  console.EndProgress();
  if (options.timings) PrintTable(listing.TimingRows(timings));
  if (options.power) PrintTable(PowerRows(options, engine->get(), energy, absl::Now() - start));
  std::fflush(stdout);
  if (log != nullptr) {
    if (const absl::Status status = log->Close(); !status.ok()) return Fail(&console, status);
  }

  if (sheet != nullptr) {
    std::vector<std::string> names;
    for (const InputFile& file : plan->files) names.push_back(file.relative);
    const absl::Status written = WriteFile(options.sheet_file, sheet->Page(names));
    if (!written.ok()) return Fail(&console, written);
  }
  if (store != nullptr && totals.lost.ok() && !totals.interrupted) {
    const absl::Status assembled = Assemble(options, *plan, all_files, store.get());
    if (!assembled.ok()) return Fail(&console, assembled);
  }

  console.Note(Summary(totals, absl::Now() - start));
  if (!totals.lost.ok()) return Fail(&console, totals.lost);
  if (totals.interrupted) {
    console.Error(
        absl::StrCat("interrupted; finished outputs are kept",
                     options.draw_folder.empty() ? "" : ", pictures not drawn are dropped",
                     log != nullptr ? ", --resume continues from there" : ""));
    return kExitInterrupted;
  }
  return totals.failed > 0 ? kExitFailed : kExitOk;
}

}  // namespace orbserve::cli
