// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve bench

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/synthetic_image.h"
#include "client/cli/interrupt.h"
#include "client/cli/load/latency_curve.h"
#include "client/cli/load/load_run.h"
#include "client/cli/load/metrics_page.h"
#include "client/cli/load/rate_search.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/standard_output.h"

namespace orbserve::cli {
namespace {

constexpr size_t kMaxFrames = 64;          // kept in memory, to take turns
constexpr size_t kMaxLoads = 1000;         // of one run
constexpr double kLateWarningShare = 0.1;  // of the median latency
constexpr double kFirstRate = 16;          // of a search, frames per second

// Parses "1,2,4" or "1:9:2", which is 1 to 9 in steps of 2. INVALID_ARGUMENT: a number is not in
// [low, high], or there are too many.
template <typename T>
absl::StatusOr<std::vector<T>> ParseList(const char* option, const std::string& text, double low,
                                         double high) {
  const auto refused = [&] {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s must be a list of %snumbers from %.15g to %.15g with commas between them, such as "
        "1,2,4, or ranges such as 10:50:10; at most %d in all; got %s",
        option, std::is_integral_v<T> ? "whole " : "", low, high, kMaxLoads, text));
  };
  std::vector<T> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    std::vector<T> range;  // one number; or the first, the last and the step
    for (const absl::string_view number : absl::StrSplit(part, ':')) {
      double value = 0;
      if (!absl::SimpleAtod(number, &value) || !(value >= low && value <= high) ||
          static_cast<double>(static_cast<T>(value)) != value) {
        return refused();
      }
      range.push_back(static_cast<T>(value));
    }
    if (range.size() == 1) range.push_back(range[0]);
    if (range.size() == 2) range.push_back(1);
    if (range.size() > 3 || range[0] > range[1]) return refused();
    for (size_t i = 0;; ++i) {
      const T value = range[0] + static_cast<T>(i) * range[2];
      if (value > range[1]) break;
      if (values.size() == kMaxLoads) return refused();
      values.push_back(value);
    }
  }
  return values;
}

// The loads to measure, in order; empty for a search.
absl::StatusOr<std::vector<LoadShape>> ShapesOf(const BenchOptions& options) {
  std::vector<LoadShape> shapes;
  if (!options.rates.empty() && !options.concurrency.empty()) {
    return absl::InvalidArgumentError("--rate and --concurrency are different loads; give one");
  }
  if (options.search_p99_ms > 0 && !(options.rates.empty() && options.concurrency.empty())) {
    return absl::InvalidArgumentError(
        "--max-p99 chooses the rates itself; --rate and --concurrency cannot be given with it");
  }
  const ArrivalKind arrivals =
      options.arrivals == "constant" ? ArrivalKind::kConstant : ArrivalKind::kPoisson;
  if (!options.rates.empty()) {
    const auto rates = ParseList<double>("--rate", options.rates, 0.01, 1e7);
    if (!rates.ok()) return rates.status();
    for (const double rate : *rates) shapes.push_back({.rate = rate, .arrivals = arrivals});
    return shapes;
  }
  if (!options.arrivals.empty() && options.search_p99_ms <= 0) {
    return absl::InvalidArgumentError("--arrivals has no effect: it needs --rate or --max-p99");
  }
  if (options.search_p99_ms > 0) return shapes;
  const auto callers = ParseList<int>(
      "--concurrency", options.concurrency.empty() ? "1,2,4,8" : options.concurrency, 1, 100'000);
  if (!callers.ok()) return callers.status();
  for (const int caller : *callers) shapes.push_back({.concurrency = caller});
  return shapes;
}

absl::StatusOr<v1::Frame> LoadBenchFrame(const BenchOptions& options, const InputFile& file,
                                         const PictureLimits& limits) {
  if (!file.problem.ok()) return file.problem;
  absl::StatusOr<v1::Frame> frame = LoadFrame(file.path, limits);
  if (!frame.ok() || !options.raw || frame->format() != v1::PIXEL_FORMAT_JPEG) return frame;
  absl::StatusOr<Picture> picture = LoadPicture(file.path, limits);
  if (!picture.ok()) return picture.status();
  TurnGrey(&*picture);
  return FrameOfPicture(*std::move(picture));
}

// A request for the frame with each pipeline.
absl::StatusOr<std::vector<v1::ExtractRequest>> RequestsOf(absl::StatusOr<v1::Frame> frame,
                                                           const std::vector<RequestSetup>& setups,
                                                           const v1::ServerLimits& limits) {
  if (!frame.ok()) return frame.status();
  std::vector<v1::ExtractRequest> requests;
  for (const RequestSetup& setup : setups) {
    v1::ExtractRequest request;
    *request.mutable_pipeline() = setup.pipeline;
    *request.mutable_frame() = *frame;
    if (setup.mask.has_value()) *request.mutable_frame()->mutable_mask() = *setup.mask;
    const absl::Status size = CheckMessageSize(request, limits);
    if (!size.ok()) return size;
    requests.push_back(std::move(request));
  }
  return requests;
}

// The frames of a load.
struct LoadFrames {
  std::vector<v1::ExtractRequest> requests;
  int failed = 0;  // images that are left out, and named on standard error
};

// `files`: none for the synthetic image.
LoadFrames MakeFrames(const BenchOptions& options, const std::vector<InputFile>& files,
                      const std::vector<RequestSetup>& setups, const Engine& engine,
                      Console* console) {
  LoadFrames frames;
  const auto add = [&](const std::string& name, absl::StatusOr<v1::Frame> frame) {
    absl::StatusOr<std::vector<v1::ExtractRequest>> requests =
        RequestsOf(std::move(frame), setups, engine.info().limits());
    if (!requests.ok()) {
      console->Error(absl::StrCat(name, ": ", ErrorText(requests.status())));
      ++frames.failed;
      return;
    }
    for (v1::ExtractRequest& request : *requests) frames.requests.push_back(std::move(request));
  };
  if (files.empty()) {
    console->Note("every frame is the same synthetic image of 640x480; give images like yours");
    add("the synthetic image", FrameOfPicture(SyntheticImage()));
  }
  for (const InputFile& file : files) {
    add(NameOnOneLine(file.path), LoadBenchFrame(options, file, engine.picture_limits()));
    if (frames.requests.size() >= kMaxFrames) break;
  }
  return frames;
}

// The pipelines to take turns: --presets, or the one of --pipeline.
absl::StatusOr<std::vector<RequestSetup>> SetupsOf(const BenchOptions& options) {
  std::vector<std::string> pipelines = {options.image.pipeline};
  if (!options.presets.empty()) {
    if (!options.image.pipeline.empty()) {
      return absl::InvalidArgumentError("--presets and --pipeline cannot be given together");
    }
    pipelines = absl::StrSplit(options.presets, ',');
  }
  std::vector<RequestSetup> setups;
  for (const std::string& pipeline : pipelines) {
    ImageOptions image = options.image;
    image.pipeline = pipeline;
    absl::StatusOr<RequestSetup> setup = ReadRequestSetup(image);
    if (!setup.ok()) return setup.status();
    setups.push_back(*std::move(setup));
  }
  return setups;
}

std::string Cell(const std::optional<double>& value, double factor, const char* format) {
  if (!value.has_value()) return "-";
  return absl::StrFormat(*absl::ParsedFormat<'f'>::New(format), *value * factor);
}

class BenchListing {
 public:
  // `percentile` is shown beside the usual ones.
  BenchListing(bool json, double percentile) : json_(json) {
    if (std::find(shown_.begin(), shown_.end(), percentile) == shown_.end()) {
      shown_.push_back(percentile);
    }
    std::sort(shown_.begin(), shown_.end());
    shown_.push_back(100);
  }

  void PrintHeading() const {
    if (json_) return;
    std::string latencies;
    for (const double percent : shown_) {
      absl::StrAppendFormat(&latencies, " %9s", absl::StrCat(NameOf(percent), "/ms"));
    }
    PrintTable(absl::StrFormat("%-12s %9s %9s %6s%s %9s %6s %9s %8s %8s\n", "load", "sent/s",
                               "answers/s", "failed", latencies, "server/ms", "batch", "mJ/frame",
                               "cpu/ms", "srvcpu/ms"));
  }

  void Print(const LoadShape& shape, const LoadResult& result) {
    const auto latency = [&result](double percent) {
      return PercentileOf(result.latency_ms, percent);
    };
    points_.push_back({.rate = result.answered_rate,
                       .p50_ms = latency(50),
                       .p99_ms = latency(99),
                       .p999_ms = latency(99.9)});
    json_ ? PrintJson(shape, result) : PrintRow(shape, result);
    std::fflush(stdout);
  }

  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  static std::string NameOf(double percent) {
    return percent == 100 ? "max" : absl::StrCat("p", percent);
  }

  void PrintRow(const LoadShape& shape, const LoadResult& result) const {
    std::string latencies;
    for (const double percent : shown_) {
      absl::StrAppendFormat(&latencies, " %9.2f", PercentileOf(result.latency_ms, percent));
    }
    PrintTable(absl::StrFormat("%-12s %9.1f %9.1f %6d%s %9.2f %6.1f %9s %8.3f %8s\n",
                               shape.closed() ? absl::StrCat(shape.concurrency, " callers")
                                              : absl::StrFormat("%g/s", shape.rate),
                               result.sent_rate, result.answered_rate, result.failed, latencies,
                               PercentileOf(result.server_ms, 50), result.mean_batch,
                               Cell(result.joules_per_frame, 1e3, "%.2f"), result.client_cpu_ms,
                               Cell(result.server_cpu_ms, 1, "%.3f")));
  }

  void PrintJson(const LoadShape& shape, const LoadResult& result) const {
    JsonWriter json;
    json.BeginObject().Key("loop").String(shape.closed() ? "closed" : "open");
    if (shape.closed()) {
      json.Key("concurrency").Int(shape.concurrency);
    } else {
      json.Key("rate").Double(shape.rate);
      json.Key("arrivals")
          .String(shape.arrivals == ArrivalKind::kConstant ? "constant" : "poisson");
    }
    json.Key("frames").Int(result.frames).Key("failed").Int(result.failed);
    json.Key("sent_per_s").Double(result.sent_rate);
    json.Key("answered_per_s").Double(result.answered_rate);
    const auto percentiles = [&](const char* key, const std::vector<float>& sorted) {
      json.Key(key).BeginObject();
      for (const double percent : shown_) {  // 99.9 is "p999"
        json.Key(absl::StrReplaceAll(NameOf(percent), {{".", ""}}));
        json.Double(PercentileOf(sorted, percent));
      }
      json.EndObject();
    };
    percentiles("latency_ms", result.latency_ms);
    percentiles("late_ms", result.late_ms);
    percentiles("server_ms", result.server_ms);
    json.Key("mean_batch").Double(result.mean_batch);
    if (result.joules_per_frame.has_value()) {
      json.Key("joules_per_frame").Double(*result.joules_per_frame);
    }
    json.Key("client_cpu_ms_per_frame").Double(result.client_cpu_ms);
    if (result.server_cpu_ms.has_value()) {
      json.Key("server_cpu_ms_per_frame").Double(*result.server_cpu_ms);
    }
    json.EndObject();
    PrintLine(json.text());
  }

  const bool json_;
  std::vector<double> shown_ = {50, 90, 99, 99.9};  // percentiles
  std::vector<CurvePoint> points_;
};

// Says what a result is not good for.
void Warn(const LoadShape& shape, const LoadResult& result, Console* console) {
  if (result.failed > 0) {
    console->Note(absl::StrFormat("%d of %d frames failed; the first: %s", result.failed,
                                  result.frames, ErrorText(result.first_error)));
  }
  const double late = PercentileOf(result.late_ms, 99);
  if (!shape.closed() && late > kLateWarningShare * PercentileOf(result.latency_ms, 50) &&
      late > 0.2) {
    console->Note(absl::StrFormat(
        "at %g/s this program sent one frame in a hundred more than %.2f ms late: it, or a stream "
        "that the server held back, is part of the latency",
        shape.rate, late));
  }
}

}  // namespace

int RunBench(const BenchOptions& options) {
  Console console(options.common.quiet);
  const absl::StatusOr<std::vector<LoadShape>> shapes = ShapesOf(options);
  if (!shapes.ok()) return Fail(&console, shapes.status());
  const absl::StatusOr<std::vector<RequestSetup>> setups = SetupsOf(options);
  if (!setups.ok()) return Fail(&console, setups.status());
  absl::StatusOr<std::vector<InputFile>> files = std::vector<InputFile>();
  if (!options.inputs.empty()) {
    files = ExpandInputs(options.inputs, std::cin, /*picture_folder=*/"");
    if (!files.ok()) return Fail(&console, files.status());
  }
  std::vector<std::string> inputs = {options.image.mask_file};
  for (const InputFile& file : *files) inputs.push_back(file.path);
  const absl::Status kept = CheckNoInputReplaced(inputs, {options.svg_file});
  if (!kept.ok()) return Fail(&console, kept);
  if (options.connections > 0 && options.common.server.empty()) {
    console.Error(
        absl::StrCat("--connections ", options.connections, " has no effect: it needs --server"));
    return kExitUsage;
  }
  std::pair<std::string, std::string> metrics;
  if (!options.metrics.empty()) {
    const size_t colon = options.metrics.rfind(':');
    if (options.common.server.empty() || colon == std::string::npos) {
      console.Error(absl::StrCat(
          "--metrics needs --server, and HOST:PORT of its pages, such as 127.0.0.1:9464; got ",
          options.metrics));
      return kExitUsage;
    }
    metrics = {options.metrics.substr(0, colon), options.metrics.substr(colon + 1)};
  }

  CatchInterrupts();
  CommonOptions common = options.common;
  common.own_connection = true;
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < std::max(options.connections, 1); ++i) {
    absl::StatusOr<std::unique_ptr<Engine>> engine =
        i == 0 ? Engine::Start(common) : Engine::Connect(common);
    if (!engine.ok()) return Fail(&console, engine.status());
    engines.push_back(*std::move(engine));
  }
  for (const RequestSetup& setup : *setups) {
    const absl::Status accepted = CheckRequestSetup(setup, engines[0].get());
    if (!accepted.ok()) return Fail(&console, accepted);
  }
  LoadSetup load{.streams = options.streams,
                 .warm_up = absl::Seconds(options.warm_up_s),
                 .duration = absl::Seconds(options.duration_s)};
  for (const auto& engine : engines) load.clients.push_back(engine->client());
  LoadFrames frames = MakeFrames(options, *files, *setups, *engines[0], &console);
  if (frames.requests.empty()) return kExitFailed;
  load.requests = std::move(frames.requests);
  if (!options.metrics.empty()) {
    load.server_cpu = [&metrics]() -> std::optional<double> {
      const MetricsPage page = FetchMetrics(metrics.first, metrics.second);
      const auto cpu = page.find("process_cpu_seconds_total");
      if (cpu == page.end()) return std::nullopt;
      return cpu->second;
    };
    if (!load.server_cpu().has_value()) {
      console.Error(absl::StrCat("--metrics ", options.metrics,
                                 ": no page with process_cpu_seconds_total answers there; it is "
                                 "the address of the server's --http-listen"));
      return kExitUsage;
    }
  }

  BenchListing listing(options.common.json, options.percentile);
  listing.PrintHeading();
  absl::Status failed;
  int64_t answered = 0;
  bool refused = false;  // an image, for what it is
  const auto measure = [&](const LoadShape& shape) -> absl::StatusOr<LoadResult> {
    absl::StatusOr<LoadResult> result = RunLoad(load, shape);
    if (!result.ok()) return result;
    refused = refused || absl::IsInvalidArgument(result->first_error) ||
              absl::IsUnimplemented(result->first_error);
    if (result->latency_ms.empty() && result->failed > 0) return result->first_error;
    answered += static_cast<int64_t>(result->latency_ms.size());
    listing.Print(shape, *result);
    Warn(shape, *result, &console);
    return result;
  };
  bool lost = false;  // frames of a load; a search looks for the rate at which that begins
  for (const LoadShape& shape : *shapes) {
    const absl::StatusOr<LoadResult> result = measure(shape);
    failed = result.status();
    if (!failed.ok()) break;
    lost = lost || result->failed > 0;
  }
  if (options.search_p99_ms > 0) {
    const ArrivalKind arrivals =
        options.arrivals == "constant" ? ArrivalKind::kConstant : ArrivalKind::kPoisson;
    const absl::StatusOr<double> highest =
        FindHighestRate(kFirstRate, [&](double rate) -> absl::StatusOr<bool> {
          const absl::StatusOr<LoadResult> result = measure({.rate = rate, .arrivals = arrivals});
          if (!result.ok()) return result.status();
          return result->failed == 0 && KeepsUp(*result) &&
                 PercentileOf(result->latency_ms, 99) <= options.search_p99_ms;
        });
    failed = highest.status();
    if (highest.ok() && options.common.json) {
      JsonWriter json;
      json.BeginObject().Key("highest_rate").Double(*highest);
      json.Key("max_p99_ms").Double(options.search_p99_ms).EndObject();
      PrintLine(json.text());
    } else if (highest.ok()) {
      PrintTable(absl::StrFormat("\nhighest rate with p99 up to %g ms: %.1f frames a second\n",
                                 options.search_p99_ms, *highest));
    }
  }
  if (Interrupted()) {
    console.Error("interrupted; the rows above are whole measurements");
    return kExitInterrupted;
  }
  if (!failed.ok()) return FailCall(&console, failed);
  if (!options.svg_file.empty()) {
    const std::string title =
        absl::StrCat("orbserve bench: ", options.common.server.empty() ? "engine in the program"
                                                                       : options.common.server);
    const absl::Status written = WriteFile(
        options.svg_file, DrawLatencyCurve(listing.points(), title, options.search_p99_ms));
    if (!written.ok()) return Fail(&console, written);
  }
  if (answered == 0) {
    console.Error(absl::StrCat("no frame was answered within --duration ", options.duration_s,
                               " s; give more"));
  }
  return answered > 0 && frames.failed == 0 && !refused && !lost ? kExitOk : kExitFailed;
}

}  // namespace orbserve::cli
