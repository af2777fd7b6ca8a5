// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The two forms of a line of the log. An event is "event=name key=value ..."; values that are not
// one word are quoted by LogValue().
//
//   text   2026-01-31T12:00:00.000+00:00 info event=serving port=50051 listen=127.0.0.1:50051
//   json   {"time":"2026-01-31T12:00:00.000+00:00","level":"info","event":"serving","port":50051,
//          "listen":"127.0.0.1:50051"}

#ifndef ORBSERVE_SERVER_PROCESS_LOG_FORMAT_H_
#define ORBSERVE_SERVER_PROCESS_LOG_FORMAT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace orbserve {

enum class LogFormat { kText, kJson };

// `text` as the value of a key: quoted where it is not one word, on one line, or where it reads as
// a number, true or false. Only numbers and truth values of the program stand without quotes.
std::string LogValue(absl::string_view text);

// Bytes of the first character of `text`, which is not empty; 0 where it is not valid UTF-8.
size_t CharacterBytes(absl::string_view text);

// The event as an object of JSON, without a line break. What is no list of key=value becomes the
// value of "message".
std::string EventAsJson(absl::string_view time, absl::string_view level, absl::string_view event);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_LOG_FORMAT_H_
