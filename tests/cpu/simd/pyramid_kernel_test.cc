// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The SIMD kernel of the pyramid against the plain loop.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/steps/pyramid.h"
#include "features/algo/linear_resize.h"
#include "features/algo/pyramid.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd/kernel_testing.h"

namespace orbserve::cpu {

namespace {

using PyramidKernelTest = SimdKernelTest;

using TapOf = algo::ResizeTap (*)(int source_side, int destination_side, int index);

std::vector<algo::ResizeTap> TapsOf(TapOf tap_of, int source, int destination) {
  std::vector<algo::ResizeTap> taps;
  for (int i = 0; i < destination; ++i) {
    taps.push_back(tap_of(source, destination, i));
  }
  return taps;
}

std::vector<uint8_t> Resize(ResizeKernel kernel, TapOf tap_of, const ImageView& src, Size to,
                            int row_begin, int row_end) {
  const std::vector<algo::ResizeTap> x_taps = TapsOf(tap_of, src.width_px, to.width);
  const std::vector<algo::ResizeTap> y_taps = TapsOf(tap_of, src.height_px, to.height);
  PaddedImage dst(to.width, to.height);
  Scratch<uint16_t> scratch(static_cast<int64_t>(ResizeScratchBytes(to.width) / sizeof(uint16_t)));
  kernel(src, dst.view(), ResizeAxis::Of(x_taps), y_taps, row_begin, row_end, scratch.data());
  // Padding and rows outside the range are part of the comparison: they must not be written.
  const uint8_t* begin = dst.view().data - kImagePaddingBytes;
  const uint8_t* end = dst.view().Row(to.height - 1) + to.width + kImagePaddingBytes;
  return {begin, end};
}

TEST_P(PyramidKernelTest, ResizedRowsEqualTheReference) {
  for (const Size size : kSizes) {
    PaddedImage src(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed, src.view());
      for (const double factor : {1.0, 1.01, 1.2, 1.5, 1.99, 2.0, 2.1, 3.0, 4.0, 0.7}) {
        const Size to = {std::max(1, algo::LevelSide(size.width, static_cast<float>(factor))),
                         std::max(1, algo::LevelSide(size.height, static_cast<float>(factor)))};
        const int middle = to.height / 2;
        for (const auto& [begin, end] :
             {std::pair(0, to.height), std::pair(middle, to.height), std::pair(0, middle)}) {
          const auto expect_same = [&, begin = begin, end = end](
                                       TapOf tap_of, ResizeKernel reference, ResizeKernel twin) {
            EXPECT_EQ(Resize(reference, tap_of, src.view(), to, begin, end),
                      Resize(twin, tap_of, src.view(), to, begin, end))
                << size.width << "x" << size.height << " to " << to.width << "x" << to.height
                << ", content " << static_cast<int>(content) << ", rows " << begin << ".." << end;
          };
          expect_same(algo::ResizeTapOf, ReferenceResize, ResizeKernelFor(simd()));
          expect_same(algo::LinearTapOf, ReferenceLinearResize, LinearResizeKernelFor(simd()));
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, PyramidKernelTest, ::testing::ValuesIn(SimdTargets()),
                         NameOfTarget);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PyramidKernelTest);

}  // namespace
}  // namespace orbserve::cpu
