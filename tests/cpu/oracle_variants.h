// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares variants of a preset on the CPU backend with the oracle.

#ifndef ORBSERVE_TESTS_CPU_ORACLE_VARIANTS_H_
#define ORBSERVE_TESTS_CPU_ORACLE_VARIANTS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {

struct Variant {
  std::string name;
  PipelineOptions pipeline;
  FrameParameters parameters;
};

// Compares all variants on one image, with and without a random mask; returns the number of
// features.
inline size_t CompareVariants(const std::vector<Variant>& variants,
                              const testing::TestImage& picture, const std::string& name,
                              const std::vector<FeatureBackend*>& backends) {
  const testing::GreyPlane image = testing::PlaneOf(picture.view());
  const testing::TestImage mask = testing::RandomMask(image.width, image.height, 78);
  const testing::GreyPlane mask_plane = testing::PlaneOf(mask.view());
  size_t features = 0;
  for (const Variant& variant : variants) {
    for (const bool masked : {false, true}) {
      testing::OracleOptions options =
          testing::OracleOptionsOf(variant.pipeline, variant.parameters);
      options.count_passes = true;
      const testing::OracleAnswer answer =
          testing::OracleExtract(image, masked ? &mask_plane : nullptr, options);
      const Features expected = testing::FeaturesOf(answer, image, options);
      for (FeatureBackend* const backend : backends) {
        SCOPED_TRACE(name + ", " + variant.name + (masked ? ", masked, " : ", ") +
                     std::string(backend->devices()[0].details));
        const auto actual = testing::RunFrame(*backend, variant.pipeline,
                                              {.image = picture.view(),
                                               .mask = masked ? mask.view() : ImageView{},
                                               .parameters = variant.parameters});
        if (!actual.ok()) {
          ADD_FAILURE() << actual.status();
          return features;
        }
        EXPECT_EQ(testing::FirstDifference(expected, **actual), "");
        EXPECT_EQ((*actual)->truncated, answer.truncated);
        EXPECT_EQ((*actual)->suppression_passes, answer.passes);
        features += expected.count();
      }
    }
  }
  return features;
}

// Compares the reference and the fastest target with the oracle on all synthetic images.
inline void ExpectOracleOnSyntheticImages(const std::vector<Variant>& variants) {
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto simd = Backend({.threads = 3});
  size_t features = 0;
  for (const testing::NamedImage& named : testing::SyntheticImages()) {
    features += CompareVariants(variants, named.image, named.name, {reference.get(), simd.get()});
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(features, 10'000u);
  printf("%zu features compared\n", features);
}

// Compares both on 60 noises and scenes with sides of up to `most_side_px` pixels.
inline void ExpectOracleOnSmallImages(const std::vector<Variant>& variants, uint32_t seed,
                                      uint32_t most_side_px) {
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto simd = Backend({.threads = 2});
  std::mt19937 random(seed);
  size_t features = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    const int width = 1 + static_cast<int>(random() % most_side_px);
    const int height = 1 + static_cast<int>(random() % most_side_px);
    const testing::TestImage image = i % 2 == 0 ? testing::NoiseImage(width, height, seed + i)
                                                : testing::SceneImage(width, height, seed + i);
    features += CompareVariants(variants, image,
                                "image " + std::to_string(i) + " of seed " + std::to_string(seed),
                                {reference.get(), simd.get()});
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(features, 500u);
  printf("%zu features compared\n", features);
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_ORACLE_VARIANTS_H_
