// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What programs that compare whole answers with OpenCV over folders of images have in common.

#ifndef ORBSERVE_TESTS_CPU_PARITY_PROGRAM_H_
#define ORBSERVE_TESTS_CPU_PARITY_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace orbserve::testing {

struct ParityArguments {
  bool synthetic = false;  // images made by rule, too
  bool full = false;       // every image with every setting
  int shard = 0;           // every shards-th image, beginning with this one
  int shards = 1;
  int64_t max_pixels = int64_t{1} << 40;
  std::string target;  // of SIMD; "" = the fastest
  std::vector<std::string> paths;
};

// Takes the arguments of a command line. `take` is called for a flag that is none of these, with a
// function that returns the flag's value; it returns false where it does not know the flag either.
// False where the usage is wrong.
using TakeFlag =
    std::function<bool(const std::string& flag, const std::function<std::string()>& value)>;
bool ParseParityArguments(int argc, char** argv, const TakeFlag& take, ParityArguments* arguments);

// Calls `compare` for each of the files that the arguments choose, as grey images, with its number.
// Prints the files that cannot be read, and returns how many they are.
int ForEachImage(const std::vector<std::string>& files, const ParityArguments& arguments,
                 const std::function<void(const std::string& file, const cv::Mat& image,
                                          size_t number)>& compare);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CPU_PARITY_PROGRAM_H_
