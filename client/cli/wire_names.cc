// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/wire_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace orbserve::cli {

absl::string_view ShortName(const google::protobuf::EnumValueDescriptor& value) {
  // Every enum of the contract begins with PREFIX_UNSPECIFIED = 0.
  absl::string_view prefix = value.type()->value(0)->name();
  absl::ConsumeSuffix(&prefix, "UNSPECIFIED");
  return absl::StripPrefix(value.name(), prefix);
}

std::vector<std::string> ShortNames(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.emplace_back(ShortName(*type.value(i)));
  }
  return names;
}

const google::protobuf::EnumValueDescriptor* FindShortName(
    const google::protobuf::EnumDescriptor& type, absl::string_view name) {
  const std::string wanted = absl::StrReplaceAll(absl::AsciiStrToUpper(name), {{"-", "_"}});
  for (int i = 0; i < type.value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor* const value = type.value(i);
    if (value->number() != 0 && ShortName(*value) == wanted) return value;
  }
  return nullptr;
}

}  // namespace orbserve::cli
