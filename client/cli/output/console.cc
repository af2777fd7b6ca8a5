// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/terminal_text.h"

namespace orbserve::cli {
namespace {

constexpr absl::Duration kBarPeriod = absl::Milliseconds(100);
constexpr absl::Duration kLinePeriod = absl::Seconds(10);
constexpr absl::Duration kTickPeriod = absl::Milliseconds(500);
constexpr size_t kBarCells = 28;
constexpr size_t kFewestBarCells = 8;

bool WantsColours() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || no_color[0] == '\0') &&
         (term == nullptr || absl::string_view(term) != "dumb");
}

// Columns of the terminal that is standard error; 0 if it does not say.
size_t Columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Further lines are indented, so that no text can look like another message.
std::string MessageText(absl::string_view text) {
  return absl::StrReplaceAll(TerminalText(text), {{"\n", "\n  "}});
}

void Print(absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

std::string ClockText(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(absl::ToInt64Seconds(duration), 0);
  if (seconds >= 3600) {
    return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
}

Console::Console(bool quiet)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      colours_(terminal_ && WantsColours()),
      one_terminal_(terminal_ && isatty(STDOUT_FILENO) == 1),
      last_drawn_(absl::Now()) {}

Console::~Console() { EndProgress(); }

void Console::Error(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  Clear();
  const char* prefix = colours_ ? "\033[31morbserve:\033[0m " : "orbserve: ";
  Print(absl::StrCat(prefix, MessageText(text), "\n"));
}

void Console::Note(absl::string_view text) {
  if (quiet_) return;
  absl::MutexLock lock(&mutex_);
  Clear();
  Print(absl::StrCat("orbserve: ", MessageText(text), "\n"));
}

void Console::StartProgress(int64_t total, absl::string_view unit) {
  absl::MutexLock lock(&mutex_);
  active_ = !quiet_ && total > 0;
  unit_ = std::string(unit);
  total_ = total;
  done_ = 0;
  failed_ = 0;
  started_ = absl::Now();
  last_drawn_ = started_;
  if (!active_ || !terminal_ || ticker_.joinable()) return;
  ticker_ = std::thread([this] {
    absl::MutexLock own(&mutex_);
    const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !active_; };
    while (!mutex_.AwaitWithTimeout(absl::Condition(&ended), kTickPeriod)) Draw();
  });
}

void Console::Progress(int64_t done, int64_t failed) {
  absl::MutexLock lock(&mutex_);
  if (!active_) return;
  done_ = done;
  failed_ = failed;
  const absl::Time now = absl::Now();
  if (now - last_drawn_ < (terminal_ ? kBarPeriod : kLinePeriod)) return;
  last_drawn_ = now;
  Draw();
}

void Console::EndProgress() {
  {
    absl::MutexLock lock(&mutex_);
    active_ = false;
  }
  if (ticker_.joinable()) ticker_.join();
  absl::MutexLock lock(&mutex_);
  Clear();
  status_.clear();
}

bool Console::StatusDue() {
  if (quiet_) return false;
  absl::MutexLock lock(&mutex_);
  return absl::Now() - last_drawn_ >= (terminal_ ? kBarPeriod : kLinePeriod);
}

void Console::ShowStatus(absl::string_view text) {
  if (quiet_) return;
  absl::MutexLock lock(&mutex_);
  last_drawn_ = absl::Now();
  if (!terminal_) {
    Print(absl::StrCat("orbserve: ", MessageText(text), "\n"));
    return;
  }
  Clear();
  // A text that wraps would leave its upper lines on the terminal each time.
  const size_t columns = Columns();
  status_ = TerminalLine(columns > 1 ? text.substr(0, columns - 1) : text);
  Print(status_);
  drawn_ = true;
}

void Console::Output(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  const bool redraw = one_terminal_ && drawn_ && !status_.empty();
  if (one_terminal_) Clear();
  PrintTable(text);
  // People and programs follow a stream while it runs.
  std::fflush(stdout);
  if (redraw) {
    Print(status_);
    drawn_ = true;
  }
}

void Console::Clear() {
  if (!drawn_) return;
  Print("\r\033[K");
  drawn_ = false;
}

void Console::Draw() {
  const absl::Duration elapsed = absl::Now() - started_;
  if (!terminal_) {
    const double seconds = absl::ToDoubleSeconds(elapsed);
    const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
    const std::string left =
        rate > 0 ? ClockText(absl::Seconds(static_cast<double>(total_ - done_) / rate)) : "-:--";
    const std::string failures = failed_ > 0 ? absl::StrCat(", ", failed_, " failed") : "";
    Print(absl::StrFormat("orbserve: %d of %d %s, %.1f a second, %s left%s\n", done_, total_, unit_,
                          rate, left, failures));
    return;
  }
  std::string line = ProgressLine(done_, total_, failed_, unit_, elapsed, Columns());
  if (colours_) {
    // The filled cells of the bar.
    const size_t first = line.find('#');
    const size_t last = line.rfind('#');
    if (first != std::string::npos) {
      line.insert(last + 1, "\033[0m");
      line.insert(first, "\033[32m");
    }
  }
  Print(absl::StrCat("\r\033[K", line));
  drawn_ = true;
}

std::string ProgressLine(int64_t done, int64_t total, int64_t failed, absl::string_view unit,
                         absl::Duration elapsed, size_t columns) {
  const double seconds = absl::ToDoubleSeconds(elapsed);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const std::string count = absl::StrCat(done, "/", total);
  const std::string failures = failed > 0 ? absl::StrCat(", ", failed, " failed") : "";
  const std::string time =
      done > 0
          ? absl::StrCat("  ", ClockText(absl::Seconds(static_cast<double>(total - done) / rate)),
                         " left")
          : absl::StrCat("  ", ClockText(elapsed), " so far");
  const std::string speed = done > 0 ? absl::StrFormat("  %.1f/s", rate) : "";
  const std::string named = absl::StrCat(" ", std::string(unit));
  const size_t room = columns > 1 ? columns - 1 : 79;
  const auto bar = [&](size_t cells) {
    const size_t filled = static_cast<size_t>(
        static_cast<double>(cells) * static_cast<double>(done) / static_cast<double>(total));
    return absl::StrCat("[", std::string(filled, '#'), std::string(cells - filled, '.'), "] ");
  };
  for (const std::string& text :
       {absl::StrCat(count, named, speed, time, failures),
        absl::StrCat(count, speed, time, failures), absl::StrCat(count, time, failures),
        absl::StrCat(count, failures)}) {
    const size_t brackets = 3;
    if (text.size() + brackets + kFewestBarCells <= room) {
      return absl::StrCat(bar(std::min(room - text.size() - brackets, kBarCells)), text);
    }
  }
  return count.substr(0, room);
}

}  // namespace orbserve::cli
