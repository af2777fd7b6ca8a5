// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/jetson_power_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "server/telemetry/power/power_sensor.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

constexpr int kChannels = 3;               // of an INA3221
constexpr absl::string_view kNone = "NC";  // the name of a channel that is not connected

// A file with the power, in parts of a watt.
class DirectSensor final : public PowerSensor {
 public:
  DirectSensor(std::string path, double watts_per_unit)
      : file_(std::move(path)), watts_per_unit_(watts_per_unit) {}

 private:
  absl::StatusOr<PowerReading> Measure() override {
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t units, file_.Read());
    return PowerReading{.power_watts = static_cast<double>(units) * watts_per_unit_};
  }

  SensorFile file_;
  const double watts_per_unit_;
};

// Files with millivolts and milliamperes.
class ProductSensor final : public PowerSensor {
 public:
  ProductSensor(std::string voltage_path, std::string current_path)
      : millivolts_(std::move(voltage_path)), milliamperes_(std::move(current_path)) {}

 private:
  absl::StatusOr<PowerReading> Measure() override {
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t millivolts, millivolts_.Read());
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t milliamperes, milliamperes_.Read());
    return PowerReading{.power_watts = static_cast<double>(millivolts) * 1e-3 *
                                       (static_cast<double>(milliamperes) * 1e-3)};
  }

  SensorFile millivolts_;
  SensorFile milliamperes_;
};

struct Channel {
  std::string rail;
  std::string driver;
  std::shared_ptr<PowerSensor> sensor;
};

bool IsConnected(const std::string& rail) { return !rail.empty() && rail != kNone; }

// JetPack 5 to 7. Voltage 7 and current 4 are sums over the channels of a chip.
void AddHwmonChannels(const std::string& root, std::vector<Channel>& channels) {
  const std::string folder = absl::StrCat(root, "/sys/class/hwmon/");
  for (const std::string& name : NamesIn(folder, "hwmon")) {
    const std::string chip = absl::StrCat(folder, name, "/");
    const std::string driver = ReadWord(chip + "name");
    if (driver == "ina3221") {
      for (int i = 1; i <= kChannels; ++i) {
        std::string rail = ReadWord(absl::StrCat(chip, "in", i, "_label"));
        if (!IsConnected(rail)) continue;
        channels.push_back(
            {std::move(rail), driver,
             std::make_shared<ProductSensor>(absl::StrCat(chip, "in", i, "_input"),
                                             absl::StrCat(chip, "curr", i, "_input"))});
      }
    } else if (driver == "ina238") {
      std::string rail = ReadWord(chip + "label");
      if (!IsConnected(rail)) continue;
      constexpr double kMicrowatt = 1e-6;
      channels.push_back({std::move(rail), driver,
                          std::make_shared<DirectSensor>(chip + "power1_input", kMicrowatt)});
    }
  }
}

// JetPack 4.
void AddIioChannels(const std::string& root, std::vector<Channel>& channels) {
  constexpr double kMilliwatt = 1e-3;
  const std::string folder = absl::StrCat(root, "/sys/bus/i2c/drivers/ina3221x/");
  for (const std::string& address : NamesIn(folder, "")) {
    const std::string chip = absl::StrCat(folder, address, "/");
    for (const std::string& device : NamesIn(chip, "iio:device")) {
      for (int i = 0; i < kChannels; ++i) {
        const std::string path = absl::StrCat(chip, device, "/");
        std::string rail = ReadWord(absl::StrCat(path, "rail_name_", i));
        if (!IsConnected(rail)) continue;
        channels.push_back({std::move(rail), "ina3221x",
                            std::make_shared<DirectSensor>(
                                absl::StrCat(path, "in_power", i, "_input"), kMilliwatt)});
      }
    }
  }
}

// The rails whose sum is the power of the module. The first set whose rails a module has counts.
// Sources: NVIDIA's module data sheets and device trees; on AGX Orin VDDQ_VDD2_1V8AO hangs off
// VIN_SYS_5V0 and must not count twice.
const std::vector<std::vector<absl::string_view>>& TotalSets() {
  static const auto* const sets = new std::vector<std::vector<absl::string_view>>{
      {"VIN"},                                        // AGX Thor
      {"VDD_IN"},                                     // TX2, Xavier NX, Orin NX, Orin Nano
      {"POM_5V_IN"},                                  // Nano
      {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"},   // AGX Orin
      {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"},  // AGX Xavier
  };
  return *sets;
}

PowerRail MakeRail(const std::string& name, const std::string& driver, const std::string& model) {
  PowerRail rail;
  rail.rail = name;
  rail.source = "ina";
  rail.scope = "rail";
  rail.driver = driver;
  rail.model = model;
  return rail;
}

}  // namespace

PowerReaders FindJetsonPowerReaders(const std::string& device, const std::string& root) {
  std::vector<Channel> channels;
  AddHwmonChannels(root, channels);
  AddIioChannels(root, channels);
  PowerReaders found;
  if (channels.empty()) return found;
  const std::string model = ReadWord(absl::StrCat(root, "/proc/device-tree/model"));

  const std::vector<absl::string_view>* total = nullptr;
  const auto has_rail = [&channels](absl::string_view name) {
    return std::any_of(channels.begin(), channels.end(),
                       [name](const Channel& channel) { return channel.rail == name; });
  };
  for (const auto& set : TotalSets()) {
    if (std::all_of(set.begin(), set.end(), has_rail)) {
      total = &set;
      break;
    }
  }
  if (total == nullptr) {
    found.failures.push_back(absl::StrCat(
        "the module has no rail for its total power, and its rails are no set that is known to "
        "make it up: ",
        absl::StrJoin(channels, ", ", [](std::string* out, const Channel& channel) {
          absl::StrAppend(out, channel.rail);
        })));
  }

  std::vector<std::shared_ptr<PowerSensor>> parts;  // of the total
  bool is_whole = total != nullptr;
  for (Channel& channel : channels) {
    const bool is_part =
        total != nullptr && std::find(total->begin(), total->end(), channel.rail) != total->end();
    if (absl::Status status = channel.sensor->Read().status(); !status.ok()) {
      found.failures.push_back(absl::StrCat(channel.rail, ": ", status.message()));
      if (is_part) is_whole = false;
      continue;
    }
    if (is_part) parts.push_back(channel.sensor);
    PowerRail rail = MakeRail(channel.rail, channel.driver, model);
    if (is_part && total->size() == 1) {
      rail.scope = "total";
      rail.device = device;
    }
    found.readers.push_back(MakeSumReader(std::move(rail), {channel.sensor}));
  }
  if (is_whole && total->size() > 1) {
    PowerRail rail = MakeRail(absl::StrJoin(*total, "+"), "ina3221", model);
    rail.scope = "total";
    rail.device = device;
    found.readers.push_back(MakeSumReader(std::move(rail), std::move(parts)));
  }
  return found;
}

}  // namespace orbserve
