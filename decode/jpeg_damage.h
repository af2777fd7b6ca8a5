// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Errors for damaged JPEG data. Every way of decoding has the same words for the same damage.

#ifndef ORBSERVE_DECODE_JPEG_DAMAGE_H_
#define ORBSERVE_DECODE_JPEG_DAMAGE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_scan.h"

namespace orbserve {

// What can be wrong with entropy-coded data.
enum class JpegFlaw {
  kBadCode,
  kLongRun,
  kEndsEarly,
  kLeftOver,      // 8 bits or more
  kWrongRestart,  // another marker than the restart marker that is due
  kExtraMarker,   // inside the data of a scan that is complete
};

// BAD_IMAGE that names the flaw and the MCU, 0 = the first.
absl::Status JpegDamage(JpegFlaw flaw, const JpegScan& scan, int64_t mcu);

// The flaw of a lane that stopped at `bit` and did not pause. If the bits that made it stop are
// partly those after `end_bit`, the data end early. `end_bit`: the end of the data, if the lane can
// come to it.
JpegFlaw FlawOf(const JpegLane& lane, std::optional<uint64_t> end_bit);

// DEADLINE_EXCEEDED.
absl::Status JpegOutOfTime();

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_DAMAGE_H_
