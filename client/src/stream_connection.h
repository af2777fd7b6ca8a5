// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_SRC_STREAM_CONNECTION_H_
#define ORBSERVE_CLIENT_SRC_STREAM_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/answer_check.h"
#include "client/src/link_window.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "orbserve/client.h"

namespace orbserve::client {

// Results that Receive() has not taken. With so many the stream reads no further, so that HTTP/2
// flow control holds the server back.
inline constexpr size_t kMaxUnread = 16;

inline absl::Time SteadyTime(std::chrono::steady_clock::time_point time) {
  return absl::UnixEpoch() + absl::FromChrono(time.time_since_epoch());
}

// Time of a clock that nobody sets, whose zero means nothing: a robot sets its clock when it finds
// a network, perhaps by years. All times of a stream are such times.
inline absl::Time SteadyNow() { return SteadyTime(std::chrono::steady_clock::now()); }

// One call of StreamFrames. gRPC calls the reactions; everything here is guarded by the stream's
// mutex. The call ends when a read has failed, and no sooner: until then it has a hold, which lets
// any thread write.
class FrameStream::Connection final
    : public grpc::ClientBidiReactor<v1::StreamFramesRequest, v1::StreamFramesResponse> {
 public:
  Connection(FrameStream* stream, absl::Time now, absl::Time limit, bool last)
      : begun(now), open_by(limit), is_last(last), stream_(stream) {}

  void Cancel(bool by_caller) {
    cancelled = cancelled || by_caller;
    context.TryCancel();
    ReadOn();
  }

  // Ends the call with `cause` as its status. What the server still sends is dropped.
  void Break(absl::Status cause) {
    if (!failure.ok()) return;
    failure = std::move(cause);
    Cancel(/*by_caller=*/false);
  }

  // Reads the next message if none is being read.
  void ReadOn() {
    if (!std::exchange(pauses, false)) return;
    response.Clear();
    StartRead(&response);
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const absl::Time begun;
  const absl::Time open_by;  // end of the try
  const bool is_last;        // no try may follow
  grpc::ClientContext context;
  v1::StreamFramesRequest request;  // that is being written
  v1::StreamFramesResponse response;
  absl::Time heard = SteadyNow();  // the latest message of the server
  StreamCheck check;
  LinkWindow window;
  // Time from the writing of the opening to its answer.
  absl::Time opening_written = absl::InfiniteFuture();
  absl::Duration opening_way;

  absl::Status failure;       // an answer that breaks the wire contract, or a try that is given up
  bool is_open = false;       // the server has answered the opening
  bool is_writing = true;     // begins with the opening
  bool can_write = true;      // as far as is known
  bool is_unwritten = false;  // the latest write has failed: `request` is the last written entry's
  bool half_closed = false;   // the server knows that no frame follows
  bool pauses = true;         // no read is under way
  bool cancelled = false;     // by the caller
  uint64_t number = 0;        // of the last written entry

 private:
  // OK if the stream may take `response`.
  absl::Status Check();

  FrameStream* const stream_;
};

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_STREAM_CONNECTION_H_
