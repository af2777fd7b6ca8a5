// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/peers/turns.h"

#include <chrono>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "bench/frame_latency.h"
#include "features/errors.h"

namespace orbserve::bench {

absl::Status Turns::Time(const std::string& what, const std::vector<Contender>& contenders) {
  std::vector<std::vector<double>> samples(contenders.size());
  std::vector<size_t> found(contenders.size());
  const int untimed = runs_ / 10 + 3;
  for (int round = 0; round < untimed + runs_; ++round) {
    for (size_t turn = 0; turn < contenders.size(); ++turn) {
      const size_t i = (turn + static_cast<size_t>(round)) % contenders.size();
      if (contenders[i].prepare) ORBSERVE_RETURN_IF_ERROR(contenders[i].prepare());
      const auto begin = std::chrono::steady_clock::now();
      ORBSERVE_ASSIGN_OR_RETURN(found[i], contenders[i].call());
      const double microseconds = MicrosecondsSince(begin);
      if (round >= untimed) samples[i].push_back(microseconds);
    }
  }
  for (size_t i = 0; i < contenders.size(); ++i) {
    Row(
        absl::StrFormat("%s, \"code\": \"%s\", \"found\": %d, \"runs\": %d, \"median_us\": %.2f, "
                        "\"p10_us\": %.2f, \"p90_us\": %.2f",
                        what, contenders[i].code, found[i], runs_, Percentile(samples[i], 0.5),
                        Percentile(samples[i], 0.1), Percentile(samples[i], 0.9)));
  }
  return absl::OkStatus();
}

void Turns::Row(const std::string& members) {
  std::printf("{%s}\n", members.c_str());
  std::fflush(stdout);
  rows_.Append("{" + members + "}");
}

}  // namespace orbserve::bench
