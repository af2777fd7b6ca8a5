// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Options of the command line for single options of a pipeline: one flag for every option of
// orbserve.v1.Pipeline. They replace the values of `--pipeline`.

#ifndef ORBSERVE_CLIENT_CLI_PIPELINE_FLAGS_H_
#define ORBSERVE_CLIENT_CLI_PIPELINE_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

struct PipelineFlag {
  const char* name;   // "--detector"
  const char* off;    // flags without a value: the name that switches off; else null
  const char* path;   // option of orbserve.v1.Pipeline: "detect.detector"
  const char* value;  // of the help: "N", "PX"; null where the names of the wire are the values
  const char* help;

  // True for options of matching, which only commands that match have.
  bool is_matching() const;
  // True for options of tracks, which only commands that track have.
  bool is_tracking() const;
  // The option's field in the wire contract.
  const google::protobuf::FieldDescriptor& field() const;
  // Text of the help for its value.
  std::string ValueName() const;
};

// Every flag, in the order of the wire contract.
absl::Span<const PipelineFlag> PipelineFlags();

// Values as they were given, in their order, by the name of the flag. A flag without a value has
// "true", or "false" for its `off` name.
using PipelineFlagValues = std::map<std::string, std::vector<std::string>>;

// Sets the options that were given. INVALID_ARGUMENT for a flag that is given twice, and for a
// value that the option's type does not have; ranges are left to the server.
absl::Status ApplyPipelineFlags(const PipelineFlagValues& values, v1::Pipeline* pipeline);

// INVALID_ARGUMENT for a flag that would change nothing, because `pipeline` has no use for it.
// `pipeline`: every option as it will be, unknown ones unset.
absl::Status CheckPipelineFlags(const PipelineFlagValues& values, const v1::Pipeline& pipeline);

// A flag of matching or of tracks that was given, with its value, or "".
std::string MatchingFlagOf(const PipelineFlagValues& values);
std::string TrackingFlagOf(const PipelineFlagValues& values);

// `pipeline` over the values of its preset, as `server` knows them.
v1::Pipeline EffectivePipeline(const v1::Pipeline& pipeline,
                               const v1::GetServerInfoResponse& server);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_PIPELINE_FLAGS_H_
