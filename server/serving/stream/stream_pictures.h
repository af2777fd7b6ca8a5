// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pictures of the streams that somebody looks at on the live page.
//
// A picture is made only after a viewer has asked for one: one frame is copied, smaller, while its
// pixels are on the host anyway. A stream without viewers costs one atomic read a frame.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_PICTURES_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_PICTURES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "features/image_view.h"
#include "features/types.h"
#include "server/process/clock.h"

namespace orbserve {

// A frame of a stream, small, and its features.
struct StreamPicture {
  uint64_t sequence = 0;  // the client's number of the frame
  int frame_width_px = 0;
  int frame_height_px = 0;
  int width_px = 0;  // of the picture
  int height_px = 0;
  std::vector<uint8_t> pixels;  // rows without padding, grey
  std::shared_ptr<const Features> features;
};

// Longest side of a picture.
inline constexpr int kMaxPictureSidePx = 640;

// Fills in everything but sequence and features. A pixel of the picture is the mean of a square of
// pixels of the frame.
void DrawFrame(const ImageView& frame, StreamPicture* picture);

// Thread-safe.
class StreamPictures {
 public:
  // Streams that have viewers at a time. The one that was looked at longest ago makes room.
  static constexpr size_t kMaxStreams = 8;
  // A stream that nobody has asked for in this time has no viewers.
  static constexpr std::chrono::seconds kViewTime{10};

  explicit StreamPictures(Clock* clock) : clock_(clock) {}

  // The last picture of the stream, null before the first one. Asks for one of its next frame.
  std::shared_ptr<const StreamPicture> Look(uint64_t stream) ABSL_LOCKS_EXCLUDED(mutex_);

  // True if a viewer waits for a picture of the stream's next frame. The caller makes it.
  bool TakeRequest(uint64_t stream) ABSL_LOCKS_EXCLUDED(mutex_);
  void Put(uint64_t stream, std::shared_ptr<const StreamPicture> picture)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct View {
    SteadyTime asked;
    bool is_wanted = false;
    std::shared_ptr<const StreamPicture> picture;
  };

  Clock* const clock_;
  std::atomic<bool> has_views_{false};
  absl::Mutex mutex_;
  std::map<uint64_t, View> views_ ABSL_GUARDED_BY(mutex_);  // by stream
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_PICTURES_H_
