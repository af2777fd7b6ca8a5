// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The published reference values of answers, as options of a backend, and the value of an answer.

#ifndef ORBSERVE_TESTS_SUPPORT_REFERENCE_ANSWERS_H_
#define ORBSERVE_TESTS_SUPPORT_REFERENCE_ANSWERS_H_

#include <optional>
#include <string>
#include <vector>

#include "features/options.h"
#include "features/types.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_lines.h"

namespace orbserve::testing {

struct ReferenceAnswer {
  std::string name;
  PipelineOptions pipeline;
  FrameParameters parameters;
  bool masked = false;  // with ReferenceMask()
  // Count and CRC-32 for each of kReferenceImages; null where none is published.
  const char* values[4];
  // The lines of the value end with the descriptor, if only an empty one.
  bool has_descriptor_column = true;
  bool is_transposed = false;  // rows and columns of the image exchanged
};

// All of one preset.
std::vector<ReferenceAnswer> BFrostReferenceAnswers();
std::vector<ReferenceAnswer> Orb32ReferenceAnswers();
std::vector<ReferenceAnswer> OrbSlamReferenceAnswers();
std::vector<ReferenceAnswer> OrientedFastReferenceAnswers();
std::vector<ReferenceAnswer> VioReferenceAnswers();
std::vector<ReferenceAnswer> HarrisCornersReferenceAnswers();
std::vector<ReferenceAnswer> KltCornersReferenceAnswers();

// An image of the reference values below `data_folder`; none when the file is not there.
std::optional<TestImage> ReadReferenceImage(ReferenceImage image, const std::string& data_folder);
TestImage TransposedImage(const TestImage& image);
// ReferenceMask() as an image.
TestImage ReferenceMaskImage(int width_px, int height_px);

// Count and CRC-32 of an answer. `scale_factor` is the pyramid's: lines hold places on the levels.
std::string ValueOf(const Features& features, float scale_factor,
                    bool has_descriptor_column = true);

// The options of the oracle that ask for the same.
OracleOptions OracleOptionsOf(const PipelineOptions& pipeline, const FrameParameters& parameters);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_REFERENCE_ANSWERS_H_
