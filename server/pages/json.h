// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PAGES_JSON_H_
#define ORBSERVE_SERVER_PAGES_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace orbserve {

inline constexpr char kJsonType[] = "application/json";
// No page of another site may load an answer with this header.
inline constexpr char kOwnSiteHeader[] = "Cross-Origin-Resource-Policy: same-origin\r\n";

// The message as JSON, every field with its name in the .proto file.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_JSON_H_
