// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/stream_connection.h"

#include "client/src/status.h"

namespace orbserve::client {

void FrameStream::Connection::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&stream_->mutex_);
    if (ok) {
      heard = SteadyNow();
      pauses = true;
      if (failure.ok()) {
        if (absl::Status right = Check(); right.ok()) {
          stream_->Take(std::move(response));
          stream_->Drive();
        } else {
          Break(std::move(right));
        }
      }
      if (stream_->deliveries_.size() < kMaxUnread || !failure.ok() || stream_->cancelled_)
        ReadOn();
      return;
    }
    can_write = false;
  }
  RemoveHold();
}

void FrameStream::Connection::OnWriteDone(bool ok) {
  absl::MutexLock lock(&stream_->mutex_);
  is_writing = false;
  if (ok) {
    if (!is_open) opening_written = SteadyNow();
    request.Clear();
    stream_->Drive();
  } else {
    can_write = false;
    is_unwritten = is_open;
    ReadOn();  // to the end of the call
  }
}

void FrameStream::Connection::OnDone(const grpc::Status& status) {
  FrameStream* const stream = stream_;
  absl::MutexLock lock(&stream->mutex_);
  stream->End(failure.ok() ? FromGrpc(status, cancelled) : failure);
  // Deleted under the lock, as a waiting destructor goes on once the connection is gone, and the
  // client with its channel may be gone next.
  delete this;
  stream->connection_ = nullptr;
}

absl::Status FrameStream::Connection::Check() {
  if (is_open || !response.has_going_away()) return check.Take(response);
  absl::Status reason = StatusFromWire(response.going_away().status());
  return reason.ok() ? absl::UnavailableError("the server is about to stop") : reason;
}

}  // namespace orbserve::client
