// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_WIRE_NAMES_H_
#define ORBSERVE_CLIENT_CLI_WIRE_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace orbserve::cli {

// Name of an enumerator of the wire contract as people see it: "FAST" for DETECTOR_FAST.
absl::string_view ShortName(const google::protobuf::EnumValueDescriptor& value);

// Short names of every enumerator that names a choice, in their order: all but *_UNSPECIFIED.
std::vector<std::string> ShortNames(const google::protobuf::EnumDescriptor& type);

// The enumerator that has this short name, in any case and with '-' or '_'; null if there is none.
const google::protobuf::EnumValueDescriptor* FindShortName(
    const google::protobuf::EnumDescriptor& type, absl::string_view name);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_WIRE_NAMES_H_
