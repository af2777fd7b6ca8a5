// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Configuration files and pipeline files in protobuf's text format. A configuration that is read is
// the same when it is written and read again, and is valid or has a reason why not.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/pipeline_option.h"
#include "server/config/config.h"
#include "server/rpc/conversion/pipeline.h"
#include "tests/fuzz/require.h"
#include "tests/server/config/read_config.h"

namespace orbserve {
namespace {

void FuzzConfig(absl::string_view text) {
  const absl::StatusOr<server::Config> config = ParseConfig(text, "file");
  RequireReason(config.status());
  if (!config.ok()) return;
  const std::string written = ConfigToText(*config);
  const absl::StatusOr<server::Config> again = ParseConfig(written, "again");
  Require(again.ok(), "a configuration that was written can be read");
  Require(ConfigToText(*again) == written, "and is the same");
  RequireReason(ValidateConfig(Overlay(DefaultConfig(), *config)));
}

void FuzzPipeline(absl::string_view text) {
  const auto message = cli::ParsePipelineText(std::string(text), "file");
  RequireReason(message.status());
  if (!message.ok()) return;
  const absl::StatusOr<ResolvedPipeline> pipeline = PipelineFromProto(*message);
  RequireReason(pipeline.status());
  if (!pipeline.ok()) return;
  v1::Pipeline written;
  PipelineToProto(*pipeline, &written);
  const absl::StatusOr<ResolvedPipeline> again = PipelineFromProto(written);
  Require(again.ok(), "a pipeline that was taken is taken again");
  Require(again->options == pipeline->options, "and is the same");
}

}  // namespace
}  // namespace orbserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    orbserve::FuzzConfig(text);
  } else {
    orbserve::FuzzPipeline(text);
  }
  return 0;
}
