// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Messages and progress on standard error.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_CONSOLE_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_CONSOLE_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace orbserve::cli {

// All texts are printed as TerminalText(). Thread-safe.
class Console {
 public:
  // `quiet`: errors only. The progress bar is shown if standard error is a terminal. Colours are
  // used there unless NO_COLOR is set or TERM is "dumb".
  explicit Console(bool quiet);
  ~Console();

  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool quiet() const { return quiet_; }

  // Prints "orbserve: `text`".
  void Error(absl::string_view text);
  // Prints "orbserve: `text`" unless quiet.
  void Note(absl::string_view text);

  // Begins to show progress towards `total` of `unit` ("images"): a bar with rate and time left on
  // a terminal, which moves before the first has ended; a plain line every ten seconds elsewhere.
  void StartProgress(int64_t total, absl::string_view unit);
  // Reports that `done` of the total have ended, `failed` of them with an error.
  void Progress(int64_t done, int64_t failed);
  // Removes the bar, or the status.
  void EndProgress();

  // True if it is time for another ShowStatus(): ten times a second on a terminal, every ten
  // seconds elsewhere, never if quiet.
  bool StatusDue();
  // Shows `text` as the last line of a terminal, in place of the one before, cut to its width;
  // elsewhere prints it as a line.
  void ShowStatus(absl::string_view text);

  // Writes `text` to standard output, which may be the terminal that has the status: the status
  // moves below the text.
  void Output(absl::string_view text);

 private:
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool quiet_;
  const bool terminal_;
  const bool colours_;
  const bool one_terminal_;  // standard output is a terminal, too
  absl::Mutex mutex_;
  bool active_ ABSL_GUARDED_BY(mutex_) = false;
  bool drawn_ ABSL_GUARDED_BY(mutex_) = false;
  std::string unit_ ABSL_GUARDED_BY(mutex_);
  int64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time started_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_drawn_ ABSL_GUARDED_BY(mutex_);
  std::thread ticker_;  // redraws the bar of a terminal; runs from StartProgress() to EndProgress()
  std::string status_ ABSL_GUARDED_BY(mutex_);
};

// The bar of a terminal that is `columns` wide; 0 = unknown. The line has fewer characters, and
// what matters least is left out first: the unit, the rate, the bar itself. `elapsed`: since the
// start; shown until something is done.
std::string ProgressLine(int64_t done, int64_t total, int64_t failed, absl::string_view unit,
                         absl::Duration elapsed, size_t columns);

// Duration as "0:07", "12:40" or "3:05:00".
std::string ClockText(absl::Duration duration);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_CONSOLE_H_
