// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Limits that no key of the configuration sets, since they follow from it.

#ifndef ORBSERVE_SERVER_CONFIG_DERIVED_LIMITS_H_
#define ORBSERVE_SERVER_CONFIG_DERIVED_LIMITS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/config/config.pb.h"

namespace orbserve {

struct DerivedLimits {
  // Parts of limits.memory_bytes; Budgets() says what each is.
  int64_t receive_buffer_bytes = 0;
  int64_t message_bytes = 0;
  int64_t queue_bytes = 0;
  int64_t kept_queue_bytes = 0;
  int64_t input_bytes = 0;
  int64_t plan_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t decoding_bytes = 0;
  int64_t match_queue_bytes = 0;
  int64_t track_queue_bytes = 0;
  int64_t response_bytes = 0;
  int64_t reference_bytes = 0;  // as configured

  int64_t max_pixels = 0;  // as configured; the server has fewer where memory is short

  int references = 0;
  int references_per_client = 0;
  int queue_frames_per_client = 0;
  int connections_per_address = 0;
  int decode_threads = 0;
  double processors = 1;  // that cgroups and affinity leave this process
  std::chrono::milliseconds keepalive_timeout{0};

  // The same for every configuration. Only tests change them.
  std::chrono::milliseconds stream_open_timeout{10'000};
  // Of one stream: frames that are computed, those that wait behind them, and responses that the
  // stream owes or has not sent.
  int stream_frames_in_flight = 8;
  int64_t stream_bytes_in_flight = int64_t{64} << 20;
  int stream_frames_waiting = 4;
  int64_t stream_bytes_waiting = int64_t{64} << 20;
  int64_t stream_response_bytes = int64_t{64} << 20;
};

// A budget of memory.
struct Budget {
  absl::string_view name;
  int per_mille;      // of limits.memory_bytes
  int64_t max_bytes;  // the budget is never larger; INT64_MAX = any
  int count;          // how often it may be used up at a time; 0 = counted in other budgets
  int64_t DerivedLimits::*bytes;
  absl::string_view about;
};

// The default of limits.max_reference_bytes.
int64_t DefaultReferenceBytes(int64_t memory_bytes);

// All but the references, which have a key of their own.
absl::Span<const Budget> Budgets();

// Of a complete and valid configuration.
DerivedLimits Derive(const server::Config& config);

// What all budgets may come to at a time.
int64_t BudgetSum(const DerivedLimits& limits);

// A table for people, one line a limit, each beginning with "# ".
std::string DerivedLimitsText(const server::Config& config, const DerivedLimits& limits);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CONFIG_DERIVED_LIMITS_H_
