// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cpu/parity_program.h"

#include <cstdio>
#include <cstdlib>

#include <opencv2/imgcodecs.hpp>

namespace orbserve::testing {

bool ParseParityArguments(int argc, char** argv, const TakeFlag& take, ParityArguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (argument == "--synthetic") {
      arguments->synthetic = true;
    } else if (argument == "--full") {
      arguments->full = true;
    } else if (argument == "--shard") {
      if (std::sscanf(value().c_str(), "%d/%d", &arguments->shard, &arguments->shards) != 2 ||
          arguments->shards < 1) {
        return false;
      }
    } else if (argument == "--target") {
      arguments->target = value();
    } else if (argument == "--max-megapixels") {
      arguments->max_pixels = static_cast<int64_t>(std::atof(value().c_str()) * 1e6);
    } else if (argument.rfind("--", 0) != 0) {
      arguments->paths.push_back(argument);
    } else if (!take(argument, value)) {
      return false;
    }
  }
  return true;
}

int ForEachImage(const std::vector<std::string>& files, const ParityArguments& arguments,
                 const std::function<void(const std::string& file, const cv::Mat& image,
                                          size_t number)>& compare) {
  int unreadable = 0;
  for (size_t f = 0; f < files.size(); ++f) {
    if (static_cast<int>(f % static_cast<size_t>(arguments.shards)) != arguments.shard) continue;
    const cv::Mat image =
        cv::imread(files[f], cv::IMREAD_GRAYSCALE | cv::IMREAD_IGNORE_ORIENTATION);
    if (image.empty()) {
      std::printf("UNREADABLE %s\n", files[f].c_str());
      ++unreadable;
      continue;
    }
    if (static_cast<int64_t>(image.total()) <= arguments.max_pixels) compare(files[f], image, f);
  }
  return unreadable;
}

}  // namespace orbserve::testing
