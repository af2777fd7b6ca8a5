// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_JSON_WRITER_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_JSON_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace orbserve::cli {

// Appends a string literal. Bytes that are not UTF-8 become U+FFFD, because JSON text is UTF-8.
void AppendJsonString(absl::string_view text, std::string* out);

// Appends the shortest decimal that reads back as the same float; null for infinity and NaN.
void AppendFloat(float value, std::string* out);

// Appends lower-case hexadecimal, two digits per byte.
void AppendHex(absl::string_view bytes, std::string* out);

// Builds one line of JSON and sets the commas. The caller alternates keys and values inside an
// object.
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(absl::string_view key);
  JsonWriter& String(absl::string_view value);
  JsonWriter& Hex(absl::string_view bytes);
  JsonWriter& Int(int64_t value);
  JsonWriter& UInt(uint64_t value);
  JsonWriter& Float(float value);
  JsonWriter& Double(double value);  // at most 9 significant digits: times, rates
  JsonWriter& Exact(double value);   // shortest decimal that reads back as the same number
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  const std::string& text() const { return text_; }

 private:
  void BeforeValue();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_JSON_WRITER_H_
