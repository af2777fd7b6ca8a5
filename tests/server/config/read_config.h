// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_CONFIG_READ_CONFIG_H_
#define ORBSERVE_TESTS_SERVER_CONFIG_READ_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/config/config.h"

namespace orbserve {

// A configuration without mistakes, or BAD_OPTIONS with all of them.
inline absl::StatusOr<server::Config> ParseConfig(absl::string_view text,
                                                  absl::string_view origin) {
  server::Config config;
  Mistakes mistakes;
  ParseConfig(text, origin, &config, &mistakes);
  ORBSERVE_RETURN_IF_ERROR(mistakes.status());
  return config;
}

inline absl::StatusOr<server::Config> ReadConfigFile(const std::string& path) {
  server::Config config;
  Mistakes mistakes;
  ReadConfigFile(path, &config, &mistakes);
  ORBSERVE_RETURN_IF_ERROR(mistakes.status());
  return config;
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_CONFIG_READ_CONFIG_H_
