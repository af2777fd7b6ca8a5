// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/wire_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {
namespace {

// Sets that are sent may be of the kind SIFT, which no pipeline computes.
bool IsChoice(const google::protobuf::EnumValueDescriptor& value) {
  return value.number() != 0 && (value.type() != v1::DescriptorType_descriptor() ||
                                 value.number() != v1::DESCRIPTOR_TYPE_SIFT);
}

}  // namespace

absl::string_view ShortName(const google::protobuf::EnumValueDescriptor& value) {
  // Every enum of the contract begins with PREFIX_UNSPECIFIED = 0.
  absl::string_view prefix = value.type()->value(0)->name();
  absl::ConsumeSuffix(&prefix, "UNSPECIFIED");
  return absl::StripPrefix(value.name(), prefix);
}

std::vector<std::string> ShortNames(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (IsChoice(*type.value(i))) names.emplace_back(ShortName(*type.value(i)));
  }
  return names;
}

const google::protobuf::EnumValueDescriptor* FindShortName(
    const google::protobuf::EnumDescriptor& type, absl::string_view name) {
  const std::string wanted = absl::StrReplaceAll(absl::AsciiStrToUpper(name), {{"-", "_"}});
  for (int i = 0; i < type.value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* const value = type.value(i);
    if (IsChoice(*value) && ShortName(*value) == wanted) return value;
  }
  return nullptr;
}

}  // namespace orbserve::cli
