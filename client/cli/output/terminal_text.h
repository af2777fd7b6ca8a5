// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_TERMINAL_TEXT_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_TERMINAL_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace orbserve::cli {

// A text that others may have written (servers, file names, files), as it is safe on a terminal and
// in a log: characters that control a terminal or that change the direction of a line, line
// separators other than a newline, and bytes that are not UTF-8 become "\xHH", byte by byte. Lines
// stay lines. A text that has been through this function does not change any more.
//
// Everything that the program prints for people goes through it, in Console and in PrintTable().
std::string TerminalText(absl::string_view text);

// Does the same, and escapes newlines, so that the text stays on one line.
std::string TerminalLine(absl::string_view text);

// Makes every text of `message`, and of the messages in it, a TerminalLine(), for tables.
void EscapeTexts(google::protobuf::Message* message);

// Bytes of the UTF-8 character in front of `text`, which must not be empty; 0 if the bytes are not
// UTF-8. `code`: its number.
size_t Utf8Length(absl::string_view text, uint32_t* code);

// True for a character that TerminalText() escapes, a newline not included.
bool ControlsTerminal(uint32_t code);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_TERMINAL_TEXT_H_
