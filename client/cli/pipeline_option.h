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

// The pipeline that `--pipeline VALUE` means: the name of a preset, or, where VALUE ends in
// ".textproto" or has a '/', a file with an orbserve.v1.Pipeline in protobuf's text format.
// INVALID_ARGUMENT with file, line and column; unknown keys are errors.
absl::StatusOr<v1::Pipeline> ParsePipeline(const std::string& value);

// Reads text format. `file_name` is for error messages.
absl::StatusOr<v1::Pipeline> ParsePipelineText(const std::string& text,
                                               const std::string& file_name);

// Whether the server has the preset that `pipeline` names. INVALID_ARGUMENT naming those that it
// has; UNIMPLEMENTED when it knows the name only.
absl::Status CheckPreset(const v1::Pipeline& pipeline, const v1::GetServerInfoResponse& server);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_PIPELINE_OPTION_H_
