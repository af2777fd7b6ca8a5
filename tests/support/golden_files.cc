// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/golden_files.h"

#include <png.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace orbserve::testing {
namespace {

// A test without its golden file has nothing to say: end it loudly.
[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

std::vector<std::vector<std::string>> ReadCsv(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) Fail("cannot read " + path);
  std::vector<std::vector<std::string>> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream cell_stream(line);
    std::string cell;
    while (std::getline(cell_stream, cell, ',')) cells.push_back(cell);
    rows.push_back(cells);
  }
  return rows;
}

}  // namespace

TestImage ReadGreyPng(const std::string& path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0) Fail("cannot read " + path);
  png.format = PNG_FORMAT_GRAY;
  TestImage image(static_cast<int>(png.width), static_cast<int>(png.height));
  const MutableImageView view = image.view();
  if (png_image_finish_read(&png, nullptr, view.data, static_cast<int>(view.pitch_bytes),
                            nullptr) == 0) {
    Fail("cannot decode " + path);
  }
  return image;
}

Features ReadFeatureCsv(const std::string& path) {
  Features features;
  for (const std::vector<std::string>& row : ReadCsv(path)) {
    if (row.size() != 7) Fail("seven columns expected in " + path);
    features.octave.push_back(std::atoi(row[0].c_str()));
    features.x.push_back(std::strtof(row[1].c_str(), nullptr));
    features.y.push_back(std::strtof(row[2].c_str(), nullptr));
    features.size.push_back(std::strtof(row[3].c_str(), nullptr));
    features.angle_deg.push_back(std::strtof(row[4].c_str(), nullptr));
    features.response.push_back(std::strtof(row[5].c_str(), nullptr));
    features.descriptor_bytes = static_cast<int>(row[6].size() / 2);
    for (size_t i = 0; i + 1 < row[6].size(); i += 2) {
      features.descriptors.push_back(
          static_cast<uint8_t>(std::strtoul(row[6].substr(i, 2).c_str(), nullptr, 16)));
    }
  }
  return features;
}

std::vector<GoldenCorner> ReadCornerCsv(const std::string& path) {
  std::vector<GoldenCorner> corners;
  for (const std::vector<std::string>& row : ReadCsv(path)) {
    if (row.size() != 3) Fail("three columns expected in " + path);
    corners.push_back({static_cast<int>(std::strtof(row[0].c_str(), nullptr)),
                       static_cast<int>(std::strtof(row[1].c_str(), nullptr)),
                       static_cast<int>(std::strtof(row[2].c_str(), nullptr))});
  }
  return corners;
}

std::vector<std::string> FilesEndingIn(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().string();
    if (path.size() >= suffix.size() &&
        path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace orbserve::testing
