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

// The whole number in a file. UNSUPPORTED when it cannot be opened or read now, or holds none: with
// the path and the reason.
absl::StatusOr<int64_t> ReadNumber(const std::string& path);

// The first line of a file, without spaces and zero bytes at its end; empty when it cannot be read.
std::string ReadWord(const std::string& path);

// Names in a folder that begin with `prefix`, in order: numbers by their value. Empty when the
// folder cannot be read.
std::vector<std::string> NamesIn(const std::string& folder, absl::string_view prefix);
// Their paths. Both `folder` and they end with a slash.
std::vector<std::string> FoldersIn(const std::string& folder, absl::string_view prefix);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_SENSORS_SENSOR_FILE_H_
