// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Raw frames of a stream as JPEG files whose quality follows the link (docs/streams.md#jpeg-files).

#ifndef ORBSERVE_CLIENT_SRC_JPEG_ENCODER_H_
#define ORBSERVE_CLIENT_SRC_JPEG_ENCODER_H_

#include <string>

#include "absl/time/time.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::client {

// The quality that keeps the age of answers near a wanted one. Times are of any one clock. Not
// thread-safe.
class JpegQuality {
 public:
  // One frame that was answered without an error.
  struct Sample {
    absl::Time captured;
    absl::Time arrived;     // its result here
    absl::Duration link;    // its time on the way there and back
    absl::Duration server;  // its time on the server
  };

  // `wanted_age`: from the capture of a frame to its answer, above zero.
  explicit JpegQuality(absl::Duration wanted_age) : wanted_age_(wanted_age) {}

  // Returns the quality for the next frame, 20..95.
  int value() const { return value_; }

  // Adapts the quality to an answered frame.
  void Measure(const Sample& sample);

 private:
  const absl::Duration wanted_age_;
  int value_ = 90;
  absl::Time changed_ = absl::InfinitePast();
};

// Returns the pixels of a raw frame as a grey JPEG file. Returns "" for a frame that is a file
// already, has a format that JPEG does not keep (GRAY16, BAYER), or cannot be encoded: a server
// says what is wrong with that one.
std::string EncodeJpeg(const v1::Frame& frame, int quality);

// Puts a JPEG file of the same size in the place of raw pixels.
void ReplacePixels(std::string file, v1::Frame* frame);

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_JPEG_ENCODER_H_
