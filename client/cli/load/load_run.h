// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Puts a load on a server and measures its answers.

#ifndef ORBSERVE_CLIENT_CLI_LOAD_LOAD_RUN_H_
#define ORBSERVE_CLIENT_CLI_LOAD_LOAD_RUN_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/load/arrivals.h"
#include "client/cli/load/load_result.h"
#include "orbserve/client.h"

namespace orbserve::cli {

// Says when frames start.
struct LoadShape {
  // Closed loop: so many callers, each of which sends its next frame when the last one is answered.
  // It hides queueing: a slow server gets fewer frames.
  int concurrency = 0;
  // Open loop: frames start at their own times, whether the server keeps up or not. 0 = closed.
  double rate = 0;
  ArrivalKind arrivals = ArrivalKind::kPoisson;

  bool closed() const { return rate <= 0; }
};

struct LoadSetup {
  std::vector<client::Client*> clients;      // connections, which take turns
  std::vector<v1::ExtractRequest> requests;  // frames with their pipelines, which take turns
  // 0 = a call for each frame. Open loop: so many streams share the rate. Closed loop: any number
  // above 0 means one stream for each caller.
  int streams = 0;
  absl::Duration warm_up;
  absl::Duration duration;
  // CPU seconds of the server's process so far; absent if unknown. May be empty.
  std::function<std::optional<double>()> server_cpu;
};

// Runs one load to its end: frames that are under way when the time is up are waited for, for 30
// seconds at most. Errors: a stream cannot be opened. CANCELLED: the command was interrupted.
absl::StatusOr<LoadResult> RunLoad(const LoadSetup& setup, const LoadShape& shape);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_LOAD_LOAD_RUN_H_
