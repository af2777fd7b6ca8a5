// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/command_support.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/exit_code.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/picture_size.h"
#include "client/cli/pipeline_option.h"

namespace orbserve::cli {
namespace {

double Milliseconds(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

constexpr uint32_t kDescriptorBytes = 32;

// Whether `pipeline` has more than a preset, of which CheckPreset knows without asking.
bool HasOptions(v1::Pipeline pipeline) {
  pipeline.clear_preset();
  return pipeline.ByteSizeLong() > 0;
}

// Asks the engine whether it takes `pipeline`, by a match of nothing with nothing: what is refused
// then are the options, and never an image, of which the same may be said (UNSUPPORTED). Anything
// else that goes wrong is for the calls with the images to tell.
absl::Status AskForPipeline(const v1::Pipeline& pipeline, client::Client* client) {
  v1::MatchRequest request;
  *request.mutable_pipeline() = pipeline;
  request.mutable_query_features()->set_descriptor_bytes(kDescriptorBytes);
  request.mutable_train_features()->set_descriptor_bytes(kDescriptorBytes);
  const absl::Status status = client->Match(request).status();
  const std::string reason = client::WireStatusOf(status).reason();
  return reason == "BAD_OPTIONS" || reason == "UNSUPPORTED" ? status : absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageSetup> SetUpImages(const ImageOptions& options) {
  ImageSetup setup;
  if (!options.pipeline.empty()) {
    absl::StatusOr<v1::Pipeline> pipeline = ParsePipeline(options.pipeline);
    if (!pipeline.ok()) return pipeline.status();
    setup.pipeline = *std::move(pipeline);
  }
  if (options.max_features.has_value()) {
    setup.pipeline.mutable_select()->set_max_features(*options.max_features);
  }
  if (!options.mask_file.empty()) {
    absl::StatusOr<v1::Mask> mask = LoadMask(options.mask_file, kWidestPictureLimits);
    if (!mask.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--mask ", options.mask_file, ": ", std::string(mask.status().message())));
    }
    setup.mask = *std::move(mask);
  }
  return setup;
}

absl::Status CheckSetup(const ImageSetup& setup, Engine* engine) {
  if (absl::Status preset = CheckPreset(setup.pipeline, engine->info()); !preset.ok()) {
    return preset;
  }
  if (HasOptions(setup.pipeline)) {
    absl::Status pipeline = AskForPipeline(setup.pipeline, engine->client());
    if (!pipeline.ok()) return pipeline;
  }
  if (!setup.mask.has_value()) return absl::OkStatus();
  const absl::Status size =
      CheckPictureSize(setup.mask->width_px(), setup.mask->height_px(), engine->picture_limits());
  if (size.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--mask: ", std::string(size.message())));
}

absl::StatusOr<v1::Frame> LoadMaskedFrame(const std::string& path, const ImageSetup& setup,
                                          const PictureLimits& limits,
                                          const std::atomic<bool>* stop) {
  absl::StatusOr<v1::Frame> frame = LoadFrame(path, limits, stop);
  if (frame.ok() && setup.mask.has_value()) *frame->mutable_mask() = *setup.mask;
  return frame;
}

absl::Status CheckMessageSize(const google::protobuf::MessageLite& message,
                              const v1::ServerLimits& limits) {
  const size_t bytes = message.ByteSizeLong();
  if (limits.max_message_bytes() == 0 || bytes <= limits.max_message_bytes()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("too large for a message to the server: ", bytes,
                                                 " bytes as it is sent; allowed are ",
                                                 limits.max_message_bytes()));
}

std::string ErrorText(const absl::Status& status) {
  if (!status.message().empty()) return std::string(status.message());
  return absl::StatusCodeToString(status.code());
}

int Fail(Console* console, const absl::Status& status) {
  console->Error(ErrorText(status));
  return ExitCodeOf(status);
}

int FailCall(Console* console, const absl::Status& status) {
  console->Error(ErrorText(status));
  if (client::WireStatusOf(status).reason() == "BAD_OPTIONS") return kExitUsage;
  return absl::IsUnavailable(status) ? kExitUnreachable : kExitFailed;
}

void AddError(const absl::Status& status, JsonWriter* json) {
  const v1::Status wire = client::WireStatusOf(status);
  json->Key("error").BeginObject();
  json->Key("code").String(absl::StatusCodeToString(status.code()));
  json->Key("reason").String(wire.reason());
  json->Key("message").String(wire.message()).EndObject();
}

void AddExecution(const v1::FrameTimings& timings, const v1::Execution& execution,
                  JsonWriter* json) {
  json->Key("timings_ms").BeginObject();
  json->Key("queue").Double(Milliseconds(timings.queue_ns()));
  json->Key("decode").Double(Milliseconds(timings.decode_ns()));
  json->Key("upload").Double(Milliseconds(timings.upload_ns()));
  json->Key("compute").Double(Milliseconds(timings.compute_ns()));
  json->Key("download").Double(Milliseconds(timings.download_ns()));
  json->Key("match").Double(Milliseconds(timings.match_ns()));
  json->Key("total").Double(Milliseconds(timings.total_ns())).EndObject();
  json->Key("batch_size").UInt(execution.batch_size());
  json->Key("backend").String(execution.backend());
  json->Key("device").String(execution.device());
  if (execution.has_energy_joules()) json->Key("energy_joules").Double(execution.energy_joules());
}

bool HasPowerSource(const v1::GetServerInfoResponse& info) {
  return !info.power_source().empty() && info.power_source() != "none";
}

std::string EnergyText(const v1::Execution& execution) {
  if (!execution.has_energy_joules()) return "-";
  return absl::StrFormat("%.2f", execution.energy_joules() * 1e3);
}

void PrintLine(absl::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace orbserve::cli
