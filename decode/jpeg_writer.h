// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_JPEG_WRITER_H_
#define ORBSERVE_DECODE_JPEG_WRITER_H_

#include <cstdint>

#include "decode/jpeg_blocks.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_scan.h"
#include "features/image_view.h"

namespace orbserve {

// Takes the luma coefficients of a scan MCU by MCU, in order, and writes pixels.
class JpegWriter {
 public:
  // From `first_mcu` on, where the DC prediction begins anew. `scan` is whole.
  JpegWriter(const JpegScan* scan, const MutableImageView& out, int64_t first_mcu);

  // `coefficients`: of `mcus` MCUs, as a JpegLane leaves them; DC differences become values.
  // kJpegBlocksBehind more are read. False if libjpeg-turbo must decide about a block.
  bool Write(int16_t* coefficients, int64_t mcus);
  // At a restart marker.
  void ResetPrediction() { prediction_ = 0; }

 private:
  // Places of the present MCU's blocks. An MCU that reaches over the right or lower side takes the
  // slow way: its pixels go to `edges` first.
  struct Edge;
  void PlaceAtSide(JpegBlockPlace* places, Edge* edges, int* edge_count) const;

  const JpegScan* scan_;
  MutableImageView out_;
  int in_mcu_;                                 // blocks
  int64_t offsets_[kJpegMaxBlocksInMcu] = {};  // of their pixels from the first block's
  int inside_across_;                          // MCUs that lie wholly in the image
  int inside_down_;
  int mcu_x_;
  int mcu_y_;
  int prediction_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_WRITER_H_
