// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From the options of `orbserve stream` to the opening message of its stream and its source.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_OPEN_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_OPEN_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/images/frame_source.h"
#include "client/cli/options.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Sets what follows from other options: the default pipeline of tracks, the default server of
// references, and a long keepalive for frames without a pace.
void CompleteStreamOptions(StreamOptions* options);

// INVALID_ARGUMENT: options contradict each other, or one would change nothing.
absl::Status CheckStreamOptions(const StreamOptions& options);

// The opening message for options that CheckStreamOptions() accepts. Frames are matched with the
// frame before if the pipeline has descriptors. INVALID_ARGUMENT when it has none and options ask
// for matches.
absl::StatusOr<v1::StreamOpen> MakeStreamOpen(const StreamOptions& options,
                                              const RequestSetup& setup,
                                              const v1::GetServerInfoResponse& server);

// The source of the frames. INVALID_ARGUMENT for a size that is none.
absl::StatusOr<FrameSourceOptions> SourceOptionsOf(const StreamOptions& options);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_OPEN_H_
