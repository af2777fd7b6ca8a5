// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/method_images.h"

#include <filesystem>

#include "tests/support/golden_files.h"
#include "tests/support/reference_lines.h"

namespace orbserve::testing {

std::vector<NamedImage> SyntheticImages() {
  std::vector<NamedImage> images;
  const auto size = [](int width, int height) {
    return std::to_string(width) + "x" + std::to_string(height);
  };
  const auto noise = [&](int width, int height, uint32_t seed) {
    images.push_back({"noise " + size(width, height) + " seed " + std::to_string(seed),
                      NoiseImage(width, height, seed)});
  };
  const auto scene = [&](int width, int height, uint32_t seed) {
    images.push_back({"scene " + size(width, height) + " seed " + std::to_string(seed),
                      SceneImage(width, height, seed)});
  };
  noise(1, 1, 1);
  noise(1, 40, 2);
  noise(57, 2, 3);
  noise(9, 9, 4);
  noise(89, 89, 5);   // BFROST: a single place for a keypoint
  noise(88, 200, 6);  // BFROST: none
  noise(131, 97, 7);
  scene(160, 120, 8);
  scene(203, 151, 9);
  scene(97, 241, 10);
  images.push_back({"dots 150x140 spacing 9", DotLattice(150, 140, 9)});
  images.push_back({"dots 128x128 spacing 16", DotLattice(128, 128, 16)});
  images.push_back({"checkerboard 101x100", Checkerboard(101, 100)});
  images.push_back({"black 120x110", TestImage(120, 110)});
  return images;
}

std::vector<NamedImage> RealImages(const std::string& data_folder) {
  std::vector<NamedImage> images;
  for (const ReferenceImage image : kReferenceImages) {
    const std::string path = PathOf(image, data_folder);
    if (std::filesystem::exists(path)) images.push_back({NameOf(image), ReadGreyPng(path)});
  }
  return images;
}

}  // namespace orbserve::testing
