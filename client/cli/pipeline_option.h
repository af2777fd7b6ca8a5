// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_PIPELINE_OPTION_H_
#define ORBSERVE_CLIENT_CLI_PIPELINE_OPTION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Returns the pipeline of `--pipeline VALUE`. VALUE is the name of a preset. If it ends in
// ".textproto" or contains '/', it is a file with an orbserve.v1.Pipeline in protobuf's text
// format. INVALID_ARGUMENT with file, line and column; unknown keys are errors.
absl::StatusOr<v1::Pipeline> ParsePipeline(const std::string& value);

// Parses protobuf's text format. `file_name` appears in error messages.
absl::StatusOr<v1::Pipeline> ParsePipelineText(const std::string& text,
                                               const std::string& file_name);

// Checks that the server has the preset of `pipeline`. INVALID_ARGUMENT: the server does not know
// the name; UNIMPLEMENTED: it knows the name, but the preset is not available. Both messages list
// the available presets first.
absl::Status CheckPreset(const v1::Pipeline& pipeline, const v1::GetServerInfoResponse& server);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_PIPELINE_OPTION_H_
