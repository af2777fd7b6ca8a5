// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_DECODE_JPEG_WRITER_H_
#define ORBSERVE_SERVER_DECODE_JPEG_WRITER_H_

#include <cstdint>

#include "features/image_view.h"
#include "server/decode/jpeg_scan.h"

namespace orbserve {

// Takes the luma coefficients of a scan MCU by MCU, in order, and writes pixels.
class JpegWriter {
 public:
  // From `first_mcu` on, where the DC prediction begins anew. `scan` is whole.
  JpegWriter(const JpegScan* scan, const MutableImageView& out, int64_t first_mcu)
      : scan_(scan),
        out_(out),
        mcu_x_(static_cast<int>(first_mcu % scan->mcus_across)),
        mcu_y_(static_cast<int>(first_mcu / scan->mcus_across)) {}

  // `coefficients`: of `mcus` MCUs, as a JpegLane leaves them; DC differences become values. One
  // block more is read. False if libjpeg-turbo must decide about a block.
  bool Write(int16_t* coefficients, int64_t mcus);
  // At a restart marker.
  void ResetPrediction() { prediction_ = 0; }

 private:
  const JpegScan* scan_;
  MutableImageView out_;
  int mcu_x_;
  int mcu_y_;
  int prediction_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_DECODE_JPEG_WRITER_H_
