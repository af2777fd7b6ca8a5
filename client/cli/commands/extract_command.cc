// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve extract

#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands/command_support.h"
#include "client/cli/commands/extract_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/png_file.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/feature_files.h"
#include "client/cli/output/overlay.h"
#include "client/cli/output/resume_log.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;

// What goes to standard output for each image.
enum class Listing { kNothing, kTable, kJson, kFeatures };

// Everything that the options decide, read and checked before anything starts.
struct Plan {
  ImageSetup setup;
  FeatureFormat format = FeatureFormat::kNpz;
  Listing listing = Listing::kNothing;
  Shard shard;
  std::vector<InputFile> files;
  size_t name_width = 5;     // of the table
  bool with_energy = false;  // a column of it; known once there is an engine
};

// Text that differs whenever outputs may.
std::string DescribeOptions(const Plan& plan) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream sink(&bytes);
    google::protobuf::io::CodedOutputStream out(&sink);
    out.SetSerializationDeterministic(true);
    plan.setup.pipeline.SerializeToCodedStream(&out);
  }
  if (plan.setup.mask.has_value()) {
    const std::string& pixels = plan.setup.mask->pixels();
    absl::StrAppend(&bytes, "|mask ", plan.setup.mask->width_px(), "x",
                    plan.setup.mask->height_px(), " ",
                    crc32_z(0, reinterpret_cast<const Bytef*>(pixels.data()), pixels.size()));
  }
  absl::StrAppend(&bytes, "|format ", std::string(FormatName(plan.format)));
  return bytes;
}

std::string OutputName(const InputFile& file, FeatureFormat format) {
  return absl::StrCat(file.relative, ".", std::string(FormatName(format)));
}

// Whether every output is of one image, and none takes the place of what is read.
absl::Status CheckOutputs(const ExtractOptions& options, FeatureFormat format,
                          const std::vector<InputFile>& files) {
  const bool to_files = !options.out_folder.empty();
  const bool draws = !options.draw_folder.empty();
  if (!to_files && !draws) return absl::OkStatus();
  if (absl::Status status = CheckOneOutputEach(files); !status.ok()) return status;
  std::vector<std::string> inputs = {options.image.mask_file};
  std::vector<std::string> outputs;
  for (const InputFile& file : files) {
    inputs.push_back(file.path);
    if (draws) outputs.push_back(PicturePath(options.draw_folder, file.relative));
    if (to_files) {
      outputs.push_back((fs::path(options.out_folder) / OutputName(file, format)).native());
    }
  }
  return CheckNoInputReplaced(inputs, outputs);
}

absl::StatusOr<Plan> MakePlan(const ExtractOptions& options) {
  Plan plan;
  absl::StatusOr<ImageSetup> setup = SetUpImages(options.image);
  if (!setup.ok()) return setup.status();
  plan.setup = *std::move(setup);
  const bool to_files = !options.out_folder.empty();
  if (!options.format.empty()) {
    const absl::StatusOr<FeatureFormat> format = ParseFormat(options.format);
    if (!format.ok()) return format.status();
    plan.format = *format;
    if (!to_files && plan.format == FeatureFormat::kNpz) {
      return absl::InvalidArgumentError("--format npz needs --out DIR");
    }
  }
  if (options.resume && !to_files) return absl::InvalidArgumentError("--resume needs --out DIR");
  if (options.common.json) {
    if (!to_files && !options.format.empty()) {
      return absl::InvalidArgumentError(
          "--json and --format without --out both want standard output; give one of them");
    }
    plan.listing = Listing::kJson;
  } else if (!to_files) {
    plan.listing = options.format.empty() ? Listing::kTable : Listing::kFeatures;
  }
  if (!options.shard.empty()) {
    const absl::StatusOr<Shard> shard = ParseShard(options.shard);
    if (!shard.ok()) return shard.status();
    plan.shard = *shard;
  }
  absl::StatusOr<std::vector<InputFile>> files =
      ExpandInputs(options.inputs, std::cin, options.draw_folder);
  if (!files.ok()) return files.status();
  if (absl::Status status = CheckOutputs(options, plan.format, *files); !status.ok()) {
    return status;
  }
  plan.files = TakeShard(*std::move(files), plan.shard);
  for (const InputFile& file : plan.files) {
    if (!file.problem.ok()) continue;
    plan.name_width = std::max(plan.name_width, NameOnOneLine(file.relative).size());
  }
  return plan;
}

std::string TableRow(const Plan& plan, const InputFile& file, const v1::ExtractResponse& response) {
  const v1::FeatureSet& features = response.features();
  const std::string row = absl::StrFormat(
      "%-*s  %11s  %8d  %9.2f", static_cast<int>(plan.name_width), NameOnOneLine(file.relative),
      absl::StrCat(features.image_width_px(), "x", features.image_height_px()), features.x_size(),
      static_cast<double>(response.timings().total_ns()) / 1e6);
  if (!plan.with_energy) return absl::StrCat(row, "\n");
  return absl::StrFormat("%s  %9s\n", row, EnergyText(response.execution()));
}

std::string JsonRow(const InputFile& file, const v1::ExtractResponse& response,
                    const std::string& output, const std::string& overlay) {
  const v1::FeatureSet& features = response.features();
  JsonWriter json;
  json.BeginObject().Key("image").String(file.relative);
  json.Key("image_size").BeginArray();
  json.UInt(features.image_width_px()).UInt(features.image_height_px()).EndArray();
  json.Key("features").Int(features.x_size());
  json.Key("truncated").Bool(features.truncated());
  if (!output.empty()) json.Key("output").String(output);
  if (!overlay.empty()) json.Key("overlay").String(overlay);
  AddExecution(response.timings(), response.execution(), &json);
  json.EndObject();
  return absl::StrCat(json.text(), "\n");
}

// Makes what belongs to one image. Returns its text for standard output.
absl::StatusOr<std::string> WriteOutputs(const ExtractOptions& options, const Plan& plan,
                                         const PictureLimits& limits, ResumeLog* log,
                                         const InputFile& file,
                                         const v1::ExtractResponse& response) {
  const v1::FeatureSet& features = response.features();
  std::string overlay;
  if (!options.draw_folder.empty()) {
    const absl::StatusOr<Picture> picture = LoadPicture(file.path, limits);
    if (!picture.ok()) return picture.status();
    const absl::StatusOr<std::string> png = EncodePng(DrawFeatures(*picture, features));
    if (!png.ok()) return png.status();
    overlay = PicturePath(options.draw_folder, file.relative);
    if (absl::Status status = WriteFile(overlay, *png); !status.ok()) return status;
  }
  std::string output;
  if (!options.out_folder.empty()) {
    const std::string name = OutputName(file, plan.format);
    output = (fs::path(options.out_folder) / name).native();
    const std::string bytes = EncodeFeatures(features, plan.format, file.relative);
    if (absl::Status status = WriteFile(output, bytes); !status.ok()) return status;
    if (absl::Status status = log->MarkDone(file.path, name, bytes.size()); !status.ok()) {
      return status;
    }
  }
  switch (plan.listing) {
    case Listing::kNothing:
      return std::string();
    case Listing::kTable:
      return TableRow(plan, file, response);
    case Listing::kJson:
      return JsonRow(file, response, output, overlay);
    case Listing::kFeatures:
      return EncodeFeatures(features, plan.format, file.relative, /*csv_header=*/false);
  }
  return std::string();
}

void ReportFile(const Plan& plan, Console* console, const InputFile& file,
                const absl::StatusOr<std::string>& text) {
  if (text.ok()) {
    std::fwrite(text->data(), 1, text->size(), stdout);
    return;
  }
  console->Error(absl::StrCat(NameOnOneLine(file.path), ": ", ErrorText(text.status())));
  if (plan.listing != Listing::kJson) return;
  JsonWriter json;
  json.BeginObject().Key("image").String(file.relative);
  AddError(text.status(), &json);
  json.EndObject();
  PrintLine(json.text());
}

void PrintHeading(const Plan& plan) {
  if (plan.listing == Listing::kTable) {
    absl::PrintF("%-*s  %11s  %8s  %9s%s\n", static_cast<int>(plan.name_width), "image", "size",
                 "features", "time/ms", plan.with_energy ? "  energy/mJ" : "");
  } else if (plan.listing == Listing::kFeatures && plan.format == FeatureFormat::kCsv) {
    const std::string columns = EncodeFeatures(v1::FeatureSet(), plan.format, "");
    std::fwrite(columns.data(), 1, columns.size(), stdout);
  }
}

}  // namespace

int RunExtract(const ExtractOptions& options) {
  Console console(options.common.quiet);
  absl::StatusOr<Plan> plan = MakePlan(options);
  if (!plan.ok()) return Fail(&console, plan.status());

  std::unique_ptr<ResumeLog> log;
  if (!options.out_folder.empty()) {
    absl::StatusOr<std::unique_ptr<ResumeLog>> opened = ResumeLog::Open(
        options.out_folder, plan->shard, OptionsFingerprint(DescribeOptions(*plan)));
    if (!opened.ok()) return Fail(&console, opened.status());
    log = *std::move(opened);
  }
  size_t skipped = 0;
  if (options.resume) {
    skipped = std::erase_if(plan->files, [&](const InputFile& file) {
      return file.problem.ok() && log->IsDone(file.path, OutputName(file, plan->format)) &&
             (options.draw_folder.empty() ||
              IsWholePng(PicturePath(options.draw_folder, file.relative)));
    });
    if (skipped > 0) console.Note(absl::StrCat(skipped, " images were done before"));
  }
  if (plan->files.empty()) {
    if (skipped == 0) console.Note("nothing to do: no image in this shard");
    return kExitOk;
  }

  CatchInterrupts();
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status taken = CheckSetup(plan->setup, engine->get());
  if (!taken.ok()) return Fail(&console, taken);

  plan->with_energy = HasPowerSource((*engine)->info());
  PrintHeading(*plan);
  const PictureLimits limits = (*engine)->picture_limits();
  ExtractRun run(
      engine->get(), &console, &plan->setup,
      [&](const InputFile& file, const v1::ExtractResponse& response) {
        return WriteOutputs(options, *plan, limits, log.get(), file, response);
      },
      [&](const InputFile& file, const absl::StatusOr<std::string>& text) {
        ReportFile(*plan, &console, file, text);
      });
  const absl::Time start = absl::Now();
  // Rows that scroll by on the same terminal are progress enough.
  if (plan->listing == Listing::kNothing || isatty(STDOUT_FILENO) != 1) {
    console.StartProgress(static_cast<int64_t>(plan->files.size()), "images");
  }
  const ExtractTotals totals = run.Run(plan->files);
  console.EndProgress();
  std::fflush(stdout);
  if (log != nullptr) {
    if (const absl::Status status = log->Close(); !status.ok()) return Fail(&console, status);
  }

  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  console.Note(absl::StrFormat("%d images, %d features, %d failed, %.2f s, %.1f images a second",
                               totals.done, totals.features, totals.failed, seconds,
                               static_cast<double>(totals.done) / std::max(seconds, 1e-9)));
  if (!totals.lost.ok()) return Fail(&console, totals.lost);
  if (totals.interrupted) {
    console.Error(absl::StrCat("interrupted; what was done is kept",
                               log != nullptr ? ", --resume goes on from there" : ""));
    return kExitInterrupted;
  }
  return totals.failed > 0 ? kExitFailed : kExitOk;
}

}  // namespace orbserve::cli
