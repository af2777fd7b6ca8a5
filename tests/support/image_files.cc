// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/image_files.h"

#include <algorithm>
#include <filesystem>

namespace orbserve::testing {
namespace {

namespace fs = std::filesystem;

bool HasImageEnding(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".ppm" ||
         ending == ".pgm";
}

}  // namespace

std::vector<std::string> ImageFilesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (fs::recursive_directory_iterator it(path), end; it != end; ++it) {
      if (it->is_directory() && it->path().filename() == "odd-jpegs") {
        it.disable_recursion_pending();
      } else if (it->is_regular_file() && HasImageEnding(it->path())) {
        files.push_back(it->path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace orbserve::testing
