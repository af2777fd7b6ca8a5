// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pipelines, matching options and parameters of frames between the wire and the domain. Every value
// from the wire is checked here, so that nothing behind this header meets one out of range. A
// message of an error names the field, the value and the allowed range.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_PIPELINE_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_PIPELINE_H_

#include <string>

#include "absl/status/statusor.h"
#include "features/options.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve {

// A pipeline with every option resolved: those of the message over those of its preset.
struct ResolvedPipeline {
  std::string preset;
  PipelineOptions options;
  FrameParameters frame;
  MatchOptions match;
  TrackOptions track = {};
};

// Reads the options as the message gives them. Numbers that do not fit and unknown enumerators are
// refused; options of matches and tracks are checked, the others are not yet. BAD_OPTIONS,
// UNSUPPORTED.
absl::StatusOr<ResolvedPipeline> ReadPipeline(const v1::Pipeline& proto);
// ReadPipeline() with every check. BAD_OPTIONS, UNSUPPORTED.
absl::StatusOr<ResolvedPipeline> PipelineFromProto(const v1::Pipeline& proto);
// The inverse, with every option set.
void PipelineToProto(const ResolvedPipeline& pipeline, v1::Pipeline* proto);

// Options of `proto` over those of `base`. BAD_OPTIONS.
absl::StatusOr<MatchOptions> MatchOptionsFromProto(const v1::MatchOptions& proto,
                                                   const MatchOptions& base);

// Parameters of a frame over those of its pipeline. BAD_OPTIONS, UNSUPPORTED.
absl::StatusOr<FrameParameters> FrameParametersFromProto(const v1::FrameParameters& proto,
                                                         const ResolvedPipeline& pipeline);
// Matching options of a frame of a stream over those of its pipeline. Calls that do not match
// frames use it as a check. Window and offset are those of the match with the previous frame.
// BAD_OPTIONS.
absl::StatusOr<MatchOptions> FrameMatchFromProto(const v1::FrameParameters& proto,
                                                 const MatchOptions& base);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_PIPELINE_H_
