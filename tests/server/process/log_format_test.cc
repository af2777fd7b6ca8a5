// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/log_format.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

// The members of an event's object behind its time and level.
std::string MembersOf(const std::string& event) {
  const std::string json = EventAsJson("now", "info", event);
  const std::string head = R"({"time":"now","level":"info",)";
  EXPECT_EQ(json.substr(0, head.size()), head);
  return json.substr(head.size(), json.size() - head.size() - 1);
}

TEST(LogFormatTest, NumbersAndTruthValuesOfTheProgramStayWhatTheyAre) {
  EXPECT_EQ(MembersOf("event=a n=7 x=-0.5 e=1e-05 done=true version=0.1.0 octal=007 none=nan"),
            R"("event":"a","n":7,"x":-0.5,"e":1e-05,"done":true,"version":"0.1.0","octal":"007",)"
            R"("none":"nan")");
}

TEST(LogFormatTest, ValuesOfOthersAreTextsWhateverTheyReadAs) {
  for (const char* text : {"robot-7", "7", "-1.5e3", "true", "", "two words", "a=b", "\"quoted\"",
                           "back\\slash", "käfer"}) {
    const std::string event = absl::StrCat("event=a client=", LogValue(text), " n=1");
    std::string expected;
    for (const char c : std::string(text)) {
      if (c == '"' || c == '\\') expected.push_back('\\');
      expected.push_back(c);
    }
    EXPECT_EQ(MembersOf(event), absl::StrCat(R"("event":"a","client":")", expected, R"(","n":1)"));
  }
  EXPECT_EQ(LogValue("7"), "\"7\"");
  EXPECT_EQ(LogValue("robot-7"), "robot-7");
}

TEST(LogFormatTest, LineBreaksAndBytesThatAreNoTextAreEscaped) {
  EXPECT_EQ(MembersOf(absl::StrCat("event=a message=", LogValue("one\ntwo\x1b\xff\xc3"))),
            "\"event\":\"a\",\"message\":\"one\\u000atwo\\u001b\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(LogFormatTest, WhatIsNoListOfPairsIsAMessage) {
  for (const char* text : {"words without keys", "event=a loose", "event=a text=\"open", "=b"}) {
    std::string expected;
    for (const char c : std::string(text))
      absl::StrAppend(&expected, c == '"' ? "\\\"" : std::string(1, c));
    EXPECT_EQ(MembersOf(text), absl::StrCat(R"("message":")", expected, "\""));
  }
}

}  // namespace
}  // namespace orbserve
