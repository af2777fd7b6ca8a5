// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/http/http_request.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace orbserve {
namespace {

// RFC 9110, section 5.6.2.
bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("!#$%&'*+-.^_`|~").find(c) != absl::string_view::npos;
}

bool IsTargetCharacter(char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); }

}  // namespace

HttpRequest ReadHttpRequest(absl::string_view bytes) {
  using State = HttpRequest::State;
  const size_t end = bytes.find("\r\n\r\n");
  if (end == absl::string_view::npos) {
    return {.state = bytes.size() > kMaxHttpRequestBytes ? State::kTooLarge : State::kIncomplete};
  }
  if (end > kMaxHttpRequestBytes) return {.state = State::kTooLarge};
  const absl::string_view line = bytes.substr(0, bytes.find("\r\n"));
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  if (parts.size() != 3) return {.state = State::kBad};
  absl::string_view target = parts[1];
  if (parts[0].empty() || !std::all_of(parts[0].begin(), parts[0].end(), IsTokenCharacter) ||
      target.empty() || !std::all_of(target.begin(), target.end(), IsTargetCharacter) ||
      !absl::StartsWith(parts[2], "HTTP/")) {
    return {.state = State::kBad};
  }
  if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0") {
    return {.state = State::kVersionUnsupported};
  }
  // A proxy is asked with the whole URL.
  if (absl::ConsumePrefix(&target, "http://")) {
    target.remove_prefix(std::min(target.find('/'), target.size()));
  }
  HttpRequest request;
  request.state = State::kComplete;
  request.method = std::string(parts[0]);
  const size_t mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  if (mark != absl::string_view::npos) request.query = std::string(target.substr(mark + 1));
  return request;
}

}  // namespace orbserve
