// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/frame/frame_account.h"

#include <new>

namespace orbserve {

void FrameAccount::Received(const ClientId& client, int64_t bytes) {
  metrics_.FrameReceived(bytes);
  try {
    clients_.FrameReceived(client, bytes);
  } catch (const std::bad_alloc&) {
    // The frame is counted; only its client is not remembered.
  }
}

void FrameAccount::Ended(absl::string_view method, const ClientId& client, FrameTimes times,
                         const absl::Status& told, int64_t keypoints) {
  times.Enter(FramePhase::kSend, clock_.Now());
  metrics_.ObserveFrame(method, times);
  metrics_.FrameFinished(told, keypoints);
  clients_.FrameEnded(client, told);
}

}  // namespace orbserve
