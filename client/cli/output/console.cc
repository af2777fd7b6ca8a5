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
#include "absl/time/clock.h"
#include "client/cli/output/standard_output.h"

namespace orbserve::cli {
namespace {

constexpr absl::Duration kBarPeriod = absl::Milliseconds(100);
constexpr absl::Duration kLinePeriod = absl::Seconds(10);
constexpr int kBarCells = 28;

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
  Print(absl::StrCat(prefix, std::string(text), "\n"));
}

void Console::Note(absl::string_view text) {
  if (quiet_) return;
  absl::MutexLock lock(&mutex_);
  Clear();
  Print(absl::StrCat("orbserve: ", std::string(text), "\n"));
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
  absl::MutexLock lock(&mutex_);
  Clear();
  active_ = false;
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
    Print(absl::StrCat("orbserve: ", std::string(text), "\n"));
    return;
  }
  Clear();
  // A text that wraps would leave its upper lines on the terminal each time.
  const size_t columns = Columns();
  status_ = std::string(columns > 1 ? text.substr(0, columns - 1) : text);
  Print(status_);
  drawn_ = true;
}

void Console::Output(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  const bool redraw = one_terminal_ && drawn_ && !status_.empty();
  if (one_terminal_) Clear();
  PrintText(text);
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
  const double seconds = absl::ToDoubleSeconds(absl::Now() - started_);
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const std::string left =
      rate > 0 ? ClockText(absl::Seconds(static_cast<double>(total_ - done_) / rate)) : "-:--";
  const std::string failures = failed_ > 0 ? absl::StrCat(", ", failed_, " failed") : "";
  if (!terminal_) {
    Print(absl::StrFormat("orbserve: %d of %d %s, %.1f a second, %s left%s\n", done_, total_, unit_,
                          rate, left, failures));
    return;
  }
  const int filled = static_cast<int>(kBarCells * done_ / total_);
  std::string bar(static_cast<size_t>(filled), '#');
  if (colours_) bar = absl::StrCat("\033[32m", bar, "\033[0m");
  bar.append(static_cast<size_t>(kBarCells - filled), '.');
  Print(absl::StrFormat("\r\033[K[%s] %d/%d %s  %.1f/s  %s left%s", bar, done_, total_, unit_, rate,
                        left, failures));
  drawn_ = true;
}

}  // namespace orbserve::cli
