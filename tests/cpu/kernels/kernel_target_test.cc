// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The choice of SIMD targets, and of the kernels that belong to a target.

#include "cpu/kernels/kernel_target.h"

#include <string>
#include <vector>

#include "cpu/kernels/corner_responses.h"
#include "cpu/kernels/window_maximum.h"
#include "cpu/steps/describe/bfrost256.h"
#include "cpu/steps/describe/gaussian.h"
#include "cpu/steps/describe/integral.h"
#include "cpu/steps/describe/intensity_centroid.h"
#include "cpu/steps/describe/rbrief256.h"
#include "cpu/steps/describe/rbrief32.h"
#include "cpu/steps/describe/teblid.h"
#include "cpu/steps/detect/corner_map.h"
#include "cpu/steps/detect/fast.h"
#include "cpu/steps/detect/harris.h"
#include "cpu/steps/pyramid.h"
#include "cpu/steps/suppress/minimum_distance.h"
#include "cpu/steps/suppress/neighbourhood.h"
#include "cpu/steps/suppress/square_distance.h"
#include "gtest/gtest.h"

namespace orbserve::cpu {
namespace {

TEST(KernelTargetTest, TheFirstSimdTargetIsTheFastest) {
  const std::vector<KernelTarget> all = SimdTargets();
  EXPECT_EQ(FastestTarget(), all.empty() ? ReferenceTarget() : all.front());
}

// Calls `compare` with the kernel of `target` and the plain loop, for every kernel.
template <typename Compare>
void ForEachKernel(const KernelTarget& target, Compare compare) {
  compare("Resize", ResizeKernelFor(target), &ReferenceResize);
  compare("Fast", FastKernelFor(target), &ReferenceFast);
  compare("StrongFast", StrongFastKernelFor(target), &ReferenceStrongFast);
  compare("HarrisMap", CornerMapKernelFor(Detector::kHarris, target), &ReferenceHarrisMap);
  compare("ShiTomasiMap", CornerMapKernelFor(Detector::kShiTomasi, target), &ReferenceShiTomasiMap);
  compare("SadArc", ResponseKernelFor(Score::kSadArc, target), &ReferenceResponses<Score::kSadArc>);
  compare("SadCircle", ResponseKernelFor(Score::kSadCircle, target),
          &ReferenceResponses<Score::kSadCircle>);
  compare("DenseHarris", ResponseKernelFor(Score::kHarris, target),
          &ReferenceResponses<Score::kHarris>);
  compare("WindowMaximum", WindowMaximumKernelFor(target), &ReferenceWindowMaximum);
  compare("Harris", HarrisKernelFor(target), &ReferenceResponses<Score::kHarris>);
  compare("Peaks", PeaksKernelFor(target), &ReferencePeaks);
  compare("PeaksOfPart", PeaksOfPartKernelFor(target), &ReferencePeaksOfPart);
  compare("Outranking", OutrankingKernelFor(target), &ReferenceOutranking);
  compare("ClearConflicts", ClearConflictsKernelFor(target), &ReferenceClearConflicts);
  compare("Candidates", CandidatesKernelFor(target), &ReferenceCandidates);
  compare("Blocks", BlocksKernelFor(target), &ReferenceBlocks);
  compare("Coarsen", CoarsenKernelFor(target), &ReferenceCoarsen);
  compare("CoarseMaxima", CoarseMaximaKernelFor(target), &ReferenceCoarseMaxima);
  compare("IntensityCentroid", IntensityCentroidKernelFor(target), &ReferenceIntensityCentroid);
  compare("PatchCentroid", PatchCentroidKernelFor(target), &ReferencePatchCentroid);
  compare("Gaussian", GaussianKernelFor(target), &ReferenceGaussian);
  compare("RBrief256", RBrief256KernelFor(target), &ReferenceRBrief256);
  compare("RBrief32", RBrief32KernelFor(target), &ReferenceRBrief32);
  compare("Integral", IntegralKernelFor(target), &ReferenceIntegral);
  compare("ColumnSums", ColumnSumsKernelFor(target), &ReferenceColumnSums);
  compare("BFrost256", BFrost256KernelFor(target), &ReferenceBFrost256);
  compare("BFrost256OfPixels", BFrost256OfPixelsKernelFor(target), &ReferenceBFrost256OfPixels);
  compare("BoxTests", BoxTestsKernelFor(target), &ReferenceBoxTests);
}

TEST(KernelTargetTest, EveryTargetHasATwinOfEachKernel) {
  for (const KernelTarget& target : SimdTargets()) {
    ForEachKernel(target, [&target](const char* kernel, auto* chosen, auto* reference) {
      EXPECT_NE(chosen, reference) << kernel << " of " << target.name;
    });
  }
}

TEST(KernelTargetTest, TheReferenceIsThePlainLoops) {
  EXPECT_EQ(ReferenceTarget().name, "reference");
  ForEachKernel(ReferenceTarget(), [](const char* kernel, auto* chosen, auto* reference) {
    EXPECT_EQ(chosen, reference) << kernel;
  });
}

}  // namespace
}  // namespace orbserve::cpu
