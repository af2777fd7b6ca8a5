// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/power_listing.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/terminal_text.h"

namespace orbserve::cli {
namespace {

// Joules of a rail since the first reading; nothing while one of both is missing.
std::optional<double> JoulesSince(const v1::GetServerInfoResponse& first,
                                  const v1::PowerRail& now) {
  for (const v1::PowerRail& before : first.power_rails()) {
    if (before.rail() != now.rail()) continue;
    // Energy that is less than before is that of another process.
    if (!before.has_joules() || !now.has_joules() || now.joules() < before.joules()) break;
    return now.joules() - before.joules();
  }
  return std::nullopt;
}

struct FrameShare {
  std::string device;
  uint64_t frames = 0;
  double joules = 0;
};

// Frames of every device since the first reading.
std::vector<FrameShare> FramesSince(const v1::GetServerInfoResponse& first,
                                    const v1::GetServerInfoResponse& now) {
  std::vector<FrameShare> shares;
  for (const v1::FrameEnergy& energy : now.frame_energy()) {
    FrameShare share{energy.device(), energy.frames(), energy.joules()};
    for (const v1::FrameEnergy& before : first.frame_energy()) {
      if (before.device() != energy.device() || before.frames() > energy.frames()) continue;
      share.frames -= before.frames();
      share.joules -= before.joules();
    }
    shares.push_back(std::move(share));
  }
  return shares;
}

std::string Cell(const std::optional<double>& value, int decimals) {
  return value.has_value() ? absl::StrFormat("%.*f", decimals, *value) : "-";
}

// "NVIDIA H100 80GB HBM3, MAXN, gpu 1.98 of 1.98 GHz, gpu 54 C, throttled: power_cap"
std::string ConditionText(const v1::DeviceInfo& device) {
  std::vector<std::string> parts;
  for (const std::string* text : {&device.name(), &device.board(), &device.power_mode()}) {
    if (!text->empty()) parts.push_back(*text);
  }
  for (const v1::DeviceClock& clock : device.clocks()) {
    const std::string of =
        clock.has_limit_hertz() ? absl::StrFormat(" of %.2f", clock.limit_hertz() * 1e-9) : "";
    parts.push_back(absl::StrFormat("%s %.2f%s GHz", clock.clock(), clock.hertz() * 1e-9, of));
  }
  if (!device.clock_mode().empty()) parts.push_back(absl::StrCat(device.clock_mode(), " clocks"));
  for (const v1::DeviceTemperature& one : device.temperatures()) {
    parts.push_back(absl::StrFormat("%s %.0f C", one.sensor(), one.celsius()));
  }
  if (!device.throttled().empty()) {
    parts.push_back(absl::StrCat("throttled: ", absl::StrJoin(device.throttled(), " ")));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string PowerTable(v1::GetServerInfoResponse first, v1::GetServerInfoResponse now,
                       double seconds) {
  EscapeTexts(&first);
  EscapeTexts(&now);
  std::string text;
  for (const v1::DeviceInfo& device : now.devices()) {
    const std::string condition = ConditionText(device);
    if (!condition.empty()) absl::StrAppendFormat(&text, "%s: %s\n", device.device(), condition);
  }
  size_t width = 4;
  for (const v1::PowerRail& rail : now.power_rails()) width = std::max(width, rail.rail().size());
  const int rail_width = static_cast<int>(width);
  absl::StrAppendFormat(&text, "%-*s  %-7s  %-6s  %9s  %11s  %9s\n", rail_width, "rail", "scope",
                        "source", "watts", "joules", "mean/W");
  for (const v1::PowerRail& rail : now.power_rails()) {
    const std::optional<double> watts =
        rail.has_watts() ? std::optional<double>(rail.watts()) : std::nullopt;
    const std::optional<double> joules = JoulesSince(first, rail);
    const std::optional<double> mean =
        joules.has_value() ? std::optional<double>(*joules / seconds) : std::nullopt;
    absl::StrAppendFormat(&text, "%-*s  %-7s  %-6s  %9s  %11s  %9s\n", rail_width, rail.rail(),
                          rail.scope(), rail.source(), Cell(watts, 2), Cell(joules, 2),
                          Cell(mean, 2));
  }
  for (const FrameShare& share : FramesSince(first, now)) {
    absl::StrAppendFormat(&text, "%s: %d frames", share.device, share.frames);
    if (share.frames > 0) {
      absl::StrAppendFormat(&text, ", %.3f mJ a frame",
                            share.joules / static_cast<double>(share.frames) * 1e3);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string PowerJson(const v1::GetServerInfoResponse& first, const v1::GetServerInfoResponse& now,
                      double seconds) {
  JsonWriter json;
  json.BeginObject().Key("seconds").Double(seconds).Key("rails").BeginArray();
  for (const v1::PowerRail& rail : now.power_rails()) {
    json.BeginObject().Key("rail").String(rail.rail()).Key("source").String(rail.source());
    json.Key("scope").String(rail.scope());
    if (!rail.device().empty()) json.Key("device").String(rail.device());
    if (rail.has_watts()) json.Key("watts").Double(rail.watts());
    if (const auto joules = JoulesSince(first, rail); joules.has_value()) {
      json.Key("joules").Double(*joules);
    }
    json.EndObject();
  }
  json.EndArray().Key("frames").BeginArray();
  for (const FrameShare& share : FramesSince(first, now)) {
    json.BeginObject().Key("device").String(share.device).Key("frames").UInt(share.frames);
    json.Key("joules").Double(share.joules).EndObject();
  }
  json.EndArray().Key("devices").BeginArray();
  for (const v1::DeviceInfo& device : now.devices()) {
    json.BeginObject().Key("device").String(device.device()).Key("name").String(device.name());
    const auto text = [&json](const char* key, const std::string& value) {
      if (!value.empty()) json.Key(key).String(value);
    };
    text("board", device.board());
    text("power_mode", device.power_mode());
    text("clock_mode", device.clock_mode());
    json.Key("clocks").BeginArray();
    for (const v1::DeviceClock& clock : device.clocks()) {
      json.BeginObject().Key("clock").String(clock.clock()).Key("hertz").Double(clock.hertz());
      if (clock.has_limit_hertz()) json.Key("limit_hertz").Double(clock.limit_hertz());
      json.EndObject();
    }
    json.EndArray().Key("temperatures").BeginArray();
    for (const v1::DeviceTemperature& one : device.temperatures()) {
      json.BeginObject().Key("sensor").String(one.sensor());
      json.Key("celsius").Double(one.celsius()).EndObject();
    }
    json.EndArray().Key("throttled").BeginArray();
    for (const std::string& reason : device.throttled()) json.String(reason);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace orbserve::cli
