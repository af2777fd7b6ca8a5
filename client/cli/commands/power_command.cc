// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve power

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/exit_code.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/power_listing.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/power_source.h"

namespace orbserve::cli {
namespace {

// Returns false if the command was asked to stop before.
bool SleepUntil(absl::Time time) {
  constexpr absl::Duration kLook = absl::Milliseconds(100);
  while (!Interrupted()) {
    const absl::Duration left = time - absl::Now();
    if (left <= absl::ZeroDuration()) return true;
    absl::SleepFor(std::min(left, kLook));
  }
  return false;
}

// Moves the cursor back over the lines of `text` and erases them.
std::string EraseLines(const std::string& text) {
  return absl::StrCat("\033[", std::count(text.begin(), text.end(), '\n'), "A\033[J");
}

}  // namespace

int RunPower(const PowerOptions& options) {
  Console console(options.common.quiet);
  CatchInterrupts();
  const absl::StatusOr<std::unique_ptr<PowerSource>> source = PowerSource::Open(options.common);
  if (!source.ok()) return Fail(&console, source.status());
  const absl::Time begin = absl::Now();
  const absl::StatusOr<v1::GetServerInfoResponse> first = (*source)->Read();
  if (!first.ok()) return Fail(&console, first.status());
  const bool redraws = isatty(STDOUT_FILENO) == 1 && !options.common.json && !options.once;
  std::string shown;
  for (absl::Time next = begin + absl::Seconds(options.interval_s); SleepUntil(next);
       next = std::max(next, absl::Now()) + absl::Seconds(options.interval_s)) {
    const absl::StatusOr<v1::GetServerInfoResponse> now = (*source)->Read();
    if (!now.ok()) return Fail(&console, now.status());
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    if (options.common.json) {
      PrintLine(PowerJson(*first, *now, seconds));
    } else {
      const std::string table = PowerTable(*first, *now, seconds);
      if (!shown.empty()) PrintControl(redraws ? EraseLines(shown) : "\n");
      PrintTable(table);
      shown = table;
    }
    if (const absl::Status written = FlushStandardOutput(); !written.ok()) {
      return Fail(&console, written);
    }
    if (options.once) return kExitOk;
  }
  return kExitOk;
}

}  // namespace orbserve::cli
