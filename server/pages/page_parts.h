// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PAGES_PAGE_PARTS_H_
#define ORBSERVE_SERVER_PAGES_PAGE_PARTS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/util/json_util.h"
#include "server/edge/http/http_endpoint.h"

namespace orbserve {

// Files of this folder that the program carries with it.
extern const absl::string_view kClientsHtml;
extern const absl::string_view kLiveHtml;
extern const absl::string_view kLiveCss;
extern const absl::string_view kLiveJs;
extern const absl::string_view kPageJs;
extern const absl::string_view kClientsJs;

inline constexpr char kHtmlType[] = "text/html; charset=utf-8";
// Headers of the pages: they load nothing from elsewhere, send nothing elsewhere, and are in no
// frame.
inline constexpr char kPageHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

// A page of JSON: the message that `make(query)` returns, an absl::StatusOr, every field with its
// name in the .proto file. No page of another site may load it.
template <typename Make>
HttpPage JsonPage(const char* path, Make make) {
  const auto render =
      [make = std::move(make)](absl::string_view query) -> absl::StatusOr<std::string> {
    const auto message = make(query);
    if (!message.ok()) return message.status();
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    options.preserve_proto_field_names = true;
    std::string text;
    const auto status = google::protobuf::util::MessageToJsonString(*message, &text, options);
    if (!status.ok()) return absl::InternalError(status.ToString());
    return text;
  };
  return {path, "application/json", render, "Cross-Origin-Resource-Policy: same-origin\r\n"};
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_PAGE_PARTS_H_
