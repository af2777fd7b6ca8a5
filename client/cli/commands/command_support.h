// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What several commands do in the same way.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_COMMAND_SUPPORT_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_COMMAND_SUPPORT_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/engine.h"
#include "client/cli/options.h"
#include "client/cli/output/console.h"
#include "client/cli/output/json_writer.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Pipeline and mask as the options give them.
struct ImageSetup {
  v1::Pipeline pipeline;
  std::optional<v1::Mask> mask;
};

// Errors: as ParsePipeline and LoadMask. What the engine says of them, CheckSetup tells: they are
// known before there is one.
absl::StatusOr<ImageSetup> SetUpImages(const ImageOptions& options);

// Whether the engine takes what SetUpImages read, before any image is sent. INVALID_ARGUMENT,
// UNIMPLEMENTED: preset or pipeline is refused, or the mask is larger than any image it takes. That
// a mask fits its image, the engine looks itself.
absl::Status CheckSetup(const ImageSetup& setup, Engine* engine);

// LoadFrame with the mask put in.
absl::StatusOr<v1::Frame> LoadMaskedFrame(const std::string& path, const ImageSetup& setup,
                                          const PictureLimits& limits,
                                          const std::atomic<bool>* stop = nullptr);

// Whether `message` can be sent: larger ones the server does not read to their end.
// INVALID_ARGUMENT.
absl::Status CheckMessageSize(const google::protobuf::MessageLite& message,
                              const v1::ServerLimits& limits);

// Prints the error and gives the exit code for it. `status`: not of a call about an image or a
// reference, in which INVALID_ARGUMENT and UNIMPLEMENTED may be said of that.
int Fail(Console* console, const absl::Status& status);

// The same for such a call; options are what the reason says is one.
int FailCall(Console* console, const absl::Status& status);

// "REASON: message" of a status, without a code.
std::string ErrorText(const absl::Status& status);

// Adds `"error": {"code", "reason", "message"}`.
void AddError(const absl::Status& status, JsonWriter* json);

// Adds `"timings_ms": {...}`, `"batch_size"`, `"backend"`, `"device"` and, where the answer has it,
// `"energy_joules"`.
void AddExecution(const v1::FrameTimings& timings, const v1::Execution& execution,
                  JsonWriter* json);

// Whether answers of this server say what they took.
bool HasPowerSource(const v1::GetServerInfoResponse& info);

// Millijoules of an answer for a table; "-" where it has none.
std::string EnergyText(const v1::Execution& execution);

// Writes a line to standard output.
void PrintLine(absl::string_view line);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_COMMAND_SUPPORT_H_
