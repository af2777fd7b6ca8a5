// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_FAKE_TREE_H_
#define ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_FAKE_TREE_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace orbserve {

// A folder with files as a kernel's sysfs has them, removed in the end.
class FakeTree {
 public:
  FakeTree() {
    std::string folder =
        (std::filesystem::temp_directory_path() / "orbserve-sysfs-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << "no folder";
    root_ = folder;
  }
  ~FakeTree() { std::filesystem::remove_all(root_); }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  const std::string& root() const { return root_; }

  // Writes the file, in place: readers may have it open.
  void Write(const std::string& path, const std::string& text) const {
    const std::string whole = root_ + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text << "\n";
  }
  void Remove(const std::string& path) const { std::filesystem::remove_all(root_ + path); }
  // Makes the file one that is there and cannot be read, for root too.
  void MakeUnreadable(const std::string& path) const {
    Remove(path);
    std::filesystem::create_directories(root_ + path);
  }

  // An INA3221 of JetPack 5 and later with one channel set; call it for each channel.
  void AddHwmonChannel(int hwmon, int channel, const std::string& rail, int millivolts,
                       int milliamperes) const {
    const std::string chip = "/sys/class/hwmon/hwmon" + std::to_string(hwmon) + "/";
    const std::string number = std::to_string(channel);
    Write(chip + "name", "ina3221");
    Write(chip + "in" + number + "_label", rail);
    Write(chip + "in" + number + "_input", std::to_string(millivolts));
    Write(chip + "curr" + number + "_input", std::to_string(milliamperes));
  }
  // One of JetPack 4.
  void AddIioChannel(const std::string& address, int device, int channel, const std::string& rail,
                     int milliwatts) const {
    const std::string chip =
        "/sys/bus/i2c/drivers/ina3221x/" + address + "/iio:device" + std::to_string(device) + "/";
    Write(chip + "rail_name_" + std::to_string(channel), rail);
    Write(chip + "in_power" + std::to_string(channel) + "_input", std::to_string(milliwatts));
  }
  // A zone of RAPL: "intel-rapl:0", "intel-rapl:0:2".
  void AddZone(const std::string& zone, const std::string& name, const std::string& microjoules,
               const std::string& largest) const {
    const std::string folder = "/sys/class/powercap/" + zone + "/";
    Write(folder + "name", name);
    Write(folder + "energy_uj", microjoules);
    Write(folder + "max_energy_range_uj", largest);
  }

 private:
  std::string root_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_FAKE_TREE_H_
