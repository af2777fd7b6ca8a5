// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/server_info.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "decode/jpeg_ways.h"
#include "features/options.h"
#include "gpu/gpu_backend.h"
#include "orbserve/version.h"
#include "server/rpc/conversion/pipeline.h"

namespace orbserve {

v1::ServerLimits MakeServerLimits(const server::Config& config, const DerivedLimits& derived) {
  v1::ServerLimits limits;
  limits.set_max_side_px(config.limits().max_side_px());
  limits.set_max_pixels(static_cast<uint64_t>(derived.max_pixels));
  limits.set_max_message_bytes(static_cast<uint64_t>(derived.message_bytes));
  limits.set_max_keypoints(kMaxFeatures);
  limits.set_max_levels(kMaxLevels);
  limits.set_max_batch(config.batching().max_batch());
  limits.set_max_queue_delay_us(config.batching().max_queue_delay_us());
  limits.set_max_queue_frames(config.batching().max_queue_frames());
  limits.set_max_queue_frames_per_client(static_cast<uint32_t>(derived.queue_frames_per_client));
  limits.set_max_streams(config.limits().max_streams());
  limits.set_max_reference_bytes(config.limits().max_reference_bytes());
  limits.set_max_references(static_cast<uint32_t>(derived.references));
  const uint64_t of_one = config.limits().max_reference_bytes_per_client();
  const uint64_t of_all = config.limits().max_reference_bytes();
  limits.set_max_reference_bytes_per_client(of_one == 0 ? of_all : std::min(of_one, of_all));
  limits.set_max_references_per_client(static_cast<uint32_t>(derived.references_per_client));
  return limits;
}

v1::GetServerInfoResponse MakeServerInfo(const server::Config& config, const DerivedLimits& derived,
                                         const FeatureBackend& backend,
                                         absl::string_view power_source) {
  const auto set = [](std::string* out, absl::string_view text) {
    out->assign(text.data(), text.size());
  };
  v1::GetServerInfoResponse info;
  info.set_version(kVersion);
  info.add_backends("cpu");
  info.add_backends("cpu-reference");
  if (gpu::IsBuiltIn()) info.add_backends("cuda");
  set(info.mutable_active_backend(), backend.name());
  for (const DeviceDescription& device : backend.devices()) {
    v1::DeviceInfo& proto = *info.add_devices();
    proto.set_device(device.device);
    proto.set_name(device.name);
    proto.set_details(device.details);
    proto.set_jpeg_decoder(device.no_jpeg_reason.empty() ? "device" : "host");
    proto.set_jpeg_reason(device.no_jpeg_reason);
  }
  for (const Preset& preset : Presets()) {
    v1::PresetInfo& proto = *info.add_presets();
    set(proto.mutable_name(), preset.name);
    set(proto.mutable_description(), preset.description);
    proto.set_available(preset.available);
    if (preset.available) {
      PipelineToProto({proto.name(), preset.pipeline, preset.frame, preset.match, preset.track},
                      proto.mutable_pipeline());
    }
  }
  *info.mutable_limits() = MakeServerLimits(config, derived);
  set(info.mutable_power_source(), power_source);
  return info;
}

void AddConditions(const DeviceMonitor& devices, const PowerMonitor& power,
                   v1::GetServerInfoResponse* info) {
  for (v1::DeviceInfo& device : *info->mutable_devices()) {
    device.set_board(devices.board());
    const std::optional<DeviceCondition> condition = devices.ConditionOf(device.device());
    if (!condition.has_value()) continue;
    device.set_power_mode(condition->power_mode);
    device.set_clock_mode(condition->clock_mode);
    for (const DeviceCondition::Clock& clock : condition->clocks) {
      v1::DeviceClock& proto = *device.add_clocks();
      proto.set_clock(clock.clock);
      proto.set_hertz(clock.hertz);
      if (clock.limit_hertz.has_value()) proto.set_limit_hertz(*clock.limit_hertz);
    }
    for (const DeviceCondition::Temperature& temperature : condition->temperatures) {
      v1::DeviceTemperature& proto = *device.add_temperatures();
      proto.set_sensor(temperature.sensor);
      proto.set_celsius(temperature.celsius);
    }
    for (const DeviceCondition::Throttle& throttle : condition->throttles) {
      if (throttle.is_active) device.add_throttled(throttle.reason);
    }
  }
  const std::array<int64_t, kJpegWayCount> jpeg_counts = JpegWayCounts();
  for (size_t i = 0; i < jpeg_counts.size(); ++i) {
    const JpegWayWords words = WordsOf(static_cast<JpegWay>(i));
    v1::JpegFrames& proto = *info->add_jpeg_frames();
    proto.set_decoder(std::string(words.decoder));
    proto.set_reason(std::string(words.reason));
    proto.set_frames(static_cast<uint64_t>(jpeg_counts[i]));
  }
  for (const RailFigures& figures : power.Figures()) {
    v1::PowerRail& proto = *info->add_power_rails();
    proto.set_rail(figures.rail.rail);
    proto.set_source(figures.rail.source);
    proto.set_scope(figures.rail.scope);
    proto.set_device(figures.rail.device);
    if (figures.watts.has_value()) proto.set_watts(*figures.watts);
    if (figures.joules.has_value()) proto.set_joules(*figures.joules);
    if (figures.rail.device.empty()) continue;
    v1::FrameEnergy& energy = *info->add_frame_energy();
    energy.set_device(figures.rail.device);
    energy.set_frames(figures.frames);
    energy.set_joules(figures.frame_joules);
  }
}

}  // namespace orbserve
