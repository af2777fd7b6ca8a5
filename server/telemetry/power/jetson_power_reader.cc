// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rails of NVIDIA Jetson modules, measured by chips on their I2C buses.
//
// Three drivers are read: `ina3221x` (L4T to 32: JetPack 4), which tells milliwatts; the kernel's
// own `ina3221` (L4T from 34 on: JetPack 5 to 7), which tells millivolts and milliamperes; and
// `ina238`, which measures the input of a Thor in microwatts. Chips are found by the names of
// drivers and rails, because numbers of hwmon devices change from start to start.
//
// The figures exclude the carrier board, except for rails of the carrier and the input of a Thor.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/errors.h"
#include "server/telemetry/power/power_reader.h"
#include "server/telemetry/sensors/sensor_file.h"

namespace orbserve {
namespace {

constexpr int kChannels = 3;  // of an INA3221

// A file with the power, in parts of a watt.
ReadPower PowerIn(std::string path, double watts_per_unit) {
  return [=]() -> absl::StatusOr<PowerReading> {
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t units, ReadNumber(path));
    return PowerReading{.power_watts = static_cast<double>(units) * watts_per_unit};
  };
}

// Files with millivolts and milliamperes.
ReadPower ProductOf(std::string voltage_path, std::string current_path) {
  return [=]() -> absl::StatusOr<PowerReading> {
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t millivolts, ReadNumber(voltage_path));
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t milliamperes, ReadNumber(current_path));
    return PowerReading{.power_watts = static_cast<double>(millivolts) * 1e-3 *
                                       (static_cast<double>(milliamperes) * 1e-3)};
  };
}

// The rails of all chips.
class Channels {
 public:
  explicit Channels(const std::string& root)
      : root_(root), model_(ReadWord(root + "/proc/device-tree/model")) {
    AddHwmon();
    AddIio();
  }

  std::vector<PowerReader> readers;

 private:
  // `rail`: "NC" is a channel that is not connected.
  void Add(const std::string& rail, const std::string& driver, ReadPower read) {
    if (rail.empty() || rail == "NC") return;
    readers.push_back(
        {{.rail = rail, .source = "ina", .scope = "rail", .driver = driver, .model = model_},
         std::move(read)});
  }

  // JetPack 5 to 7. Voltage 7 and current 4 are sums over the channels of a chip.
  void AddHwmon() {
    for (const std::string& chip : FoldersIn(root_ + "/sys/class/hwmon/", "hwmon")) {
      const std::string driver = ReadWord(chip + "name");
      for (int i = 1; driver == "ina3221" && i <= kChannels; ++i) {
        Add(ReadWord(absl::StrCat(chip, "in", i, "_label")), driver,
            ProductOf(absl::StrCat(chip, "in", i, "_input"),
                      absl::StrCat(chip, "curr", i, "_input")));
      }
      if (driver == "ina238") {
        Add(ReadWord(chip + "label"), driver, PowerIn(chip + "power1_input", 1e-6));
      }
    }
  }

  // JetPack 4.
  void AddIio() {
    for (const std::string& chip : FoldersIn(root_ + "/sys/bus/i2c/drivers/ina3221x/", "")) {
      for (const std::string& device : FoldersIn(chip, "iio:device")) {
        for (int i = 0; i < kChannels; ++i) {
          Add(ReadWord(absl::StrCat(device, "rail_name_", i)), "ina3221x",
              PowerIn(absl::StrCat(device, "in_power", i, "_input"), 1e-3));
        }
      }
    }
  }

  const std::string root_;
  const std::string model_;
};

// The rails whose sum is the power of the module. The first set whose rails a module has counts.
// Sources: NVIDIA's module data sheets and device trees; on AGX Orin VDDQ_VDD2_1V8AO hangs off
// VIN_SYS_5V0 and must not count twice.
const std::vector<std::vector<std::string>>& TotalSets() {
  static const auto* const sets = new std::vector<std::vector<std::string>>{
      {"VIN"},                                        // AGX Thor
      {"VDD_IN"},                                     // TX2, Xavier NX, Orin NX, Orin Nano
      {"POM_5V_IN"},                                  // Nano
      {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"},   // AGX Orin
      {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"},  // AGX Xavier
  };
  return *sets;
}

}  // namespace

PowerReaders FindJetsonPowerReaders(const std::string& device, const std::string& root) {
  std::vector<PowerReader> channels = Channels(root).readers;
  std::vector<std::string> rails;
  for (const PowerReader& channel : channels) rails.push_back(channel.rail.rail);
  const auto has_rail = [&rails](const std::string& name) {
    return std::find(rails.begin(), rails.end(), name) != rails.end();
  };
  for (const std::vector<std::string>& set : TotalSets()) {
    if (std::all_of(set.begin(), set.end(), has_rail)) {
      return KeepReadable(std::move(channels), set, device);
    }
  }
  PowerReaders found = KeepReadable(std::move(channels), {}, device);
  if (!rails.empty()) {
    found.failures.insert(found.failures.begin(),
                          absl::StrCat("the module has no rail for its total power, and its rails "
                                       "are no set that is known to make it up: ",
                                       absl::StrJoin(rails, ", ")));
  }
  return found;
}

}  // namespace orbserve
