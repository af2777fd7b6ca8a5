// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/reference_lines.h"

#include <cstdio>
#include <cstring>

namespace orbserve::testing {
namespace {

std::string Hex(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  char text[9];
  std::snprintf(text, sizeof(text), "%08x", bits);
  return text;
}

std::string LineBegin(const OracleFeature& feature) {
  return std::to_string(feature.level) + "," + std::to_string(feature.x) + "," +
         std::to_string(feature.y) + "," + Hex(feature.response) + "," + Hex(feature.angle_deg);
}

std::string ValueOf(size_t count, const std::string& lines) {
  char text[32];
  std::snprintf(text, sizeof(text), "%zu %08x", count, Crc32(lines));
  return text;
}

}  // namespace

uint32_t Crc32(const std::string& text) {
  uint32_t crc = 0xffffffffu;
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

std::string LinesWithoutDescriptor(const std::vector<OracleFeature>& features) {
  std::string lines;
  for (const OracleFeature& feature : features) lines += LineBegin(feature) + "\n";
  return lines;
}

std::string LinesWithDescriptor(const std::vector<OracleFeature>& features) {
  std::string lines;
  for (const OracleFeature& feature : features) {
    lines += LineBegin(feature) + ",";
    for (const uint8_t byte : feature.descriptor) {
      char hex[3];
      std::snprintf(hex, sizeof(hex), "%02x", byte);
      lines += hex;
    }
    lines += "\n";
  }
  return lines;
}

std::string ValueWithoutDescriptor(const std::vector<OracleFeature>& features) {
  return ValueOf(features.size(), LinesWithoutDescriptor(features));
}

std::string ValueWithDescriptor(const std::vector<OracleFeature>& features) {
  return ValueOf(features.size(), LinesWithDescriptor(features));
}

const char* NameOf(ReferenceImage image) {
  switch (image) {
    case ReferenceImage::kEuroc:
      return "seq-euroc";
    case ReferenceImage::kKitti:
      return "seq-kitti-a";
    case ReferenceImage::kBark:
      return "bark1";
    case ReferenceImage::kTiledTies:
      return "tiled_ties";
  }
  return "";
}

std::string PathOf(ReferenceImage image, const std::string& data_folder) {
  switch (image) {
    case ReferenceImage::kEuroc:
      return data_folder + "/seq-euroc-v101-static/cam0/1403715273262142976.png";
    case ReferenceImage::kKitti:
      return data_folder + "/seq-kitti-a/image_0/000000.png";
    case ReferenceImage::kBark:
      return data_folder + "/orb-golden/bark1.png";
    case ReferenceImage::kTiledTies:
      return data_folder + "/orb-golden/tiled_ties.png";
  }
  return "";
}

GreyPlane ReferenceMask(int width, int height) {
  GreyPlane mask(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) mask.At(x, y) = (x / 16 + y / 16) % 3 != 0 ? 255 : 0;
  }
  return mask;
}

GreyPlane Transposed(const GreyPlane& image) {
  GreyPlane result(image.height, image.width);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) result.At(y, x) = image.At(x, y);
  }
  return result;
}

}  // namespace orbserve::testing
