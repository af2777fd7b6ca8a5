// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Standard error goes elsewhere, until the end of its life.
class RedirectedStderr {
 public:
  // Takes the descriptor.
  explicit RedirectedStderr(int target) {
    EXPECT_GE(target, 0);
    dup2(target, STDERR_FILENO);
    close(target);
  }
  ~RedirectedStderr() {
    Restore();
    close(original_);
  }
  void Restore() const { dup2(original_, STDERR_FILENO); }

 private:
  const int original_ = dup(STDERR_FILENO);
};

// Standard error as a pipe, until the end of its life.
class PipedStderr {
 public:
  PipedStderr() : PipedStderr(MakePipe()) {}
  ~PipedStderr() { close(read_end_); }
  // Returns what is written until no writer is left, which StopWriting() brings about.
  std::string ReadAll() const {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(read_end_, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }
  void StopWriting() const { stderr_.Restore(); }

 private:
  static std::array<int, 2> MakePipe() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(pipe(ends.data()), 0);
    return ends;
  }
  explicit PipedStderr(std::array<int, 2> ends) : read_end_(ends[0]), stderr_(ends[1]) {}

  const int read_end_;
  const RedirectedStderr stderr_;
};

// What `log` writes to the log, in the form of `format`.
template <typename Log>
std::string Logged(LogFormat format, const Log& log) {
  const PipedStderr piped;
  EXPECT_TRUE(SetUpLog({.format = format, .writer = LogWriter::kThread}).ok());
  log();
  EXPECT_TRUE(FlushLog(seconds(10)));
  piped.StopWriting();
  return piped.ReadAll();
}

TEST(LogTest, ALogThatNobodyReadsDelaysNobodyAndCountsWhatIsLost) {
  constexpr int kLines = 20'000;  // the log has room for 8192, the pipe for about a thousand
  std::string text;
  {
    PipedStderr piped;
    ASSERT_TRUE(SetUpLog({.level = "debug", .writer = LogWriter::kThread}).ok());
    spdlog::debug("event=first");
    EXPECT_TRUE(FlushLog(seconds(10)));
    EXPECT_EQ(LostLogLines(), 0);
    for (int i = 0; i < kLines; ++i) {
      spdlog::debug("event=line number={} filler={}", i, std::string(50, 'x'));
    }
    EXPECT_FALSE(FlushLog(milliseconds(50)));
    EXPECT_GT(LostLogLines(), kLines / 4);
    EXPECT_LT(LostLogLines(), kLines);

    std::thread reader([&] { text = piped.ReadAll(); });
    EXPECT_TRUE(FlushLog(seconds(10)));
    piped.StopWriting();
    reader.join();
  }
  EXPECT_THAT(text, HasSubstr("debug event=first\n"));
  // The latest lines survive.
  EXPECT_THAT(text, HasSubstr("event=line number=19999 filler="));
}

TEST(LogTest, AnUnknownLevelIsRefused) {
  const absl::Status status = SetUpLog({.level = "loud"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("got \"loud\""));
}

TEST(LogTest, LinesThatADiskDoesNotTakeAreCounted) {
  const RedirectedStderr full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(SetUpLog({.writer = LogWriter::kThread}).ok());
  for (int i = 0; i < 3; ++i) spdlog::info("event=line");
  EXPECT_TRUE(FlushLog(seconds(10)));
  EXPECT_EQ(LostLogLines(), 3);
}

TEST(LogTest, HasLinesOfJson) {
  const std::string text = Logged(LogFormat::kJson, [] {
    spdlog::warn("event=line number={} name={}", 7, LogValue("a \"b\""));
    WriteFatal(LogFormat::kJson, 1, "port taken");
  });
  EXPECT_THAT(text,
              MatchesRegex("\\{\"time\":\"[0-9T:.+-]+\",\"level\":\"warning\",\"event\":\"line\","
                           "\"number\":7,\"name\":\"a \\\\\"b\\\\\"\"\\}\n"
                           "\\{\"time\":\"[0-9T:.+-]+\",\"level\":\"critical\",\"event\":"
                           "\"fatal\",\"exit_code\":1,\"message\":\"port taken\"\\}\n"));
}

TEST(LogTest, TellsMoreOrLessFromTraceToError) {
  const std::string text = Logged(LogFormat::kText, [] {
    for (int i = 0; i < 3; ++i) StepLogLevel(/*more=*/true);
    spdlog::trace("event=details");
    for (int i = 0; i < 6; ++i) StepLogLevel(/*more=*/false);
    spdlog::warn("event=silence");
    spdlog::error("event=fault");
  });
  const auto position = [&](const char* part) {
    EXPECT_THAT(text, HasSubstr(part));
    return text.find(part);
  };
  EXPECT_LT(position("info event=log_level_changed to=debug\n"),
            position("info event=log_level_changed to=trace\n"));
  EXPECT_LT(position("trace event=details\n"),
            position("warning event=log_level_changed to=warning\n"));
  EXPECT_LT(position("error event=log_level_changed to=error\n"), position("error event=fault\n"));
  EXPECT_THAT(text, Not(HasSubstr("silence")));
}

}  // namespace
}  // namespace orbserve
