// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_damage.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "decode/bad_image.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::string_view TextOf(JpegFlaw flaw) {
  switch (flaw) {
    case JpegFlaw::kBadCode:
      return "a code that is in no table";
    case JpegFlaw::kLongRun:
      return "a run past the end of a block";
    case JpegFlaw::kEndsEarly:
      return "the data end";
    case JpegFlaw::kLeftOver:
      return "bytes left over after";
    case JpegFlaw::kWrongRestart:
      return "no restart marker of the right number after";
    case JpegFlaw::kExtraMarker:
      return "a marker that does not belong after";
  }
  return "unknown damage";
}

}  // namespace

absl::Status JpegDamage(JpegFlaw flaw, const JpegScan& scan, int64_t mcu) {
  const bool after = flaw == JpegFlaw::kLeftOver || flaw == JpegFlaw::kWrongRestart ||
                     flaw == JpegFlaw::kExtraMarker;
  return BadImage(absl::StrCat("JPEG: corrupt, ", TextOf(flaw), after ? " MCU " : " in MCU ",
                               mcu + 1, " of ", scan.mcus(),
                               scan.number > 1 ? absl::StrCat(" in scan ", scan.number) : ""));
}

JpegFlaw FlawOf(const JpegLane& lane, std::optional<uint64_t> end_bit) {
  const bool is_code = lane.stop == JpegStop::kBadCode;
  const uint64_t last_bit = lane.bit + (is_code ? static_cast<uint64_t>(lane.bad_code_bits) : 0);
  if (end_bit.has_value() && last_bit > *end_bit) return JpegFlaw::kEndsEarly;
  return is_code ? JpegFlaw::kBadCode : JpegFlaw::kLongRun;
}

absl::Status JpegOutOfTime() {
  return MakeError(ErrorReason::kDeadlineExceeded,
                   "JPEG: not decoded within the limit for one image");
}

}  // namespace orbserve
