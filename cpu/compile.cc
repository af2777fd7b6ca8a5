// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/compile.h"

#include <cassert>
#include <utility>

#include "cpu/steps/arc_middle.h"
#include "cpu/steps/bfrost256.h"
#include "cpu/steps/fast.h"
#include "cpu/steps/gaussian.h"
#include "cpu/steps/harris.h"
#include "cpu/steps/integral.h"
#include "cpu/steps/intensity_centroid.h"
#include "cpu/steps/pyramid.h"
#include "cpu/steps/rank.h"
#include "cpu/steps/rbrief256.h"
#include "cpu/steps/survivors.h"
#include "features/options.h"

namespace orbserve::cpu {
namespace {

// A step that the pipeline does not have.
constexpr int kNone = -1;

class Compiler {
 public:
  explicit Compiler(const StepSetup& setup) : setup_(setup) {}

  // Adds the step that `make` returns; returns its index.
  int Add(std::unique_ptr<Step> (*make)(const StepSetup&)) {
    list_.steps.push_back(make(setup_));
    assert(list_.steps.size() <= static_cast<size_t>(kMaxSteps));
    return static_cast<int>(list_.steps.size()) - 1;
  }

  // Phases of the given steps, without those that the pipeline does not have.
  std::vector<Phase> Phases(std::initializer_list<std::initializer_list<int>> phases) const {
    std::vector<Phase> made;
    for (const std::initializer_list<int>& steps : phases) {
      Phase phase;
      for (const int step : steps) {
        if (step == kNone) continue;
        const StepScope scope = list_.steps[static_cast<size_t>(step)]->scope();
        assert(phase.steps.empty() || phase.scope == scope);
        phase.scope = scope;
        phase.steps.push_back(step);
      }
      assert(phase.steps.size() <= static_cast<size_t>(kMaxPhaseSteps));
      if (!phase.steps.empty()) made.push_back(std::move(phase));
    }
    return made;
  }

  StepList& list() { return list_; }

 private:
  const StepSetup& setup_;
  StepList list_;
};

// The step that gives detected keypoints their angle.
int AddOrientation(Orientation orientation, Compiler& compile) {
  switch (orientation) {
    case Orientation::kNone:
      return kNone;
    case Orientation::kIntensityCentroid:
      return compile.Add(MakeIntensityCentroid);
    case Orientation::kArcMiddle:
      return compile.Add(MakeArcMiddle);
  }
  return kNone;
}

}  // namespace

// PipelineOptions::Validate() has refused options that name a step which does not exist.
StepList CompileSteps(const StepSetup& setup) {
  const PipelineOptions& options = setup.pipeline.spec.pipeline;
  Compiler compile(setup);

  const int pyramid = compile.Add(MakePyramid);
  const int detect = compile.Add(MakeFast);
  const int survive = compile.Add(MakeSurvivors);
  const int score = options.detect.score == Score::kHarris ? compile.Add(MakeHarris) : kNone;
  const int rank = compile.Add(MakeRank);
  const int orient = AddOrientation(options.describe.orientation, compile);

  StepList& list = compile.list();
  list.pyramid = pyramid;
  if (options.describe.descriptor == Descriptor::kBFrost256) {
    const int columns = compile.Add(MakeIntegralColumns);
    const int integral = compile.Add(MakeIntegral);
    const int describe = compile.Add(MakeBFrost256);
    list.detection = compile.Phases(
        {{detect, columns}, {survive, integral}, {score}, {rank}, {orient}, {describe}});
    list.description = compile.Phases({{columns}, {integral}, {describe}});
    return std::move(list);
  }
  const bool describes = options.describe.descriptor != Descriptor::kNone;
  const int smooth = describes ? compile.Add(MakeGaussian) : kNone;
  const int describe = describes ? compile.Add(MakeRBrief256) : kNone;
  list.detection =
      compile.Phases({{detect}, {survive}, {score}, {rank}, {smooth, orient}, {describe}});
  list.description = compile.Phases({{smooth}, {describe}});
  return std::move(list);
}

}  // namespace orbserve::cpu
