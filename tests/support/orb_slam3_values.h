// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The published reference values of ORB-SLAM3's extractor: answers, and stages of two of them.

#ifndef ORBSERVE_TESTS_SUPPORT_ORB_SLAM3_VALUES_H_
#define ORBSERVE_TESTS_SUPPORT_ORB_SLAM3_VALUES_H_

#include <optional>
#include <string>
#include <vector>

#include "features/types.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {

struct Slam3Settings {
  int max_features;
  float scale_factor;
  int levels;
  int threshold;
  int threshold_low;  // 0 = off
  int lapping_begin;  // 0, 0 = none
  int lapping_end;
};

// Width 0: the whole image.
struct Slam3Crop {
  int x = 0;
  int y = 0;
  int width_px = 0;
  int height_px = 0;
};

struct Slam3Value {
  const char* file;  // below the data folder, or the name of an image made by rule
  Slam3Crop crop;
  bool is_transposed;  // rows and columns exchanged
  Slam3Settings settings;
  const char* lines;    // count and CRC-32; "" = the frame is refused
  const char* records;  // CRC-32 of 56 bytes a feature; "" = not published
  int first_lapping;    // features outside the lapping area
};

// One level of an answer with the settings of the preset.
struct Slam3Stage {
  const char* file;
  int level;
  int width_px;
  int height_px;
  int quota;
  const char* pixels;    // CRC-32
  const char* smoothed;  // CRC-32
  int candidates;
  const char* candidate_lines;  // CRC-32
  int roots;
  std::vector<int> sorts;
  int kept;
};

const std::vector<Slam3Value>& Slam3Values();
const std::vector<Slam3Stage>& Slam3Stages();

// Null where the file is not there.
std::optional<TestImage> Slam3Image(const Slam3Value& value, const std::string& data_folder);
std::string NameOf(const Slam3Value& value);

// The 56 bytes of each row: x, y, size, angle, response, octave, descriptor.
std::string Slam3RecordsOf(const Features& features);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_ORB_SLAM3_VALUES_H_
