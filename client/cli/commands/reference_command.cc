// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve reference put | list | delete

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/output/files/feature_files.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

// Connects to a server. The embedded engine would forget a reference when the command ends.
absl::StatusOr<std::unique_ptr<Engine>> StartWithServer(CommonOptions options) {
  if (options.server.empty()) options.server = kDefaultServer;
  return Engine::Start(options);
}

void AddReference(const v1::ReferenceInfo& info, JsonWriter* json) {
  json->BeginObject().Key("name").String(info.name());
  json->Key("version").UInt(info.version());
  json->Key("features").UInt(info.feature_count());
  json->Key("descriptor_bytes").UInt(info.descriptor_bytes());
  json->Key("descriptor_type")
      .String(
          absl::StripPrefix(v1::DescriptorType_Name(info.descriptor_type()), "DESCRIPTOR_TYPE_"));
  json->Key("bytes").UInt(info.size_bytes()).EndObject();
}

// Fills `request` with the features of an NPZ file, or with an image to extract them from.
absl::Status FillContent(const ReferenceOptions& options, const RequestSetup& setup,
                         const PictureLimits& limits, v1::PutReferenceRequest* request) {
  const absl::StatusOr<std::string> bytes = ReadFile(options.source);
  if (!bytes.ok()) return bytes.status();
  if (absl::StartsWith(absl::string_view(*bytes), "PK")) {
    absl::StatusOr<v1::FeatureSet> features = DecodeFeatures(*bytes);
    if (!features.ok()) return features.status();
    *request->mutable_features() = *std::move(features);
    return absl::OkStatus();
  }
  absl::StatusOr<v1::Frame> frame = LoadMaskedFrame(options.source, setup, limits);
  if (!frame.ok()) return frame.status();
  *request->mutable_frame() = *std::move(frame);
  *request->mutable_pipeline() = setup.pipeline;
  return absl::OkStatus();
}

}  // namespace

int RunReferencePut(const ReferenceOptions& options) {
  Console console(options.common.quiet);
  const absl::StatusOr<RequestSetup> setup = ReadRequestSetup(options.image);
  if (!setup.ok()) return Fail(&console, setup.status());
  const absl::StatusOr<std::unique_ptr<Engine>> engine = StartWithServer(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status accepted = CheckRequestSetup(*setup, engine->get());
  if (!accepted.ok()) return Fail(&console, accepted);
  v1::PutReferenceRequest request;
  request.set_name(options.name);
  absl::Status status = FillContent(options, *setup, (*engine)->picture_limits(), &request);
  if (status.ok()) status = CheckMessageSize(request, (*engine)->info().limits());
  if (!status.ok()) {
    console.Error(absl::StrCat(options.source, ": ", ErrorText(status)));
    return kExitFailed;
  }
  if (request.has_features() && (setup->mask.has_value() || setup->pipeline.ByteSizeLong() > 0)) {
    console.Error(
        absl::StrCat("--pipeline, its options and --mask have no effect: they need an "
                     "image, and ",
                     options.source, " has features"));
    return kExitUsage;
  }
  const absl::StatusOr<v1::PutReferenceResponse> response =
      (*engine)->client()->PutReference(request);
  if (!response.ok()) {
    const std::string reason = client::WireStatusOf(response.status()).reason();
    const bool of_image = reason == "BAD_IMAGE" || reason == "TOO_LARGE" || reason == "UNSUPPORTED";
    console.Error(absl::StrCat(of_image ? absl::StrCat(NameOnOneLine(options.source), ": ") : "",
                               ErrorText(response.status())));
    return ExitCodeOfCall(response.status());
  }
  for (const std::string& name : response->evicted()) {
    console.Note(absl::StrCat("the server removed this reference to make room: ", name));
  }
  const v1::ReferenceInfo& info = response->reference();
  if (options.common.json) {
    JsonWriter json;
    json.BeginObject().Key("reference");
    AddReference(info, &json);
    json.Key("evicted").BeginArray();
    for (const std::string& name : response->evicted()) json.String(name);
    json.EndArray().EndObject();
    PrintLine(json.text());
  } else {
    PrintTable(absl::StrFormat("%s  version %d  %d features  %s\n", info.name(), info.version(),
                               info.feature_count(), BytesText(info.size_bytes())));
  }
  return kExitOk;
}

int RunReferenceList(const ReferenceOptions& options) {
  Console console(options.common.quiet);
  const absl::StatusOr<std::unique_ptr<Engine>> engine = StartWithServer(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::StatusOr<v1::ListReferencesResponse> response = (*engine)->client()->ListReferences();
  if (!response.ok()) return FailCall(&console, response.status());
  if (options.common.json) {
    JsonWriter json;
    json.BeginObject().Key("references").BeginArray();
    for (const v1::ReferenceInfo& info : response->references()) AddReference(info, &json);
    json.EndArray().Key("used_bytes").UInt(response->used_bytes());
    json.Key("capacity_bytes").UInt(response->capacity_bytes()).EndObject();
    PrintLine(json.text());
    return kExitOk;
  }
  size_t width = 4;
  for (const v1::ReferenceInfo& info : response->references()) {
    width = std::max(width, info.name().size());
  }
  const int columns = static_cast<int>(width);
  PrintTable(
      absl::StrFormat("%-*s  %7s  %8s  %10s\n", columns, "name", "version", "features", "size"));
  for (const v1::ReferenceInfo& info : response->references()) {
    PrintTable(absl::StrFormat("%-*s  %7d  %8d  %10s\n", columns, info.name(), info.version(),
                               info.feature_count(), BytesText(info.size_bytes())));
  }
  return kExitOk;
}

int RunReferenceDelete(const ReferenceOptions& options) {
  Console console(options.common.quiet);
  const absl::StatusOr<std::unique_ptr<Engine>> engine = StartWithServer(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  if (const absl::Status status = (*engine)->client()->DeleteReference(options.name);
      !status.ok()) {
    return FailCall(&console, status);
  }
  if (options.common.json) {
    JsonWriter json;
    json.BeginObject().Key("deleted").String(options.name).EndObject();
    PrintLine(json.text());
  }
  return kExitOk;
}

}  // namespace orbserve::cli
