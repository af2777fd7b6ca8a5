// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/busy_time.h"

#include <algorithm>

namespace orbserve {

std::chrono::nanoseconds BusyTime::Add(TimePoint begin, TimePoint end) {
  begin = std::max(begin, horizon_);
  if (begin >= end) return std::chrono::nanoseconds(0);
  std::chrono::nanoseconds added = end - begin;
  Stretch merged{begin, end};
  // Those that touch the interval stand together.
  auto first = std::find_if(covered_.begin(), covered_.end(),
                            [&](const Stretch& stretch) { return stretch.end >= begin; });
  auto last = first;
  for (; last != covered_.end() && last->begin <= end; ++last) {
    added -= std::min(last->end, end) - std::max(last->begin, begin);
    merged.begin = std::min(merged.begin, last->begin);
    merged.end = std::max(merged.end, last->end);
  }
  covered_.insert(covered_.erase(first, last), merged);
  if (covered_.size() > kMaxStretches) {
    horizon_ = covered_.front().end;
    covered_.erase(covered_.begin());
  }
  return added;
}

}  // namespace orbserve
