// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's configuration: defaults, then the file, then the command line.

#ifndef ORBSERVE_SERVER_CONFIG_CONFIG_H_
#define ORBSERVE_SERVER_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "server/config/config.pb.h"
#include "server/process/mistakes.h"

namespace orbserve {

// A field of the configuration, and what server/config/config.proto says of it.
struct ConfigField {
  std::string key;                                   // such as "batching.max_batch"
  const google::protobuf::FieldDescriptor* section;  // null = none: "listen"
  const google::protobuf::FieldDescriptor* field;
  const server::Rule* rule;
};

// All fields, in the order of the file.
const std::vector<ConfigField>& ConfigFields();
// What is allowed: "[1, 256]", "auto, none", or "" where everything is.
std::string RangeText(const ConfigField& field);
// `rule.about` and others without links and marks of Markdown.
std::string PlainText(absl::string_view markdown);
// The default, or where it comes from; "" = none.
std::string DefaultText(const ConfigField& field);
// Sets a field, or adds to it where it is a list, as a flag or a default says it. An error tells
// what must be given, and has no name in it; ranges are checked by ValidateConfig().
absl::Status SetFromText(const ConfigField& field, const std::string& text, server::Config* config);
// Returns the flag of the program that is probably meant, "" if none is alike.
std::string MeantFlag(absl::string_view flag);
// "KEY is gone: ..." of a key or flag that was removed, "" of any other.
std::string ReplacementOf(absl::string_view key);

// Every field set that has a default. limits.memory_bytes is FindMemoryLimit().
server::Config DefaultConfig();
server::Config DefaultConfig(int64_t memory_bytes);
// `config`, with defaults for all that it does not set.
server::Config CompleteConfig(const server::Config& config);
// `gpu_shares_memory`: the GPU that may be used has no memory of its own. Unless the configuration
// limits its memory, it then gets a quarter of limits.memory_bytes, which is lowered by as much.
server::Config CompleteConfig(const server::Config& config, bool gpu_shares_memory);

// `base` with every field that `over` sets replaced; lists are replaced as a whole.
server::Config Overlay(server::Config base, const server::Config& over);

// OK when every field of a complete configuration is in its range and fits the others. BAD_OPTIONS
// with one line for each mistake.
absl::Status ValidateConfig(const server::Config& config);

// The whole configuration as protobuf text.
std::string ConfigToText(const server::Config& config);

// Reads protobuf text into `config` and adds a mistake for each key that is unknown, given twice or
// has a value of the wrong type: with `origin`, line and column (both count from 1), and the key
// that replaces it or was probably meant. Such keys are left out. False if the rest of the text
// cannot be read, as a brace is missing, say.
bool ParseConfig(absl::string_view text, absl::string_view origin, server::Config* config,
                 Mistakes* mistakes);
// Does the same with a file; false, too, if the file cannot be read.
bool ReadConfigFile(const std::string& path, server::Config* config, Mistakes* mistakes);

// Checks the addresses of a configuration: `listen` and `http_listen` have the form that
// docs/configuration.md says, the folder of a Unix socket is there, the two differ, and plain text
// is served only where it is allowed. BAD_OPTIONS with one line for each mistake. Obstacles that
// may be gone the next time (an address in use, a name that does not resolve now) are not checked.
absl::Status CheckListenAddresses(const server::Config& config);

// True where other machines may reach `http_listen`, which has neither TLS nor a password.
bool HttpIsOpenToOthers(const server::Config& config);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CONFIG_CONFIG_H_
