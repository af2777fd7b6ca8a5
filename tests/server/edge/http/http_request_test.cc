// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/http/http_request.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using State = HttpRequest::State;

TEST(HttpRequestTest, TheFirstLineIsRead) {
  const HttpRequest request =
      ReadHttpRequest("GET /metrics?name=x HTTP/1.1\r\nHost: robot\r\n\r\nrest");
  EXPECT_EQ(request.state, State::kComplete);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/metrics");
  EXPECT_EQ(request.query, "name=x");
  EXPECT_EQ(ReadHttpRequest("GET /a?n=1?2 HTTP/1.1\r\n\r\n").query, "n=1?2");
}

TEST(HttpRequestTest, AProxyMayAskWithTheWholeUrl) {
  EXPECT_EQ(ReadHttpRequest("GET http://robot:9464/healthz HTTP/1.1\r\n\r\n").path, "/healthz");
  EXPECT_EQ(ReadHttpRequest("GET http://robot HTTP/1.1\r\n\r\n").path, "");
}

TEST(HttpRequestTest, EveryPartOfARequestIsIncomplete) {
  const std::string whole = "HEAD /readyz HTTP/1.0\r\nA: b\r\n\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ReadHttpRequest(whole.substr(0, size)).state, State::kIncomplete) << size;
  }
  EXPECT_EQ(ReadHttpRequest(whole).state, State::kComplete);
}

TEST(HttpRequestTest, LinesThatAreNoRequestsAreBad) {
  for (const std::string& line : {std::string(), std::string("GET"), std::string("GET /metrics"),
                                  std::string("GET  HTTP/1.1"), std::string("GET /a b HTTP/1.1"),
                                  std::string("G\"T / HTTP/1.1"), std::string("GET /\x01 HTTP/1.1"),
                                  std::string("GET /\x80 HTTP/1.1"), std::string("GET / http/1.1"),
                                  std::string("\0\0\0\0", 4)}) {
    EXPECT_EQ(ReadHttpRequest(absl::StrCat(line, "\r\n\r\n")).state, State::kBad) << line;
  }
}

TEST(HttpRequestTest, OtherVersionsAreNotSupported) {
  for (const char* version : {"HTTP/2.0", "HTTP/9.9", "HTTP/1", "HTTP/1.11"}) {
    EXPECT_EQ(ReadHttpRequest(absl::StrCat("GET / ", version, "\r\n\r\n")).state,
              State::kVersionUnsupported);
  }
}

TEST(HttpRequestTest, LargeRequestsAreRefusedWholeOrNot) {
  const std::string large(kMaxHttpRequestBytes + 1, 'a');
  EXPECT_EQ(ReadHttpRequest(large).state, State::kTooLarge);
  EXPECT_EQ(ReadHttpRequest(absl::StrCat("GET /", large, " HTTP/1.1\r\n\r\n")).state,
            State::kTooLarge);
}

}  // namespace
}  // namespace orbserve
