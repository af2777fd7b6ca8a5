// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/terminal_text.h"

#include <string>

#include "gtest/gtest.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {
namespace {

TEST(TerminalTextTest, LettersOfAllLanguagesAndLinesStay) {
  const std::string text = "caf\xC3\xA9 \xE6\xBC\xA2 \xF0\x9F\xA4\x96 a\\b\n  c";
  EXPECT_EQ(TerminalText(text), text);
  EXPECT_EQ(TerminalLine("a\nb"), "a\\nb");
}

TEST(TerminalTextTest, WhatATerminalActsOnIsEscaped) {
  EXPECT_EQ(TerminalText("\033[2J\r\a\x7f\t"), "\\x1b[2J\\x0d\\x07\\x7f\\x09");
  EXPECT_EQ(TerminalText("\xC2\x9B"
                         "31m"),
            "\\xc2\\x9b31m");  // CSI of C1
  EXPECT_EQ(TerminalText("a\xE2\x80\xAE"
                         "b"),
            "a\\xe2\\x80\\xae"
            "b");  // right to left
  EXPECT_EQ(TerminalText("a\xE2\x80\xA8"
                         "b"),
            "a\\xe2\\x80\\xa8"
            "b");  // line separator
  EXPECT_EQ(TerminalText("\x9B"
                         "31m \xC3"),
            "\\x9b31m \\xc3");  // no UTF-8
  EXPECT_EQ(TerminalText(std::string("a\0b", 3)), "a\\x00b");
}

TEST(TerminalTextTest, AnEscapedTextDoesNotChangeAnyMore) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const std::string once = TerminalText(all);
  EXPECT_EQ(TerminalText(once), once);
  EXPECT_EQ(TerminalLine(TerminalLine(all)), TerminalLine(all));
}

TEST(TerminalTextTest, TextsOfAMessageAreEscapedAtEveryDepth) {
  v1::GetServerInfoResponse info;
  info.set_version("\033c");
  info.add_backends("a\nb");
  info.add_devices()->add_throttled(std::string(1, '\r'));
  info.mutable_limits()->set_max_batch(4);
  EscapeTexts(&info);
  EXPECT_EQ(info.version(), "\\x1bc");
  EXPECT_EQ(info.backends(0), "a\\nb");
  EXPECT_EQ(info.devices(0).throttled(0), "\\x0d");
  EXPECT_EQ(info.limits().max_batch(), 4u);
}

}  // namespace
}  // namespace orbserve::cli
