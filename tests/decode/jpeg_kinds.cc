// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/jpeg_kinds.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace orbserve {

std::string NameOf(const JpegKind& kind) {
  return absl::StrCat(kind.width_px, "x", kind.height_px, " components ", kind.components, " luma ",
                      kind.luma_across, "x", kind.luma_down, " quality ", kind.quality,
                      " restarts ", kind.restart_interval, kind.own_tables ? " own tables" : "",
                      kind.noise ? " noise" : "");
}

std::vector<JpegKind> KindsOfAllQualities() {
  std::vector<JpegKind> kinds;
  for (const JpegSampling& sampling : kJpegSamplings) {
    for (const bool noise : {false, true}) {
      for (const int quality : {1, 2, 5, 10, 25, 50, 75, 85, 90, 95, 98, 100}) {
        // At the lowest qualities noise has values on which decoders do not agree.
        if (noise && quality < 10) continue;
        for (const bool own_tables : {false, true}) {
          kinds.push_back({.width_px = 211,
                           .height_px = 133,
                           .components = sampling.components,
                           .quality = quality,
                           .luma_across = sampling.luma_across,
                           .luma_down = sampling.luma_down,
                           .own_tables = own_tables,
                           .noise = noise});
        }
      }
    }
  }
  return kinds;
}

std::vector<JpegKind> LargeKinds() {
  std::vector<JpegKind> kinds;
  for (const JpegSampling& sampling : kJpegSamplings) {
    for (const int quality : {15, 75, 98}) {
      kinds.push_back({.width_px = 1283,
                       .height_px = 725,
                       .components = sampling.components,
                       .quality = quality,
                       .luma_across = sampling.luma_across,
                       .luma_down = sampling.luma_down});
    }
  }
  return kinds;
}

JpegKind RandomKind(std::mt19937& random, int number) {
  const JpegSampling& sampling = kJpegSamplings[random() % std::size(kJpegSamplings)];
  return {.width_px = 1 + static_cast<int>(random() % (number % 3 == 0 ? 20 : 300)),
          .height_px = 1 + static_cast<int>(random() % (number % 3 == 1 ? 20 : 300)),
          .components = sampling.components,
          .quality = 10 + static_cast<int>(random() % 91),
          .luma_across = sampling.luma_across,
          .luma_down = sampling.luma_down,
          .restart_interval = random() % 2 == 0 ? 0 : 1 << random() % 11,
          .own_tables = random() % 2 == 0,
          .noise = random() % 4 == 0};
}

}  // namespace orbserve
