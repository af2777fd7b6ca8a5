// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/cli/output/terminal_text.h"

namespace orbserve::cli {

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
      text.remove_prefix(1);
      continue;
    }
    uint32_t code = 0;
    const size_t length = Utf8Length(text, &code);
    if (length == 0) {
      out->append("\xEF\xBF\xBD");
      text.remove_prefix(1);
      continue;
    }
    if (ControlsTerminal(code)) {  // none has more than four digits
      char escape[16];
      std::snprintf(escape, sizeof(escape), "\\u%04x", code);
      out->append(escape);
    } else {
      out->append(text.data(), length);
    }
    text.remove_prefix(length);
  }
  out->push_back('"');
}

void AppendFloat(float value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  out->append(digits, result.ptr);
}

void AppendHex(absl::string_view bytes, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    out->push_back(kDigits[byte >> 4]);
    out->push_back(kDigits[byte & 15]);
  }
}

void JsonWriter::BeforeValue() {
  if (needs_comma_) text_.push_back(',');
  needs_comma_ = true;
}

JsonWriter& JsonWriter::BeginObject() {
  BeforeValue();
  text_.push_back('{');
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  text_.push_back('}');
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  BeforeValue();
  text_.push_back('[');
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  text_.push_back(']');
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  BeforeValue();
  AppendJsonString(key, &text_);
  text_.push_back(':');
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  BeforeValue();
  AppendJsonString(value, &text_);
  return *this;
}

JsonWriter& JsonWriter::Hex(absl::string_view bytes) {
  BeforeValue();
  text_.push_back('"');
  AppendHex(bytes, &text_);
  text_.push_back('"');
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) {
  BeforeValue();
  absl::StrAppend(&text_, value);
  return *this;
}

JsonWriter& JsonWriter::UInt(uint64_t value) {
  BeforeValue();
  absl::StrAppend(&text_, value);
  return *this;
}

JsonWriter& JsonWriter::Float(float value) {
  BeforeValue();
  AppendFloat(value, &text_);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  BeforeValue();
  if (!std::isfinite(value)) {
    text_.append("null");
    return *this;
  }
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.9g", value);
  text_.append(digits);
  return *this;
}

JsonWriter& JsonWriter::Exact(double value) {
  BeforeValue();
  if (!std::isfinite(value)) {
    text_.append("null");
    return *this;
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  text_.append(digits, result.ptr);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  text_.append(value ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  text_.append("null");
  return *this;
}

}  // namespace orbserve::cli
