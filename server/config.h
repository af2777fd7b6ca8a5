// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's configuration: defaults, then the file, then the command line.

#ifndef ORBSERVE_SERVER_CONFIG_H_
#define ORBSERVE_SERVER_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/config.pb.h"

namespace orbserve {

// Every field set. Budgets of memory are parts of FindMemoryLimit().
server::Config DefaultConfig();
// With budgets that are parts of `memory_bytes`, and at most those of a large machine.
server::Config DefaultConfig(int64_t memory_bytes);
// `config`, with defaults for all that it does not set. Budgets that it does not set are parts of
// its limits.memory_bytes.
server::Config CompleteConfig(const server::Config& config);
// `gpu_shares_memory`: the GPU that may be used has no memory of its own. Unless the configuration
// limits its memory, it then gets a quarter of limits.memory_bytes, and the budgets share the rest.
server::Config CompleteConfig(const server::Config& config, bool gpu_shares_memory);

// Sum of the budgets of a complete configuration.
uint64_t MemoryBudgets(const server::Config& config);

// Reads protobuf text. An unknown key, a value of the wrong type or a key given twice is an error
// (BAD_OPTIONS) that names `origin`, line and column.
absl::StatusOr<server::Config> ParseConfig(absl::string_view text, absl::string_view origin);
absl::StatusOr<server::Config> ReadConfigFile(const std::string& path);

// `base` with every field that `over` sets replaced; lists are replaced as a whole.
server::Config Overlay(server::Config base, const server::Config& over);

// OK when every field of a complete configuration is in its range. BAD_OPTIONS, UNSUPPORTED.
absl::Status ValidateConfig(const server::Config& config);

// The whole configuration as protobuf text.
std::string ConfigToText(const server::Config& config);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CONFIG_H_
