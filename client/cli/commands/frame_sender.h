// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_FRAME_SENDER_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_FRAME_SENDER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/images/frame_source.h"
#include "client/cli/images/picture.h"
#include "client/cli/output/console.h"
#include "orbserve/client.h"

namespace orbserve::cli {

// Reads the frames of a source and sends them on a stream, at their pace, on a thread of its own.
class FrameSender {
 public:
  // A frame that was sent and is not answered yet.
  struct Sent {
    std::string name;
    std::optional<Picture> picture;
    std::optional<TrueMotion> truth;  // of a simulated camera
  };

  // Starts the thread. Every pointer outlives the sender. `fps`: frames per second, 0 = as fast as
  // the stream accepts them; a camera sets the pace by itself. A recording whose frame had to wait
  // goes on at its pace from there; frames of a live source grow older. `frames`: most items to
  // take from the source, 0 = all. A frame larger than `limits` fails alone; sending it would make
  // gRPC end the stream.
  FrameSender(FrameSource* source, client::FrameStream* stream, const RequestSetup* setup,
              const v1::ServerLimits* limits, double fps, int64_t frames, Console* console);

  // Stops reading and joins the thread. A stream that blocks the thread must be cancelled before.
  ~FrameSender();

  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  // Returns the frame that the next result belongs to: results come in the order of the frames. No
  // value: every frame is answered.
  std::optional<Sent> TakeOldest();

  // Number of frames that could not be read or not be sent.
  int64_t left_out();

  // Number of frames that the camera dropped before this program saw them.
  int64_t lost_by_camera();

 private:
  void Loop();
  using Time = client::FrameStream::CaptureTime;

  // Waits until `turn`; false when the command shall stop.
  bool WaitForTurn(Time turn);
  void LeaveOut(const std::string& name, const absl::Status& error);
  // Timestamp of the item number `index`. A known frame rate gives the same timestamps in every
  // run; otherwise the clock decides, the camera's if there is one.
  int64_t TimestampNs(const FrameSource::Item& item, int64_t index) const;

  FrameSource* const source_;
  client::FrameStream* const stream_;
  const RequestSetup* const setup_;
  const v1::ServerLimits* const limits_;
  const double fps_;
  const int64_t frames_;
  Console* const console_;
  absl::Mutex mutex_;
  std::deque<Sent> sent_ ABSL_GUARDED_BY(mutex_);
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t lost_by_camera_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last member: starts after the others exist
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_FRAME_SENDER_H_
