// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/harris.h"

#include <algorithm>
#include <cstdint>

#include "features/algo/order.h"

namespace orbserve::cpu {
namespace {

// Corners of one task: some 10 to 30 microseconds of work.
constexpr int kHarrisChunk = 192;
// Responses computed at a time, on the stack.
constexpr int kBlock = 128;

class Harris final : public Step {
 public:
  explicit Harris(const StepSetup& setup) : respond_(HarrisKernelFor(setup.target)) {}

  absl::string_view name() const override { return "harris"; }
  StageSet stages() const override { return Stage::kSelect; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(frame.level(level).survivors, kHarrisChunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const Part part = frame.PartOf(frame.level(level).survivors, kHarrisChunk, task);
    const Corner* const corners = frame.At(frame.lists.corners, level);
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    const ImageView image = frame.Image(level);
    float responses[kBlock];
    for (int block = part.begin; block < part.end; block += kBlock) {
      const int count = std::min(kBlock, part.end - block);
      respond_(image, corners + block, count, /*test=*/{}, responses);
      for (int i = 0; i < count; ++i) {
        const Corner& corner = corners[block + i];
        keys[block + i] = algo::RankKey(responses[i], corner.x, corner.y);
      }
    }
  }

 private:
  const ResponseKernel respond_;
};

}  // namespace

std::unique_ptr<Step> MakeHarris(const StepSetup& setup) { return std::make_unique<Harris>(setup); }

}  // namespace orbserve::cpu
