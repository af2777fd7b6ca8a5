// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Reads configuration files.

#ifndef ORBSERVE_SERVER_CONFIG_CONFIG_FILE_H_
#define ORBSERVE_SERVER_CONFIG_CONFIG_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/config/config.pb.h"
#include "server/process/mistakes.h"

namespace orbserve {

// Reads protobuf text into `config` and adds a mistake for each key that is unknown, given twice or
// has a value of the wrong type: with `origin`, line and column (both count from 1), and the key
// that replaces it or was probably meant. Such keys are left out. False if the rest of the text
// cannot be read, as a brace is missing, say.
bool ParseConfig(absl::string_view text, absl::string_view origin, server::Config* config,
                 Mistakes* mistakes);
// Does the same with a file; false, too, if the file cannot be read.
bool ReadConfigFile(const std::string& path, server::Config* config, Mistakes* mistakes);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CONFIG_CONFIG_FILE_H_
