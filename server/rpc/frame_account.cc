// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/frame_account.h"

#include <chrono>
#include <new>

namespace orbserve {

void FrameAccount::Received(const ClientId& client, const v1::Frame& frame,
                            absl::Span<const BytePiece> pixels) {
  size_t bytes = frame.pixels().size() + frame.mask().pixels().size();
  for (const BytePiece piece : pixels) bytes += piece.size();
  metrics_.FrameReceived(static_cast<int64_t>(bytes));
  try {
    clients_.FrameReceived(client, static_cast<int64_t>(bytes));
  } catch (const std::bad_alloc&) {
    // The frame is counted; only its client is not remembered.
  }
}

void FrameAccount::Ended(absl::string_view method, const ClientId& client, SteadyTime arrival,
                         const absl::Status& told, int64_t keypoints) {
  const std::chrono::duration<double> time = clock_.Now() - arrival;
  metrics_.ObserveFrame(method, time.count());
  metrics_.FrameFinished(told, keypoints);
  clients_.FrameEnded(client, told);
}

}  // namespace orbserve
