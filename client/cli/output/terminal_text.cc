// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/terminal_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace orbserve::cli {
namespace {

std::string Escaped(absl::string_view text, bool keep_newlines) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t length = Utf8Length(text, &code);
    const bool is_kept = length > 0 && (!ControlsTerminal(code) || (code == '\n' && keep_newlines));
    const absl::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (is_kept) {
      safe.append(character.data(), character.size());
    } else if (length == 1 && code == '\n') {
      safe += "\\n";
    } else {
      for (const char c : character) {
        absl::StrAppend(&safe, "\\x", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
      }
    }
    text.remove_prefix(character.size());
  }
  return safe;
}

}  // namespace

size_t Utf8Length(absl::string_view text, uint32_t* code) {
  const auto first = static_cast<uint8_t>(text[0]);
  *code = first;
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  *code = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80) return 0;
    *code = *code << 6 | (next & 0x3F);
  }
  // Overlong forms, surrogates and codes beyond Unicode are not UTF-8.
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (*code < kLeast[length] || (*code >= 0xD800 && *code < 0xE000) || *code > 0x10FFFF) return 0;
  return length;
}

bool ControlsTerminal(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||  // C0, DEL, C1
         code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) ||  // separators of lines, direction of text
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string TerminalText(absl::string_view text) { return Escaped(text, /*keep_newlines=*/true); }

std::string TerminalLine(absl::string_view text) { return Escaped(text, /*keep_newlines=*/false); }

void EscapeTexts(google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!is_text && field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (is_text) {
        reflection.SetString(message, field, TerminalLine(reflection.GetString(*message, field)));
      } else {
        EscapeTexts(reflection.MutableMessage(message, field));
      }
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      if (is_text) {
        reflection.SetRepeatedString(
            message, field, i, TerminalLine(reflection.GetRepeatedString(*message, field, i)));
      } else {
        EscapeTexts(reflection.MutableRepeatedMessage(message, field, i));
      }
    }
  }
}

}  // namespace orbserve::cli
