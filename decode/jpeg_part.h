// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_JPEG_PART_H_
#define ORBSERVE_DECODE_JPEG_PART_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "decode/jpeg_damage.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_scan.h"
#include "decode/jpeg_writer.h"
#include "features/image_view.h"

namespace orbserve {

// How the decoding of a scan ended. `decided` is false if libjpeg-turbo must decide about a block.
struct JpegEnd {
  absl::Status status;
  bool decided = true;
};

// Working memory of a lane: the bytes that it reads next, and the coefficients that it has written
// last.
struct JpegLaneSpace {
  static constexpr int kBlocks = 128;
  static constexpr size_t kWindowBytes = 8 << 10;
  static_assert(kWindowBytes > 2 * kJpegMaxMcuBytes);

  alignas(64) int16_t coefficients[(kBlocks + 1 + kJpegBlocksBehind) * kJpegBlockCoefficients];
  uint8_t window[kWindowBytes + kJpegMaxMcuBytes + 64] = {};
};

// Memory that a thread keeps after its first RunParts().
inline constexpr size_t kJpegPartsBytes = kJpegMaxLanes * sizeof(JpegLaneSpace);

// Whole restart intervals of a scan, decoded one after another in one lane.
class JpegPart {
 public:
  // `out`: where the pixels go; null to check only. `bytes`: of the scan, from after a restart
  // marker, or the beginning, to its end. The MCUs are `begin_mcu` to `end_mcu`.
  JpegPart(const JpegScan* scan, const MutableImageView* out, absl::Span<const uint8_t> bytes,
           int64_t begin_mcu, int64_t end_mcu);

  // To be called once, before the first run of lane(). `space` is this part's until its end.
  void Begin(JpegLaneSpace* space);
  JpegLane* lane() { return &lane_; }
  // To be called after lane() has stopped. Returns false at the end of the part.
  bool GoOn();
  const JpegEnd& end() const { return end_; }
  void GiveUp(absl::Status status) { end_.status = std::move(status); }

 private:
  bool Fail(JpegFlaw flaw, int64_t mcu);
  void BeginInterval();
  void FillWindow();
  void SetPause();
  bool PassRestart();

  const JpegScan* scan_;
  std::optional<JpegWriter> writer_;
  const uint8_t* from_;
  const uint8_t* from_end_;
  int64_t mcu_;  // the next one to be written
  int64_t end_mcu_;
  int64_t interval_left_ = 0;  // MCUs
  int64_t ahead_ = 0;          // MCUs from mcu_ until the lane pauses
  std::array<JpegBlockKind, kJpegMaxBlocksInMcu> blocks_;
  JpegLaneSpace* space_ = nullptr;
  const uint8_t* window_end_ = nullptr;
  bool has_all_ = false;  // the window reaches to the end of the interval
  JpegLane lane_;
  JpegEnd end_;
};

// The parts of a scan, at most `most`, of about the same length.
std::vector<JpegPart> SplitAtRestarts(const JpegScan& scan, const MutableImageView* out, int most);

// Runs all parts, several at a time.
void RunParts(absl::Span<JpegPart> parts, std::chrono::steady_clock::time_point deadline);

// How a scan ended that was decoded in these parts, with the first error of the file.
JpegEnd EndOf(absl::Span<const JpegPart> parts);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_PART_H_
