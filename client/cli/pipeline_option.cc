// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/pipeline_option.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/file_io.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace orbserve::cli {
namespace {

// Keeps the first error as `file:line:column: message`, counted from 1.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string file_name) : file_name_(std::move(file_name)) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat(file_name_, ":", line + 1, ":", column + 1, ": ", message);
  }

  const std::string& text() const { return text_; }

 private:
  const std::string file_name_;
  std::string text_;
};

}  // namespace

absl::StatusOr<v1::Pipeline> ParsePipelineText(const std::string& text,
                                               const std::string& file_name) {
  v1::Pipeline pipeline;
  FirstError errors(file_name);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(text, &pipeline)) {
    return absl::InvalidArgumentError(
        errors.text().empty() ? absl::StrCat(file_name, ": not a pipeline") : errors.text());
  }
  return pipeline;
}

absl::StatusOr<v1::Pipeline> ParsePipeline(const std::string& value) {
  if (absl::EndsWith(value, ".textproto") || absl::StrContains(value, "/")) {
    const absl::StatusOr<std::string> text = ReadFile(value);
    if (!text.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(value, ": ", std::string(text.status().message())));
    }
    return ParsePipelineText(*text, value);
  }
  v1::Pipeline pipeline;
  pipeline.set_preset(value);
  return pipeline;
}

absl::Status CheckPreset(const v1::Pipeline& pipeline, const v1::GetServerInfoResponse& server) {
  if (pipeline.preset().empty() || server.presets().empty()) return absl::OkStatus();
  std::vector<std::string> available;
  std::vector<std::string> missing;
  for (const v1::PresetInfo& preset : server.presets()) {
    (preset.available() ? available : missing).push_back(preset.name());
  }
  for (const v1::PresetInfo& preset : server.presets()) {
    if (preset.name() != pipeline.preset()) continue;
    if (preset.available()) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        "preset \"", preset.name(),
        "\" is not available in this version; available are: ", absl::StrJoin(available, ", ")));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no preset is called \"", pipeline.preset(),
      "\"; available are: ", absl::StrJoin(available, ", "),
      missing.empty() ? "" : "; not available in this version: ", absl::StrJoin(missing, ", ")));
}

}  // namespace orbserve::cli
