// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/close_count.h"

#include <utility>

#include "server/edge/coarse_clock.h"
#include "server/process/log.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

constexpr int kLinesPerSecond = 5;  // of the log

}  // namespace

CloseReason CloseReasonOf(Http2Violation violation) {
  switch (violation) {
    case Http2Violation::kNone:
      return CloseReason::kEnded;
    case Http2Violation::kHeaderBlock:
      return CloseReason::kHeaderBlock;
    case Http2Violation::kResets:
      return CloseReason::kResets;
    case Http2Violation::kFrames:
      return CloseReason::kFrames;
    case Http2Violation::kMalformed:
      return CloseReason::kMalformed;
    case Http2Violation::kUnfinished:
      return CloseReason::kUnfinished;
    case Http2Violation::kUnproven:
      return CloseReason::kUnproven;
    case Http2Violation::kPings:
      return CloseReason::kPings;
    case Http2Violation::kUnacknowledged:
      return CloseReason::kUnacknowledged;
  }
  return CloseReason::kEnded;
}

void CloseCount::Add(CloseReason reason, const std::string& address, int connections) {
  ++of_reasons_[static_cast<size_t>(reason)];
  if (reason == CloseReason::kEnded || reason == CloseReason::kStopped) return;
  const int64_t second = CoarseNowMs() / 1000;
  if (second != log_second_) {
    log_second_ = second;
    log_lines_ = 0;
  }
  if (log_lines_ >= kLinesPerSecond) {
    ++lines_left_out_;
    return;
  }
  ++log_lines_;
  spdlog::warn("event=connection_closed reason={} address={} connections={} left_out={}",
               kCloseReasonNames[static_cast<size_t>(reason)], LogValue(address), connections,
               std::exchange(lines_left_out_, 0));
}

}  // namespace orbserve
