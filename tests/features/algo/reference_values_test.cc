// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The independent oracle reproduces the published reference values of every method. Tests that
// compare a backend or features/algo/ with the oracle rest on this.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cpu/golden_cases.h"
#include "tests/support/feature_compare.h"
#include "tests/support/golden_files.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_lines.h"

namespace orbserve::testing {
namespace {

const char kFolder[] = ORBSERVE_TEST_DATA_DIR;

enum class Input { kPlain, kMasked, kTransposed };
enum class Lines { kWithDescriptor, kWithoutDescriptor };

struct Case {
  std::string name;
  OracleOptions options;
  // Count and CRC-32 for seq-euroc, seq-kitti-a, bark1, tiled_ties; null where none is published.
  const char* values[4];
  Input input = Input::kPlain;
  Lines lines = Lines::kWithDescriptor;
};

template <typename Change>
OracleOptions With(OracleOptions options, Change change) {
  change(options);
  return options;
}

// Passes when at least one of the images is there and all that are give their values.
void ExpectValues(const std::vector<Case>& cases) {
  int compared = 0;
  for (size_t i = 0; i < 4; ++i) {
    const std::string path = PathOf(kReferenceImages[i], kFolder);
    if (!std::filesystem::exists(path)) continue;
    const GreyPlane image = PlaneOf(ReadGreyPng(path).view());
    for (const Case& c : cases) {
      if (c.values[i] == nullptr) continue;
      const GreyPlane input = c.input == Input::kTransposed ? Transposed(image) : image;
      const GreyPlane mask = ReferenceMask(input.width, input.height);
      const OracleAnswer answer =
          OracleExtract(input, c.input == Input::kMasked ? &mask : nullptr, c.options);
      EXPECT_EQ(c.lines == Lines::kWithDescriptor ? ValueWithDescriptor(answer.features)
                                                  : ValueWithoutDescriptor(answer.features),
                c.values[i])
          << c.name << " on " << NameOf(kReferenceImages[i]);
      ++compared;
    }
  }
  if (compared == 0) {
    GTEST_SKIP() << "no reference image below \"" << kFolder
                 << "\"; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
  }
  printf("%d answers compared\n", compared);
}

TEST(ReferenceValuesTest, BFrost) {
  const OracleOptions bfrost = OracleBFrost();
  ExpectValues({
      {"bfrost", bfrost, {"500 865a5cee", "500 91413e54", "500 d37dda22", "500 fe0a7047"}},
      {"corners alone",
       With(bfrost,
            [](OracleOptions& o) {
              o.threshold = 40;
              o.border = 3;
              o.max_features = 100000;
              o.descriptor = Descriptor::kNone;
            }),
       {"531 d793050c", "1240 34256418", "312 48a06a25", "6500 9a7afe95"}},
      {"masked", bfrost, {"496 386f56db", "500 90580aad", "500 749fe236", nullptr}, Input::kMasked},
      {"3 levels",
       With(bfrost, [](OracleOptions& o) { o.levels = 3; }),
       {"500 57ab60c4", "500 0bf89186", "500 238dabcd", nullptr}},
  });
}

TEST(ReferenceValuesTest, Orb32) {
  const OracleOptions orb32 = OracleOrb32();
  ExpectValues({
      {"orb-32", orb32, {"128 85cf9acf", "128 d8b166f3", "128 c10882a9", "128 3a06c735"}},
      {"masked", orb32, {"128 390dd8ee", "128 26bc6f35", "128 b6e4bb77", nullptr}, Input::kMasked},
  });
}

TEST(ReferenceValuesTest, HarrisCorners) {
  const OracleOptions harris = OracleHarrisCorners();
  ExpectValues({
      {"distance 5", harris, {"500 471718f2", "500 baa1b34e", "500 2e8cf614", "500 7370ad4c"}},
      {"distance 11",
       With(harris, [](OracleOptions& o) { o.distance = 11; }),
       {"145 6cdaddef", "193 e6fc73aa", "500 3d238b9c", "500 7370ad4c"}},
      {"distance 5, compression",
       With(harris, [](OracleOptions& o) { o.compression = true; }),
       {"462 630c544e", "500 b1c10386", "500 aac69768", "500 7370ad4c"}},
      {"masked", harris, {"457 060b3466", "500 10a0c3b1", "500 ace847a3", nullptr}, Input::kMasked},
      {"one pass",
       With(harris,
            [](OracleOptions& o) {
              o.max_passes = 1;
              o.max_features = 100000;
            }),
       {"182 ebe904f0", "200 da251285", "1040 dc02d159", nullptr}},
  });
}

TEST(ReferenceValuesTest, KltCorners) {
  const OracleOptions klt = OracleKltCorners();
  ExpectValues({
      {"distance 5", klt, {"500 f08df5d1", "500 b0724bb0", "500 ad07d4f1", "500 0443e714"}},
      {"distance 11",
       With(klt, [](OracleOptions& o) { o.distance = 11; }),
       {"327 fe7c8bfa", "500 749222bc", "500 bfe3e19f", "500 0443e714"}},
      {"distance 10, disc",
       With(klt,
            [](OracleOptions& o) {
              o.distance = 10;
              o.shape = OracleShape::kDisc;
            }),
       {"394 44a4ae27", "500 b562d8c4", "500 0c9abf7a", "500 0443e714"}},
      {"distance 6, compression",
       With(klt,
            [](OracleOptions& o) {
              o.distance = 6;
              o.compression = true;
              o.max_features = 100000;
            }),
       {"513 4bb4a34a", "1563 5e97f5e5", "3930 548546fa", nullptr}},
      {"distance 8, 3 levels",
       With(klt,
            [](OracleOptions& o) {
              o.distance = 8;
              o.levels = 3;
            }),
       {"500 f079c280", "500 aba0be95", "500 48509eb3", nullptr}},
  });
}

TEST(ReferenceValuesTest, OrbSlamAndItsSelections) {
  const OracleOptions slam =
      With(OracleOrbSlam(), [](OracleOptions& o) { o.descriptor = Descriptor::kNone; });
  ExpectValues({
      {"quadtree", slam, {"1000 21ebf39b", "1000 c1cd0386", "1000 aff5123a", "1000 5f3bf571"}},
      {"cells",
       With(slam,
            [](OracleOptions& o) {
              o.selection = Selection::kCell;
              o.threshold_low = 0;
            }),
       {"1000 2bf32966", "1000 07a69bce", "1000 d1199f9a", "1000 4084274d"}},
      {"best",
       With(slam,
            [](OracleOptions& o) {
              o.selection = Selection::kBest;
              o.threshold_low = 0;
            }),
       {"1000 9e7d6ca6", "1000 507fd4a5", "1000 27ce844c", "1000 5e79a117"}},
      {"masked", slam, {"972 bf6729a3", "979 dcf674d0", "992 6e883a6e", nullptr}, Input::kMasked},
      {"transposed",
       slam,
       {"1000 e2ec31de", "1000 a92dee67", "1000 237378f8", nullptr},
       Input::kTransposed},
      {"60,000",
       With(slam, [](OracleOptions& o) { o.max_features = 60000; }),
       {"6539 2093b128", "10581 a477be4a", "11289 7d134430", nullptr}},
  });
}

TEST(ReferenceValuesTest, Vio) {
  const OracleOptions all = With(OracleVio(), [](OracleOptions& o) { o.max_features = 100000; });
  ExpectValues({
      {"all",
       all,
       {"242 543ab6cd", "407 012a31dc", "384 d04d37df", "500 2ac40537"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
      {"100",
       OracleVio(),
       {"100 aad1740c", "100 1a83aa44", "100 02abc1ba", "100 f9151ad2"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
      {"odometry",
       With(OracleVio(), [](OracleOptions& o) { o.max_features = 300; }),
       {"242 543ab6cd", "300 f118c62c", "300 4775315c", "300 eecdbe21"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
      {"SAD_CIRCLE",
       With(all, [](OracleOptions& o) { o.score = Score::kSadCircle; }),
       {"242 458cd675", "407 2dedf3f0", "384 e098ed87", "500 668ccb97"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
      {"FAST, window 9",
       With(all,
            [](OracleOptions& o) {
              o.score = Score::kFast;
              o.window = 9;
            }),
       {"231 78248312", "404 b8a91331", "382 aa9f6a0a", "500 77891898"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
  });
}

TEST(ReferenceValuesTest, OrientedFast) {
  ExpectValues({
      {"4 levels",
       OracleOrientedFast(),
       {"1471 37bfec66", "3525 c87fe522", "5581 0edc8f26", "4182 d76f81a0"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
      {"1 level",
       With(OracleOrientedFast(), [](OracleOptions& o) { o.levels = 1; }),
       {"774 20f29544", "2779 b86df2ec", "3458 08c1ff3b", "2736 ecf3d601"},
       Input::kPlain,
       Lines::kWithoutDescriptor},
  });
}

// The stages that the methods share with `orb` are those of OpenCV.
TEST(ReferenceValuesTest, Orb) {
  const std::string folder = ORBSERVE_GOLDEN_DIR "/";
  for (const GoldenCase& golden : kGoldenCases) {
    OracleOptions options;
    options.max_features = golden.max_features;
    options.levels = golden.levels;
    options.scale_factor = golden.scale_factor;
    options.score = golden.score;
    const GreyPlane image = PlaneOf(ReadGreyPng(folder + golden.image + ".png").view());
    GreyPlane mask;
    if (*golden.mask != '\0') mask = PlaneOf(ReadGreyPng(folder + golden.mask + ".png").view());
    const OracleAnswer answer =
        OracleExtract(image, *golden.mask != '\0' ? &mask : nullptr, options);
    const Features expected = Sorted(ReadFeatureCsv(folder + golden.name + ".csv"));
    EXPECT_EQ(FirstDifference(expected, FeaturesOf(answer, image, options)), "") << golden.name;
  }
}

TEST(ReferenceLinesTest, CrcIsThatOfZlib) {
  EXPECT_EQ(Crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(Crc32(""), 0u);
}

}  // namespace
}  // namespace orbserve::testing
