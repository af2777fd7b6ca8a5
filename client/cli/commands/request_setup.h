// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The parts of requests that the options decide: pipeline, mask, matching. They are read before an
// engine exists and checked with it before the first image is sent.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_REQUEST_SETUP_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_REQUEST_SETUP_H_

#include <atomic>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/engine.h"
#include "client/cli/options.h"
#include "client/cli/pipeline_flags.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

struct RequestSetup {
  v1::Pipeline pipeline;     // with the values of `flags`
  PipelineFlagValues flags;  // as they were given
  std::optional<v1::Mask> mask;
};

// Reads pipeline, flags and mask. Errors: as ParsePipeline, ApplyPipelineFlags and LoadMask.
absl::StatusOr<RequestSetup> ReadRequestSetup(const ImageOptions& options);

// Asks the engine whether it accepts `setup`. INVALID_ARGUMENT or UNIMPLEMENTED: the engine refuses
// the preset or the pipeline, a flag has no effect on the pipeline, or the mask is larger than any
// image that the engine accepts. The engine itself checks that the mask has the size of its image.
absl::Status CheckRequestSetup(const RequestSetup& setup, Engine* engine);

// LoadFrame, with the mask of `setup`.
absl::StatusOr<v1::Frame> LoadMaskedFrame(const std::string& path, const RequestSetup& setup,
                                          const PictureLimits& limits,
                                          const std::atomic<bool>* stop = nullptr);

// Fingerprint of everything that decides the bytes of an output (ResumeLog): `setup`, and a text of
// `other` options.
std::string SetupFingerprint(const RequestSetup& setup, absl::string_view other);

// INVALID_ARGUMENT: `message` is larger than the server accepts. A server refuses such a message
// without reading it to its end, and ends the stream that it is part of.
absl::Status CheckMessageSize(const google::protobuf::MessageLite& message,
                              const v1::ServerLimits& limits);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_REQUEST_SETUP_H_
