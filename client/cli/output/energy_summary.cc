// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/energy_summary.h"

#include "absl/strings/str_format.h"
#include "client/cli/output/json_writer.h"

namespace orbserve::cli {
namespace {

constexpr double kMilli = 1e3;

}  // namespace

void EnergySummary::Add(const v1::Execution& execution) {
  const absl::MutexLock lock(&mutex_);
  ++frames_;
  if (!execution.has_energy_joules()) return;
  ++frames_with_energy_;
  joules_ += execution.energy_joules();
}

EnergySummary::Result EnergySummary::Finish(const v1::GetServerInfoResponse& before,
                                            const v1::GetServerInfoResponse& after,
                                            double seconds) const {
  Result result;
  result.seconds = seconds;
  for (const v1::PowerRail& last : after.power_rails()) {
    for (const v1::PowerRail& first : before.power_rails()) {
      if (last.scope() != "total" || first.rail() != last.rail()) continue;
      // Energy that is less than before is that of another process.
      if (!first.has_joules() || !last.has_joules() || last.joules() < first.joules()) continue;
      result.device_joules = result.device_joules.value_or(0) + last.joules() - first.joules();
    }
  }
  const absl::MutexLock lock(&mutex_);
  result.frames = frames_;
  if (frames_with_energy_ > 0) {
    result.joules_per_frame = joules_ / static_cast<double>(frames_with_energy_);
  }
  return result;
}

std::string EnergyText(const EnergySummary::Result& result) {
  std::string text;
  if (result.joules_per_frame.has_value()) {
    absl::StrAppendFormat(&text, "energy  %.3f mJ a frame, estimated by the answers\n",
                          *result.joules_per_frame * kMilli);
  }
  if (result.device_joules.has_value()) {
    absl::StrAppendFormat(&text, "power   %.2f J of the devices in %.2f s = %.2f W",
                          *result.device_joules, result.seconds,
                          *result.device_joules / result.seconds);
    if (result.frames > 0) {
      absl::StrAppendFormat(&text, ", %.3f mJ a frame with rest",
                            *result.device_joules / static_cast<double>(result.frames) * kMilli);
    }
    text += "\n";
  }
  return text.empty() ? "power   no rail can be read\n" : text;
}

std::string EnergyJson(const EnergySummary::Result& result) {
  JsonWriter json;
  json.BeginObject().Key("power").BeginObject().Key("frames").Int(result.frames);
  json.Key("seconds").Double(result.seconds);
  if (result.joules_per_frame.has_value()) {
    json.Key("joules_per_frame").Double(*result.joules_per_frame);
  }
  if (result.device_joules.has_value()) json.Key("device_joules").Double(*result.device_joules);
  return json.EndObject().EndObject().text();
}

}  // namespace orbserve::cli
