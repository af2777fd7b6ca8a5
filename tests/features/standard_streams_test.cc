// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/standard_streams.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

// Returns what is wrong with the streams of a process that was started without one of them; 0:
// nothing.
int FaultsWithout(int stream) {
  close(stream);
  ReserveStandardStreams();
  char byte = 'x';
  const int next = open("/dev/null", O_RDWR);
  if (next <= STDERR_FILENO) return 1;
  if (stream == STDIN_FILENO) return read(stream, &byte, 1) == -1 ? 0 : 2;
  return write(stream, &byte, 1) == -1 ? 0 : 3;
}

TEST(StandardStreamsTest, WhatIsOpenedLaterTakesNoneOfThem) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(FaultsWithout(stream));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << stream;
  }
}

}  // namespace
}  // namespace orbserve
