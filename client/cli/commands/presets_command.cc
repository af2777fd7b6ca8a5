// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve presets

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/engine.h"
#include "client/cli/exit_code.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/wire_names.h"

namespace orbserve::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Adds every field of a pipeline or of a part of it, with the names of the wire contract. The
// server fills in all of them.
void AddOptions(const Message& message, JsonWriter* json) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  json->BeginObject();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    json->Key(field->name());
    if (field->is_repeated()) {  // of double
      json->BeginArray();
      for (int j = 0; j < reflection.FieldSize(message, field); ++j) {
        json->Exact(reflection.GetRepeatedDouble(message, field, j));
      }
      json->EndArray();
      continue;
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        AddOptions(reflection.GetMessage(message, field), json);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        json->String(ShortName(*reflection.GetEnum(message, field)));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        json->UInt(reflection.GetUInt32(message, field));
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        json->Int(reflection.GetInt32(message, field));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        json->Exact(reflection.GetDouble(message, field));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        json->Float(reflection.GetFloat(message, field));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        json->Bool(reflection.GetBool(message, field));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        json->String(reflection.GetString(message, field));
        break;
      default:
        json->Null();
    }
  }
  json->EndObject();
}

void PrintJson(const v1::GetServerInfoResponse& info) {
  JsonWriter json;
  json.BeginObject().Key("presets").BeginArray();
  for (const v1::PresetInfo& preset : info.presets()) {
    json.BeginObject().Key("name").String(preset.name());
    json.Key("available").Bool(preset.available());
    json.Key("description").String(preset.description());
    if (preset.has_pipeline()) {
      json.Key("pipeline");
      AddOptions(preset.pipeline(), &json);
    }
    json.EndObject();
  }
  json.EndArray().EndObject();
  PrintLine(json.text());
}

std::string EnumCell(const Message& message, const char* field) {
  return std::string(ShortName(
      *message.GetReflection()->GetEnum(message, message.GetDescriptor()->FindFieldByName(field))));
}

void PrintPresets(v1::GetServerInfoResponse info) {
  EscapeTexts(&info);
  size_t width = 6;
  for (const v1::PresetInfo& preset : info.presets()) width = std::max(width, preset.name().size());
  const int columns = static_cast<int>(width);
  PrintTable(absl::StrFormat("%-*s  %8s  %-10s  %-10s  %s\n", columns, "preset", "features",
                             "detector", "descriptor", "for"));
  for (const v1::PresetInfo& preset : info.presets()) {
    if (!preset.has_pipeline()) {
      PrintTable(absl::StrFormat("%-*s  %8s  %-10s  %-10s  %s%s\n", columns, preset.name(), "-",
                                 "-", "-", preset.description(),
                                 preset.available() ? "" : " (not available)"));
      continue;
    }
    const v1::Pipeline& pipeline = preset.pipeline();
    PrintTable(
        absl::StrFormat("%-*s  %8d  %-10s  %-10s  %s\n", columns, preset.name(),
                        pipeline.select().max_features(), EnumCell(pipeline.detect(), "detector"),
                        EnumCell(pipeline.describe(), "descriptor_type"), preset.description()));
  }
}

}  // namespace

int RunPresets(const CommonOptions& options) {
  Console console(options.quiet);
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options);
  if (!engine.ok()) return Fail(&console, engine.status());
  options.json ? PrintJson((*engine)->info()) : PrintPresets((*engine)->info());
  return kExitOk;
}

}  // namespace orbserve::cli
