// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/log.h"

#include <fcntl.h>
#include <unistd.h>

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

// Standard error as a pipe, until the end of its life.
class PipedStderr {
 public:
  PipedStderr() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    read_end_ = ends[0];
    original_ = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~PipedStderr() {
    dup2(original_, STDERR_FILENO);
    close(original_);
    close(read_end_);
  }
  // Returns what is written until no writer is left, which StopWriting() brings about.
  std::string ReadAll() const {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(read_end_, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }
  void StopWriting() const { dup2(original_, STDERR_FILENO); }

 private:
  int read_end_ = -1;
  int original_ = -1;
};

// One test, because a process sets up its log once.
TEST(LogTest, ALogThatNobodyReadsDelaysNobodyAndCountsWhatIsLost) {
  constexpr int kLines = 20'000;  // the log has room for 8192, the pipe for about a thousand
  std::string text;
  {
    PipedStderr piped;
    ASSERT_TRUE(SetUpLog("debug", LogWriter::kThread).ok());
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
  const absl::Status status = SetUpLog("loud", LogWriter::kCaller);
  EXPECT_THAT(std::string(status.message()), HasSubstr("got \"loud\""));
}

}  // namespace
}  // namespace orbserve
