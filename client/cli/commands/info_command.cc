// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve info

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/engine.h"
#include "client/cli/exit_code.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"
#include "client/cli/output/terminal_text.h"

namespace orbserve::cli {
namespace {

void PrintInfoJson(const v1::GetServerInfoResponse& info) {
  JsonWriter json;
  json.BeginObject().Key("version").String(info.version());
  json.Key("backends").BeginArray();
  for (const std::string& backend : info.backends()) json.String(backend);
  json.EndArray().Key("active_backend").String(info.active_backend());
  json.Key("devices").BeginArray();
  for (const v1::DeviceInfo& device : info.devices()) {
    json.BeginObject().Key("device").String(device.device());
    json.Key("name").String(device.name());
    json.Key("details").String(device.details());
    json.Key("jpeg_decoder").String(device.jpeg_decoder());
    json.Key("jpeg_reason").String(device.jpeg_reason()).EndObject();
  }
  json.EndArray().Key("jpeg_frames").BeginArray();
  for (const v1::JpegFrames& way : info.jpeg_frames()) {
    json.BeginObject().Key("decoder").String(way.decoder());
    json.Key("reason").String(way.reason());
    json.Key("frames").UInt(way.frames()).EndObject();
  }
  json.EndArray().Key("presets").BeginArray();
  for (const v1::PresetInfo& preset : info.presets()) {
    json.BeginObject().Key("name").String(preset.name());
    json.Key("available").Bool(preset.available());
    json.Key("description").String(preset.description()).EndObject();
  }
  const v1::ServerLimits& limits = info.limits();
  json.EndArray().Key("limits").BeginObject();
  json.Key("max_side_px").UInt(limits.max_side_px());
  json.Key("max_pixels").UInt(limits.max_pixels());
  json.Key("max_message_bytes").UInt(limits.max_message_bytes());
  json.Key("max_keypoints").UInt(limits.max_keypoints());
  json.Key("max_levels").UInt(limits.max_levels());
  json.Key("max_batch").UInt(limits.max_batch());
  json.Key("max_delay_us").UInt(limits.max_queue_delay_us());
  json.Key("max_queue_frames").UInt(limits.max_queue_frames());
  json.Key("max_queue_frames_per_client").UInt(limits.max_queue_frames_per_client());
  json.Key("max_streams").UInt(limits.max_streams());
  json.Key("max_reference_bytes").UInt(limits.max_reference_bytes());
  json.Key("max_references").UInt(limits.max_references());
  json.Key("max_reference_bytes_per_client").UInt(limits.max_reference_bytes_per_client());
  json.Key("max_references_per_client").UInt(limits.max_references_per_client()).EndObject();
  json.Key("power_source").String(info.power_source()).EndObject();
  PrintLine(json.text());
}

void PrintInfoText(v1::GetServerInfoResponse info) {
  EscapeTexts(&info);
  const std::vector<std::string> backends(info.backends().begin(), info.backends().end());
  PrintTable(absl::StrFormat("version   %s\n", info.version()));
  PrintTable(absl::StrFormat("backend   %s of %s\n", info.active_backend(),
                             absl::StrJoin(backends, ", ")));
  for (const v1::DeviceInfo& device : info.devices()) {
    PrintTable(absl::StrFormat("device    %s: %s; %s\n", device.device(), device.name(),
                               device.details()));
    PrintTable(absl::StrFormat("jpeg      %s: %s\n", device.device(), JpegDecodersText(device)));
  }
  if (const std::string frames = JpegFramesText(info); !frames.empty()) {
    PrintTable(absl::StrFormat("jpeg      frames so far: %s\n", frames));
  }
  PrintTable(absl::StrFormat("power     %s\n", info.power_source()));
  const v1::ServerLimits& limits = info.limits();
  PrintTable(absl::StrFormat("images    up to %d pixels per side, %.1f megapixels, %s a message\n",
                             limits.max_side_px(), static_cast<double>(limits.max_pixels()) / 1e6,
                             BytesText(limits.max_message_bytes())));
  PrintTable(
      absl::StrFormat("batches   up to %d frames, %d us of waiting; queue %d frames, %d a client\n",
                      limits.max_batch(), limits.max_queue_delay_us(), limits.max_queue_frames(),
                      limits.max_queue_frames_per_client()));
  size_t width = 0;
  for (const v1::PresetInfo& preset : info.presets()) width = std::max(width, preset.name().size());
  for (const v1::PresetInfo& preset : info.presets()) {
    PrintTable(absl::StrFormat("preset    %-*s  %s%s\n", static_cast<int>(width), preset.name(),
                               preset.description(), preset.available() ? "" : " (not available)"));
  }
}

}  // namespace

int RunInfo(const CommonOptions& options) {
  Console console(options.quiet);
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options);
  if (!engine.ok()) return Fail(&console, engine.status());
  options.json ? PrintInfoJson((*engine)->info()) : PrintInfoText((*engine)->info());
  return kExitOk;
}

}  // namespace orbserve::cli
