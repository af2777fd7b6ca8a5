// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Reference values of whole answers: the number of features and the CRC-32 of their text lines.

#ifndef ORBSERVE_TESTS_SUPPORT_REFERENCE_LINES_H_
#define ORBSERVE_TESTS_SUPPORT_REFERENCE_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"

namespace orbserve::testing {

// CRC-32 as zlib, PNG and Ethernet have it.
uint32_t Crc32(const std::string& text);

// Lines `octave,x,y,response,angle\n`, or `octave,x,y,response,angle,descriptor\n`, in the order of
// the answer: x and y on the level, response and angle as eight hex digits of their bits, the
// descriptor in hex, byte 0 first.
std::string LinesWithoutDescriptor(const std::vector<OracleFeature>& features);
std::string LinesWithDescriptor(const std::vector<OracleFeature>& features);

// "500 865a5cee": the count and the CRC-32 of the lines.
std::string ValueWithoutDescriptor(const std::vector<OracleFeature>& features);
std::string ValueWithDescriptor(const std::vector<OracleFeature>& features);

// The images that the reference values belong to.
enum class ReferenceImage { kEuroc, kKitti, kBark, kTiledTies };
inline constexpr ReferenceImage kReferenceImages[] = {ReferenceImage::kEuroc,
                                                      ReferenceImage::kKitti, ReferenceImage::kBark,
                                                      ReferenceImage::kTiledTies};

// "seq-euroc", ...
const char* NameOf(ReferenceImage image);
// The file below the folder of test images.
std::string PathOf(ReferenceImage image, const std::string& data_folder);

// The mask of the reference values: 255 where (x / 16 + y / 16) mod 3 is not 0, else 0.
GreyPlane ReferenceMask(int width, int height);

// Rows and columns exchanged.
GreyPlane Transposed(const GreyPlane& image);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_REFERENCE_LINES_H_
