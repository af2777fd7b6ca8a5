// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The commands of the program. Each function runs one command and returns its exit code.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_COMMANDS_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_COMMANDS_H_

#include "client/cli/options.h"

namespace orbserve::cli {

int RunExtract(const ExtractOptions& options);
int RunMatch(const MatchCommandOptions& options);
int RunMatchPairs(const MatchCommandOptions& options);
int RunStream(const StreamOptions& options);
int RunReferencePut(const ReferenceOptions& options);
int RunReferenceList(const ReferenceOptions& options);
int RunReferenceDelete(const ReferenceOptions& options);
int RunInfo(const CommonOptions& options);
int RunPresets(const CommonOptions& options);
int RunHealth(const CommonOptions& options);
int RunPower(const PowerOptions& options);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_COMMANDS_H_
