// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Counts of JPEG files by the decoder that they went to, for the metrics of the process.

#ifndef ORBSERVE_DECODE_JPEG_WAYS_H_
#define ORBSERVE_DECODE_JPEG_WAYS_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace orbserve {

// The decoder that brought the pixels of a JPEG file or refused it, and the reason why it was not
// the strict one.
enum class JpegWay {
  kHost,                // the strict decoder of this processor
  kLibjpegProgressive,  // libjpeg-turbo: a progressive file
  kLibjpegScans,        // several scans
  kLibjpegComponents,   // luma not at full sampling, RGB, or something in the file that is unknown
  kLibjpegValues,       // values on which decoders do not agree
  kDevice,              // a device; it refuses no file, but leaves it to the host
};
inline constexpr int kJpegWayCount = 6;

// The words for a way in metrics and answers.
struct JpegWayWords {
  absl::string_view decoder;  // "device", "host", "libjpeg"
  absl::string_view reason;   // reason for "libjpeg"; else empty
};
JpegWayWords WordsOf(JpegWay way);

// Counts a file. Thread-safe, as JpegWayCounts().
void CountJpegWay(JpegWay way);

// JPEG files that this process has decoded or refused, by JpegWay.
std::array<int64_t, kJpegWayCount> JpegWayCounts();

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_WAYS_H_
