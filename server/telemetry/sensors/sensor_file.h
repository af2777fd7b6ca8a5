// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Files of sysfs that a kernel driver answers: one number or one word each.

#ifndef ORBSERVE_SERVER_TELEMETRY_SENSORS_SENSOR_FILE_H_
#define ORBSERVE_SERVER_TELEMETRY_SENSORS_SENSOR_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve {

// A number that is read again and again. The file stays open, because opening it costs more than
// some sensors take. Not thread-safe.
class SensorFile {
 public:
  explicit SensorFile(std::string path) : path_(std::move(path)) {}
  ~SensorFile();
  SensorFile(const SensorFile&) = delete;
  SensorFile& operator=(const SensorFile&) = delete;

  // UNSUPPORTED when it cannot be opened or read now, or holds no whole number: with the path and
  // the reason. The next call tries anew.
  absl::StatusOr<int64_t> Read();

 private:
  void Close();

  const std::string path_;
  int fd_ = -1;
};

// The first line of a file, without spaces and zero bytes at its end; empty when it cannot be read.
std::string ReadWord(const std::string& path);

// Names in a folder that begin with `prefix`, in order: numbers by their value. Empty when the
// folder cannot be read.
std::vector<std::string> NamesIn(const std::string& folder, absl::string_view prefix);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_SENSORS_SENSOR_FILE_H_
