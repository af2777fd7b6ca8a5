// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/log_format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace orbserve {
namespace {

bool ConsumeDigits(absl::string_view& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

// True for what JSON reads as a number, true or false.
bool IsJsonLiteral(absl::string_view text) {
  if (text == "true" || text == "false") return true;
  absl::ConsumePrefix(&text, "-");
  const bool begins_with_zero = absl::StartsWith(text, "0");
  const absl::string_view whole = text;
  if (!ConsumeDigits(text)) return false;
  if (begins_with_zero && whole.size() - text.size() > 1) return false;
  if (absl::ConsumePrefix(&text, ".") && !ConsumeDigits(text)) return false;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
    if (!ConsumeDigits(text)) return false;
  }
  return text.empty();
}

void AppendJsonText(absl::string_view text, std::string& json) {
  json.push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      json.append("\xEF\xBF\xBD");  // U+FFFD
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(&json, "\\u%04x", c);
    } else {
      if (c == '"' || c == '\\') json.push_back('\\');
      json.append(text.data(), bytes);
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  json.push_back('"');
}

void AppendMember(absl::string_view key, absl::string_view value, std::string& json) {
  json.push_back(json.empty() ? '{' : ',');
  AppendJsonText(key, json);
  json.push_back(':');
  AppendJsonText(value, json);
}

// Takes the value of a key from the beginning of `event` and appends it to `json`. False where
// there is none.
bool TakeValue(absl::string_view& event, std::string& json) {
  if (!absl::StartsWith(event, "\"")) {
    const absl::string_view word = event.substr(0, event.find(' '));
    event.remove_prefix(word.size());
    if (IsJsonLiteral(word)) {
      json.append(word.data(), word.size());
    } else {
      AppendJsonText(word, json);
    }
    return true;
  }
  size_t end = 1;
  while (end < event.size() && event[end] != '"') end += event[end] == '\\' ? 2 : 1;
  if (end >= event.size()) return false;
  std::string text;
  if (!absl::CUnescape(event.substr(1, end - 1), &text)) return false;
  event.remove_prefix(end + 1);
  AppendJsonText(text, json);
  return true;
}

// Appends the pairs of `event` to `json`. False where it is no list of pairs.
bool AppendPairs(absl::string_view event, std::string& json) {
  while (!event.empty()) {
    const size_t equals = event.find('=');
    const absl::string_view key = event.substr(0, equals);
    if (equals == absl::string_view::npos || key.empty() ||
        key.find_first_of(" \"") != absl::string_view::npos) {
      return false;
    }
    json.push_back(',');
    AppendJsonText(key, json);
    json.push_back(':');
    event.remove_prefix(equals + 1);
    if (!TakeValue(event, json)) return false;
    if (!event.empty() && !absl::ConsumePrefix(&event, " ")) return false;
  }
  return true;
}

}  // namespace

size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool is_too_large = first == 0xf4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : bytes;
}

std::string LogValue(absl::string_view text) {
  const bool is_word =
      !text.empty() && !IsJsonLiteral(text) && std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '"' && c != '=' &&
               c != '\\';
      });
  if (is_word) return std::string(text);
  return absl::StrCat("\"", absl::CHexEscape(text), "\"");
}

std::string EventAsJson(absl::string_view time, absl::string_view level, absl::string_view event) {
  std::string json;
  AppendMember("time", time, json);
  AppendMember("level", level, json);
  const size_t head = json.size();
  if (!AppendPairs(event, json)) {
    json.resize(head);
    AppendMember("message", event, json);
  }
  json.push_back('}');
  return json;
}

}  // namespace orbserve
